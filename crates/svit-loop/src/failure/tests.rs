//! Reasons are fit to be shown.

use super::*;

#[test]
fn reasons_are_one_bounded_line_without_control_characters() {
    for (text, clean) in [
        ("plain", "plain"),
        ("two\nlines\r\n", "two lines  "),
        ("\u{1b}[31mred\u{7}", " [31mred "),
        ("a\u{202e}b\u{2028}c", "a b c"),
    ] {
        assert_eq!(sanitized(text), clean);
    }
    let long = sanitized(&"é".repeat(MAX_REASON + 1));
    assert_eq!(long.chars().count(), MAX_REASON + 1);
    assert!(long.ends_with("é…"));
    assert_eq!(sanitized(&"é".repeat(MAX_REASON)), "é".repeat(MAX_REASON));
}
