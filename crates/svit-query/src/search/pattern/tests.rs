//! Tests of patterns: what is refused, with which place, and what the worst accepted ones cost.

use std::time::{Duration, Instant};

use super::Pattern;
use crate::{PatternLimit, QueryError};

#[track_caller]
fn bad(pattern: &str, place: usize) {
    match Pattern::regex(pattern) {
        Err(QueryError::BadPattern { at, .. }) => assert_eq!(at, place, "{pattern}"),
        other => panic!("{pattern}: {other:?}"),
    }
}

#[track_caller]
fn too_large(pattern: &str, expected: PatternLimit) {
    match Pattern::regex(pattern) {
        Err(QueryError::PatternTooLarge { limit, .. }) => assert_eq!(limit, expected, "{pattern}"),
        other => panic!("{pattern}: {other:?}"),
    }
}

#[test]
fn a_mistake_is_told_with_its_place() {
    bad("a(b", 1);
    bad("a)b", 1);
    bad("é[z", 2);
    bad("*a", 0);
    bad("a{2,1}", 1);
    bad(r"(a)\1", 3);
    bad("(?=a)", 0);
    bad("(?<!a)b", 0);
    bad("a\\", 1);
    bad(r"(?-u)\xff", 3);
    bad(&format!("{}a{}", "(".repeat(70), ")".repeat(70)), 64);
}

#[test]
fn what_matches_the_empty_text_is_refused() {
    for pattern in [
        "",
        "x*",
        "a?",
        "^",
        "$",
        r"\b",
        "a|",
        "(?:)",
        "(?i)",
        "(a*)*",
        "[a&&b]*",
        "a?[a&&b]{0,3}",
        "a{0}",
        "a|b|c*",
        "(?:a?b?)+",
        r"\Ba*$",
        "(a|)",
        "[a--a]?",
    ] {
        let error = Pattern::regex(pattern).unwrap_err();
        assert_eq!(error.code(), "matches_empty", "{pattern}");
    }
    assert_eq!(Pattern::text("").unwrap_err().code(), "matches_empty");
    assert!(Pattern::regex("^a$").is_ok());
    assert!(
        Pattern::regex("[a&&b]").is_ok(),
        "it matches nothing, which is no harm"
    );
}

#[test]
fn what_is_too_large_is_refused_at_the_edge() {
    too_large(&"a".repeat(4_097), PatternLimit::Bytes);
    assert!(Pattern::text(&"a".repeat(4_096)).is_ok());
    assert!(Pattern::text(&"a".repeat(4_097)).is_err());

    assert!(Pattern::regex(&r"\d".repeat(32)).is_ok());
    too_large(&r"\d".repeat(33), PatternLimit::Classes);
    too_large(&format!("[{}]", r"\d".repeat(32)), PatternLimit::Classes);
    too_large(&format!("[{}a]", r"a&&".repeat(40)), PatternLimit::Classes);

    assert_eq!(Pattern::regex("a{1000}").unwrap().cost(), 1_000);
    too_large("a{1001}", PatternLimit::Positions);
    too_large("ba{0,1000}", PatternLimit::Positions);
    too_large("(?:a{1000}){1000}", PatternLimit::Positions);
    too_large(
        "(?:(?:a{4294967295}){4294967295}){4294967295}",
        PatternLimit::Positions,
    );
    too_large("[^a-bé-ëͰ-Ͽ☀-➿𝐀-𝟿]{999}", PatternLimit::Compiled);
}

#[test]
fn the_cost_counts_repetitions_out() {
    for (pattern, cost) in [
        ("a", 1),
        ("abc", 3),
        ("é", 2),
        ("a+", 1),
        ("a{3}", 3),
        ("a{2,5}", 5),
        ("a{3,}", 3),
        ("(?:ab|[cd]e)+", 4),
        (r"\bab", 3),
        ("[a&&b]", 1),
    ] {
        assert_eq!(Pattern::regex(pattern).unwrap().cost(), cost, "{pattern}");
    }
}

/// Patterns that are dear to compile, and that are dear to run on texts of `a` and `b`.
pub(in crate::search) fn hostile() -> Vec<String> {
    let mut patterns: Vec<String> = [
        "[ab]*a[ab]{900}c",
        "(a?){400}a{400}c",
        "(a|b|ab|ba|aab){100}c",
        r"(\w+\s?){14}!",
        ".*.*.*.*.*.*.*.*.*.*x",
        "(?:.*a){50}.*c",
        "(?:a*)*c",
        "(?:a+)+b?c",
        "(?:(?:(?:(?:a+)+)+)+)+c",
        "(x+x+)+y",
        "([ab]{0,40}a){20}c",
        ".*[^A-Z]|[A-Z]",
        r"\b(\w+\b.){6}c",
        "(?:a?b?c?d?){200}z",
        "^(?:(?:ab)?(?:ba)?){100}c$",
        "(?s).{900}c",
        "(?s:.){0,900}c",
        "(?i)(?:a|A|aA){200}c",
    ]
    .map(str::to_owned)
    .to_vec();
    patterns.push(format!("(?i){}", r"[^\W\s]".repeat(16)));
    patterns.push(format!("(?i){}", "[^a]".repeat(32)));
    patterns.push(format!("(?i){}", r"[^é&&\w]".repeat(8)));
    patterns.push("[^a-bé-ëͰ-Ͽ☀-➿𝐀-𝟿]{900}".to_owned());
    patterns.push(format!("{}z", "a?".repeat(999)));
    patterns.push((0..300).map(|i| format!("ab{i}|")).collect::<String>() + "c");
    patterns
}

#[test]
fn the_worst_patterns_are_compiled_or_refused_soon() {
    for pattern in hostile() {
        let started = Instant::now();
        let result = Pattern::regex(&pattern);
        let took = started.elapsed();
        // Generous: debug builds on a loaded machine. Without the limit on classes it is minutes.
        assert!(
            took < Duration::from_secs(10),
            "{pattern}: {took:?} {result:?}"
        );
    }
}

#[test]
fn debug_says_what_it_is_and_does_not_grow() {
    assert_eq!(
        format!("{:?}", Pattern::text("a\"b").unwrap()),
        r#"Pattern::text("a\"b")"#
    );
    let long = Pattern::regex(&"é".repeat(400)).unwrap();
    assert!(format!("{long:?}").len() < 250);
}
