//! What patterns mean, held to an obvious matcher; that nothing which a table of Unicode would explain gets through;
//! and that work is charged for once.

use std::cell::Cell;
use std::convert::Infallible;

use proptest::prelude::*;

use super::*;

const LIMITS: Limits = Limits {
    bytes: 4_096,
    classes: 64,
    positions: 2_000,
    compiled: 1 << 20,
    cache: 1 << 20,
    groups: true,
};

fn compiled(pattern: &str) -> Linear {
    compile(pattern, Flags::default(), &LIMITS).unwrap()
}

fn find(linear: &Linear, text: &str, from: usize) -> Option<std::ops::Range<usize>> {
    let free = |_| Ok::<(), Infallible>(());
    let Ok(found) = linear.find_at(&mut linear.scratch(), text, from, free);
    found
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn it_finds_what_an_obvious_matcher_finds(
        node in oracle::patterns(), text in oracle::texts()
    ) {
        let linear = compiled(&node.text());
        for (from, _) in text.char_indices().chain([(text.len(), ' ')]) {
            prop_assert_eq!(find(&linear, &text, from), node.find(&text, from), "{:?} at {}", node.text(), from);
        }
        let free = |_| Ok::<(), Infallible>(());
        let Ok(some) = linear.is_match(&mut linear.scratch(), &text, free);
        prop_assert_eq!(some, node.find(&text, 0).is_some(), "{:?}", node.text());
    }

    /// The steps that are counted are those of the engine: they end with a match exactly if it finds one.
    #[test]
    fn a_prefix_beyond_what_was_read_changes_nothing(
        node in oracle::patterns(), text in oracle::texts(), more in oracle::texts()
    ) {
        let linear = compiled(&node.text());
        let read = Cell::new(0);
        let count = |ticks| { read.set(read.get() + ticks); Ok::<(), Infallible>(()) };
        let Ok(_) = linear.find_at(&mut linear.scratch(), &text, 0, count);
        let most = 1 + text.len() as u64 * linear.cost / 64;
        prop_assert!((1..=most).contains(&read.get()));
        // With other text behind, it is never cheaper by what was dead before.
        let before = read.replace(0);
        let Ok(_) = linear.find_at(&mut linear.scratch(), &format!("{text}{more}"), 0, count);
        prop_assert!(before <= read.get());
    }
}

/// In the Kelvin sign, between its bytes, is what a `\B` matches before the sign itself is read to its end.
#[test]
fn an_empty_match_inside_of_a_character_hides_none_around_it() {
    for (pattern, text, expected) in [
        (r"(?:[^[[:alpha:]]]|\B)", "a\u{212a}a", Some(1..4)),
        (r"\B|\u{212a}", "a\u{212a}a", Some(1..4)),
        (r"\B", "a\u{212a}a", None),
        (r"\B", "\u{212a}", Some(0..0)),
        (r"(?:\B)*", "é", Some(0..0)),
        (r"\B|é+", "aéé", Some(1..5)),
    ] {
        let linear = compiled(pattern);
        assert_eq!(find(&linear, text, 0), expected, "{pattern}");
        let free = |_| Ok::<(), Infallible>(());
        let Ok(some) = linear.is_match(&mut linear.scratch(), text, free);
        assert_eq!(some, expected.is_some(), "{pattern}");
    }
}

/// For each construct: its text, and the characters that it must hold, of all there are.
#[test]
fn classes_are_those_of_ascii_over_all_characters() {
    fn word(c: char) -> bool {
        c.is_ascii_alphanumeric() || c == '_'
    }
    fn space(c: char) -> bool {
        matches!(c, '\t' | '\n' | '\u{b}' | '\u{c}' | '\r' | ' ')
    }
    type Holds = fn(char) -> bool;
    let table: [(&str, Holds); 27] = [
        (r"\w", word),
        (r"\W", |c| !word(c)),
        (r"\d", |c| c.is_ascii_digit()),
        (r"\D", |c| !c.is_ascii_digit()),
        (r"\s", space),
        (r"\S", |c| !space(c)),
        (r"[\w]", word),
        (r"[^\w]", |c| !word(c)),
        (r"[^\W]", word),
        (r"[\W\d]", |c| !word(c) || c.is_ascii_digit()),
        (r"[\s\S]", |_| true),
        (r"[\w&&\D]", |c| word(c) && !c.is_ascii_digit()),
        (r"[\w--\d]", |c| word(c) && !c.is_ascii_digit()),
        (r"[\w~~\d]", |c| word(c) && !c.is_ascii_digit()),
        ("[[:upper:]]", |c| c.is_ascii_uppercase()),
        ("[[:^alpha:]]", |c| !c.is_ascii_alphabetic()),
        (".", |c| c != '\n'),
        ("(?s:.)", |_| true),
        ("(?R).", |c| c != '\n' && c != '\r'),
        ("(?i)k", |c| c == 'k' || c == 'K'),
        ("(?i)s", |c| c == 's' || c == 'S'),
        ("(?i)é", |c| c == 'é'),
        ("(?i)[a-z]", |c| c.is_ascii_alphabetic()),
        ("(?i)[^k]", |c| c != 'k' && c != 'K'),
        ("(?i)[[:lower:]]", |c| c.is_ascii_alphabetic()),
        ("(?i)[α-ω]", |c| ('α'..='ω').contains(&c)),
        ("(?i)[[a-z]&&[J-L]]", |c| "jklJKL".contains(c)),
    ];
    for (pattern, holds) in table {
        let linear = compiled(&format!("^(?:{pattern})$"));
        let mut scratch = linear.scratch();
        let mut buffer = [0; 4];
        for c in '\0'..=char::MAX {
            let text = c.encode_utf8(&mut buffer);
            let Ok(found) = linear.is_match(&mut scratch, text, |_| Ok::<(), Infallible>(()));
            assert_eq!(found, holds(c), "{pattern} of {:x}", u32::from(c));
        }
    }
}

