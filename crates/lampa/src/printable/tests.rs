//! Tests of what may reach a terminal.

use super::{one_line, printable};

// THREAT[TM-CONSOLE-1]
#[test]
fn nothing_that_a_terminal_obeys_is_printed() {
    assert_eq!(
        printable("a\u{1b}[2Jb\r\u{7f}\u{9b}31m\n\tc"),
        "a\\u{1b}[2Jb\\r\\u{7f}\\u{9b}31m\n\tc"
    );
    assert_eq!(printable("user\u{202e}gpj.exe"), "user\\u{202e}gpj.exe");
    assert_eq!(printable("é 😀 \\n"), "é 😀 \\n");
    assert_eq!(
        one_line("bad\n\n  script\r\n\tat 1"),
        "bad   script \\tat 1"
    );
}

#[test]
fn nothing_is_hidden_from_a_reader() {
    assert_eq!(
        printable("pay\u{200b}pal\u{feff}"),
        "pay\\u{200b}pal\\u{feff}"
    );
    // Letters as tags: an order to a model that no person sees.
    assert_eq!(printable("\u{e0068}\u{e0069}"), "\\u{e0068}\\u{e0069}");
    assert_eq!(printable("a\u{2028}b\u{61c}"), "a\\u{2028}b\\u{61c}");
}

#[test]
fn what_scripts_of_people_need_stays() {
    for text in [
        "می\u{200c}خواهم",
        "क्\u{200d}ष",
        "e\u{301}",
        "❤\u{fe0f}",
        "漢字",
    ] {
        assert_eq!(printable(text), text);
    }
}

#[test]
fn no_control_character_is_left_whatever_the_text() {
    for c in (0..=u32::from(char::MAX)).filter_map(char::from_u32) {
        let text = format!("a{c}b");
        let left = printable(&text);
        assert!(
            left.chars()
                .all(|c| !c.is_control() || matches!(c, '\n' | '\t'))
        );
        assert!(one_line(&text).chars().all(|c| !c.is_control()));
    }
}
