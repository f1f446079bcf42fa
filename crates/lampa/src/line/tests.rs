//! Tests of typed lines.

use expect_test::{Expect, expect};
use svit::{Path, value};

use super::{Line, parse};
use crate::command::Command;

fn path(text: &str) -> Path {
    Path::parse(text).unwrap()
}

#[track_caller]
fn reads(line: &str, expected: Line) {
    assert_eq!(parse(line).unwrap(), expected);
}

#[track_caller]
fn refuses(line: &str, text: Expect) {
    text.assert_eq(&parse(line).unwrap_err().sentence());
}

#[test]
fn what_does_not_begin_with_a_colon_is_a_message() {
    reads("", Line::Nothing);
    reads("  \t ", Line::Nothing);
    reads(" Which color? ", Line::Message("Which color?".into()));
    reads(
        "/memory is a path",
        Line::Message("/memory is a path".into()),
    );
    reads("two\nlines", Line::Message("two\nlines".into()));
    reads("::colon", Line::Message(":colon".into()));
    reads(":", Line::Nothing);
    reads(":help", Line::Help);
    reads(":quit", Line::Quit);
}

#[test]
fn commands_take_the_rest_of_the_line() {
    let show = |text: &str, at| {
        Line::Command(Command::Show {
            path: path(text),
            at,
        })
    };
    reads(":show /memory", show("/memory", None));
    reads(":read /memory/my key", show("/memory/my key", None));
    reads(":show /memory/x --at 3", show("/memory/x", Some(3)));
    reads(
        r#":show "/memory/a \"b\"" --at 3"#,
        show("/memory/a \"b\"", Some(3)),
    );
    let write = |text: &str, value| {
        Line::Command(Command::Write {
            path: path(text),
            value,
        })
    };
    reads(
        ":write /memory/x {\"a\": [1, 2]}",
        write("/memory/x", value!({"a": [1, 2]})),
    );
    reads(
        ":write  /memory/x  \"two words\"",
        write("/memory/x", value!("two words")),
    );
    reads(
        ":write \"/memory/my key\" -5",
        write("/memory/my key", value!(-5)),
    );
    reads(":diff 1 2", Line::Command(Command::Diff { from: 1, to: 2 }));
    reads(
        ":export my file.car",
        Line::Command(Command::Export {
            file: "my file.car".into(),
        }),
    );
}

#[test]
fn what_is_wrong_with_a_line_is_told() {
    refuses(
        ":frob",
        expect![
            "`frob` is no command; there are send, log, diff, show, discover, stat, write, remove, exec, export and import"
        ],
    );
    refuses(":show", expect!["`show` needs a path"]);
    refuses(
        ":show memory",
        expect![[r#"bad path "memory" at byte 0: a path starts with `/`"#]],
    );
    refuses(":write /memory/x", expect!["`write` needs a JSON value"]);
    refuses(
        ":write \"/memory/x 1",
        expect![[r#"a path that begins with `"` ends with one"#]],
    );
    refuses(":diff 1", expect!["`diff` needs a second version"]);
    refuses(
        ":diff 1 x",
        expect!["`diff` needs the number of a version, not `x`"],
    );
    refuses(
        ":log 1",
        expect![[r#"bad path "1" at byte 0: a path starts with `/`"#]],
    );
    refuses(
        ":log /memory/a b",
        expect!["`log` does not take `b`; quote what has spaces"],
    );
    refuses(":stat /x --at 1", expect!["`stat` does not take --at"]);
    refuses(
        ":import x",
        expect!["`import` is for an instance that is not there yet: lampa import FILE"],
    );
}