#[test]
fn boundaries_are_between_words_of_ascii() {
    for (pattern, text, at) in [
        (r"\bb", "éb", Some(2)),
        (r"é\b", "éa", Some(0)),
        (r"\bé", "é", None),
        (r"\Bé", "é", Some(0)),
        (r"\b{start}k", "\u{212a}k", Some(3)),
        (r"k\b{end}", "k\u{212a}", Some(0)),
        (r"\b{start-half}k", "ék", Some(2)),
        (r"k\b{end-half}", "ké", Some(0)),
        (r"\<k\>", "éké", Some(2)),
    ] {
        let found = find(&compiled(pattern), text, 0);
        assert_eq!(found.map(|found| found.start), at, "{pattern} in {text}");
    }
}

#[track_caller]
fn refused(pattern: &str, code: &str, place: usize) {
    let error = compile(pattern, Flags::default(), &LIMITS).unwrap_err();
    let at = match &error {
        QueryError::BadPattern { at, .. } | QueryError::UnicodeClass { at, .. } => *at,
        _ => usize::MAX,
    };
    assert_eq!((error.code(), at), (code, place), "{pattern}: {error}");
}

/// Every way in which the syntax asks for a table.
#[test]
fn what_needs_a_table_is_refused() {
    for class in [
        r"\pL",
        r"\PL",
        r"\p{L}",
        r"\p{Letter}",
        r"\p{Greek}",
        r"\p{sc=Greek}",
        r"\p{scx:Greek}",
        r"\p{gc!=Lu}",
        r"\p{Alphabetic}",
        r"\p{Emoji}",
        r"\p{age=6.0}",
        r"\p{any}",
        r"\p{ascii}",
        r"\p{assigned}",
        r"\p{^Lu}",
        r"\P{Uppercase}",
        r"\p{gcb=Extend}",
        r"\p{wb=ALetter}",
        r"\p{sb=Lower}",
        r"\p{NoSuch}",
    ] {
        refused(&format!("aé{class}"), "unicode_class", 3);
        refused(&format!("[aé{class}]"), "unicode_class", 4);
        refused(&format!("[a&&{class}]"), "unicode_class", 4);
        refused(&format!("(?i){class}+"), "unicode_class", 4);
    }
    let error = compile(r"x\p{Greek}+", Flags::default(), &LIMITS).unwrap_err();
    assert_eq!(
        error.to_string(),
        r"\p{Greek} at byte 1 needs a table of Unicode, whose version must not reach what is stored; write the characters out, as in [A-Za-z] or [\u{370}-\u{3ff}], or \w, \d, \s for those of ASCII"
    );
    for (pattern, at) in [("(?u)a", 2), ("(?-u)a", 3), ("(?i-u:a)", 4), ("(?-u:.)", 3)] {
        refused(pattern, "bad_pattern", at);
    }
}

