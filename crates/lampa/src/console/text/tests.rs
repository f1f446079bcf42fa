//! Tests of lines that fit.

use super::{clip, width, wrap};

/// Texts that were made to break a screen.
pub(crate) const HOSTILE: &[&str] = &[
    "\u{1b}[2J\u{1b}]0;title\u{7}\u{9b}31m",
    "\r\u{8}\u{8}\u{8}over",
    "日本語日本語日本語日本語日本語",
    "e\u{301}\u{301}\u{301}\u{301}\u{301}\u{301}\u{301}\u{301}",
    "\u{301}\u{301}alone",
    "👩\u{200d}👩\u{200d}👧\u{200d}👦 ❤\u{fe0f} 🇩🇪 👍🏽",
    "\u{202e}gnp.exe\u{2066}x\u{2069}",
    "\t\ta\tb",
    "\u{e0068}\u{e0069}",
    "ᄀ\u{1161}\u{11a8}각",
    "﷽",
    "nul\0 del\u{7f} nel\u{85} line\u{2028}para\u{2029}",
];

#[test]
fn lines_are_broken_between_words() {
    assert_eq!(wrap("the quick brown fox", 10), ["the quick", "brown fox"]);
    assert_eq!(wrap("the quick", 9), ["the quick"]);
    assert_eq!(wrap("a  b", 2), ["a", "b"]);
    assert_eq!(wrap("abcdefgh", 3), ["abc", "def", "gh"]);
    assert_eq!(wrap("  abcdef", 4), ["  ab", "cdef"]);
    assert_eq!(wrap("one\n\ntwo\n", 9), ["one", "", "two", ""]);
    assert_eq!(wrap("", 5), [""]);
}

#[test]
fn wide_characters_are_counted() {
    assert_eq!(wrap("日本語", 5), ["日本", "語"]);
    assert_eq!(wrap("日本", 1), ["…", "…"]);
    assert_eq!(clip("日本語", 5), "日本…");
    assert_eq!(clip("日本語", 6), "日本語");
    assert_eq!(clip("abc", 0), "");
}

#[test]
fn tabs_and_marks_have_bounds() {
    assert_eq!(wrap("a\tb", 10), ["a   b"]);
    assert_eq!(
        wrap("e\u{301}\u{301}\u{301}\u{301}\u{301}", 10),
        ["e\u{301}\u{301}\u{301}"]
    );
    assert_eq!(wrap("\u{301}", 10), ["◌\u{301}"]);
}

#[test]
fn no_text_is_wider_than_it_may_be_or_an_order() {
    for text in HOSTILE {
        for columns in 0..30 {
            for line in wrap(text, columns).iter().chain([&clip(text, columns)]) {
                assert!(
                    width(line) <= columns.max(1),
                    "{text:?} in {columns}: {line:?}"
                );
                assert!(!line.chars().any(char::is_control), "{line:?}");
            }
        }
    }
}