/// The parser of patterns asks the standard library what is a letter and what is space, which are tables too.
#[test]
fn what_the_parser_would_ask_a_table_about_is_refused() {
    refused("(?<é>a)", "bad_pattern", 3);
    refused("(?P<aé>a)", "bad_pattern", 4);
    refused("a{\u{a0}2}", "bad_pattern", 1);
    refused("a{2,\u{a0}3}", "bad_pattern", 1);
    refused("a{2\u{2003}}", "bad_pattern", 1);
    refused(
        r"\w{\u{a0}2}".replace("\\u{a0}", "\u{a0}").as_str(),
        "bad_pattern",
        2,
    );
    refused("(?x)a \u{a0} b", "bad_pattern", 6);
    refused("a(?ix-s:é)", "bad_pattern", 8);
    let spaced = Flags {
        ignore_space: true,
        ..Flags::default()
    };
    assert!(compile("é", spaced, &LIMITS).is_err());
    assert!(compile(r"a \u{e9} # all of it", spaced, &LIMITS).is_ok());
    // What only looks like it.
    for pattern in [
        "(?<a>é)",
        "é{2}",
        r"\{é\}",
        r"\(?<é>",
        r"\u{e9}é",
        "(?:x)é",
        "[(]é",
        "é(?=a)?".trim_end_matches("(?=a)?"),
    ] {
        assert!(
            compile(pattern, Flags::default(), &LIMITS).is_ok(),
            "{pattern}"
        );
    }
    refused("é(?<=a)", "bad_pattern", 2);
}

/// All matches of a text, with what they cost.
fn all(pattern: &str, text: &str) -> (usize, u64) {
    let linear = compiled(pattern);
    let mut scratch = linear.scratch();
    let ticks = Cell::new(0);
    let count = |n| {
        ticks.set(ticks.get() + n);
        Ok::<(), Infallible>(())
    };
    let (mut found, mut from) = (0, 0);
    while let Ok(Some(range)) = linear.find_at(&mut scratch, text, from, count) {
        found += 1;
        from = range.end;
    }
    (found, ticks.get())
}

#[test]
fn work_that_is_linear_is_charged_linearly() {
    for pattern in [
        "a+",
        "a",
        "a+b?",
        "\"[^\"]*\"",
        r"\w+",
        r"(?:ab?)+",
        "[^ ]+ ",
    ] {
        let text = |times: usize| "a \"b c\" aab ".repeat(times);
        let (found, ticks) = all(pattern, &text(1_000));
        let (ten_found, ten_ticks) = all(pattern, &text(10_000));
        assert_eq!(ten_found, 10 * found, "{pattern}");
        assert!(ten_ticks <= 10 * ticks, "{pattern}: {ticks}, {ten_ticks}");
        // One for each look, and each byte read at most twice: at the end of a match it is read on by a little.
        let cost = compiled(pattern).cost;
        let most = found as u64 + 1 + 2 * cost * text(1_000).len() as u64 / 64;
        assert!(ticks <= most, "{pattern}: {ticks}, {most}");
    }
}

/// Here the engine itself reads to the end of the text for each match.
#[test]
fn work_that_is_not_linear_is_charged_for() {
    let (found, ticks) = all("a(?:.*b)?", &"a".repeat(1_000));
    assert_eq!(found, 1_000);
    let (ten_found, ten_ticks) = all("a(?:.*b)?", &"a".repeat(10_000));
    assert_eq!(ten_found, 10_000);
    assert!(ten_ticks > 80 * ticks, "{ticks}, {ten_ticks}");
}

#[test]
fn groups_are_counted_and_can_be_left_out() {
    let bytes = |pattern: &str, groups: bool| {
        let limits = Limits { groups, ..LIMITS };
        compile(pattern, Flags::default(), &limits)
            .unwrap()
            .groups_bytes
    };
    // The whole match is a group.
    let one = bytes("a", true);
    assert!(bytes("(a)", true) > 2 * one && bytes("(a)", true) < 10 * one);
    let many = format!("(?:{}){{100}}", "()".repeat(100));
    assert!(bytes(&many, true) > 10_000 * 200 * 16);
    assert!(bytes(&many, false) < 1_000_000);
    // As the engine has it: each group is where it should be.
    let linear = compiled("(?<x>a)(b)?|c");
    let names: Vec<_> = linear.group_names().collect();
    assert_eq!(names, [None, Some("x"), None]);
    let free = |_| Ok::<(), Infallible>(());
    let Ok(found) = linear.captures_at(&mut linear.scratch(), "-a", 0, free);
    let spans: Vec<_> = found
        .unwrap()
        .iter()
        .map(|span| span.map(|span| span.range()))
        .collect();
    assert_eq!(spans, [Some(1..2), Some(1..2), None]);
}

#[test]
fn a_charge_that_fails_ends_the_look() {
    let linear = compiled("a{3}b");
    let text = "a".repeat(1_000);
    let mut seen = Vec::new();
    for budget in 0..70_u64 {
        let left = Cell::new(budget);
        let result = linear.find_at(&mut linear.scratch(), &text, 0, |ticks| {
            if left.get() < ticks {
                return Err("stopped");
            }
            left.set(left.get() - ticks);
            Ok(())
        });
        seen.push(result.is_ok());
    }
    // 1 + 1,000 * 4 / 64.
    assert_eq!(seen.iter().position(|ok| *ok), Some(63));
    assert!(seen[63..].iter().all(|ok| *ok));
}
