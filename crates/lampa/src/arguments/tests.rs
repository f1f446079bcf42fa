//! Tests of the command line.

use expect_test::{Expect, expect};
use lexopt::Parser;
use svit::{Path, value};

use super::{Call, Request, parse};
use crate::command::Command;
use crate::failure::Failure;
use crate::folder::InstanceName;
use crate::grants::FolderGrant;

fn call(words: &[&str]) -> Result<Call, Failure> {
    match parse(Parser::from_args(words))? {
        Request::Run(call) => Ok(call),
        other => panic!("{other:?}"),
    }
}

#[track_caller]
fn command(words: &[&str], expected: Command) {
    assert_eq!(call(words).unwrap().command, Some(expected));
}

#[track_caller]
fn refused(words: &[&str], exit_code: u8, text: Expect) {
    let failure = call(words).unwrap_err();
    assert_eq!(failure.exit_code(), exit_code);
    text.assert_eq(&failure.sentence());
}

fn path(text: &str) -> Path {
    Path::parse(text).unwrap()
}

#[test]
fn every_command_is_understood() {
    command(&["log"], Command::Log { path: None });
    command(
        &["log", "/memory/a"],
        Command::Log {
            path: Some(path("/memory/a")),
        },
    );
    command(
        &["show", "/"],
        Command::Show {
            path: path("/"),
            at: None,
        },
    );
    command(
        &["show", "--at", "3", "/memory"],
        Command::Show {
            path: path("/memory"),
            at: Some(3),
        },
    );
    command(
        &["show", "/memory", "--at=0"],
        Command::Show {
            path: path("/memory"),
            at: Some(0),
        },
    );
    command(
        &["write", "/memory/x", "{\"a\": [1]}"],
        Command::Write {
            path: path("/memory/x"),
            value: value!({"a": [1]}),
        },
    );
    command(
        &["exec", "/lib/x", "null"],
        Command::Exec {
            path: path("/lib/x"),
            input: value!(null),
        },
    );
    command(
        &["send", "hello there"],
        Command::Send {
            text: "hello there".into(),
        },
    );
    command(
        &["send", "--model", "m", "--", "--json"],
        Command::Send {
            text: "--json".into(),
        },
    );
    command(&["diff", "1", "3"], Command::Diff { from: 1, to: 3 });
    command(&["discover", "/"], Command::Discover { path: path("/") });
    command(&["stat", "/lib"], Command::Stat { path: path("/lib") });
    command(
        &["remove", "/lib/x"],
        Command::Remove {
            path: path("/lib/x"),
        },
    );
    command(
        &["export", "x.car"],
        Command::Export {
            file: "x.car".into(),
        },
    );
    command(
        &["import", "x.car"],
        Command::Import {
            file: "x.car".into(),
        },
    );
}

#[test]
fn without_a_command_it_is_the_console() {
    let console = call(&["--plain", "--model", "m"]).unwrap();
    assert_eq!(
        (console.command, console.plain, console.model),
        (None, true, Some("m".into()))
    );
    refused(&["--at", "3"], 2, expect!["the console does not take --at"]);
}

#[test]
fn mounts_are_names_and_folders() {
    let words = ["--mount", "a=x/y", "log", "--mount-rw=b=/tmp/c=d"];
    let grant = |name: &str, folder: &str, is_writable| FolderGrant {
        name: name.into(),
        folder: folder.into(),
        is_writable,
    };
    assert_eq!(
        call(&words).unwrap().mounts,
        [grant("a", "x/y", false), grant("b", "/tmp/c=d", true)]
    );
    for word in ["", "a", "=x", "a="] {
        assert_eq!(
            call(&["--mount", word]).unwrap_err().exit_code(),
            2,
            "{word}"
        );
    }
    refused(
        &["--mount", "docs"],
        2,
        expect!["a mount is NAME=FOLDER, not `docs`"],
    );
}

#[test]
fn a_negative_number_is_a_value() {
    command(
        &["write", "/memory/x", "-5"],
        Command::Write {
            path: path("/memory/x"),
            value: value!(-5),
        },
    );
    command(
        &["exec", "/lib/x", "-1.5"],
        Command::Exec {
            path: path("/lib/x"),
            input: value!(-1.5),
        },
    );
    refused(
        &["write", "/memory/x", "-x"],
        2,
        expect!["invalid option '-x'; `lampa --help` explains"],
    );
}

#[test]
fn options_may_stand_anywhere() {
    for words in [
        ["--json", "--instance", "a", "--data-dir", "d", "log"],
        ["log", "--json", "--instance", "a", "--data-dir", "d"],
    ] {
        let call = call(&words).unwrap();
        assert!(call.json);
        assert_eq!(call.instance, InstanceName::parse("a").unwrap());
        assert_eq!(call.data_dir, Some("d".into()));
    }
    let plain = call(&["log"]).unwrap();
    assert_eq!((plain.json, plain.data_dir), (false, None));
    assert_eq!(plain.instance, InstanceName::parse("default").unwrap());
}

#[test]
fn help_and_version_are_texts() {
    for words in [["--help"], ["-h"], ["--version"], ["-V"]] {
        assert!(
            matches!(parse(Parser::from_args(words)), Ok(Request::Print(text)) if text.starts_with("lampa"))
        );
    }
}

#[test]
fn a_wrong_call_is_told_apart_from_wrong_data() {
    refused(
        &["shw"],
        2,
        expect![
            "`shw` is no command; there are send, log, diff, show, discover, stat, write, remove, exec, export and import"
        ],
    );
    refused(&["show"], 2, expect!["`show` needs a path"]);
    refused(
        &["write", "/memory/x"],
        2,
        expect!["`write` needs a JSON value"],
    );
    refused(&["send"], 2, expect!["`send` needs a text"]);
    refused(
        &["send", "two", "words"],
        2,
        expect!["`send` does not take `words`; quote what has spaces"],
    );
    refused(
        &["log", "--at", "1"],
        2,
        expect!["`log` does not take --at"],
    );
    refused(
        &["show", "/", "--model", "m"],
        2,
        expect!["`show` does not take --model"],
    );
    refused(
        &["show", "/", "--at", "-1"],
        2,
        expect!["`--at` needs the number of a version, not `-1`"],
    );
    refused(
        &["log", "--frob"],
        2,
        expect!["invalid option '--frob'; `lampa --help` explains"],
    );
    refused(
        &["log", "--instance"],
        2,
        expect!["missing argument for option '--instance'; `lampa --help` explains"],
    );

    refused(
        &["show", "memory"],
        1,
        expect![[r#"bad path "memory" at byte 0: a path starts with `/`"#]],
    );
    refused(
        &["write", "/memory/x", "{"],
        1,
        expect!["value: bad JSON at byte 1: the text ends inside a value"],
    );
    refused(
        &["exec", "/lib/x", "NaN"],
        1,
        expect![[
            r#"input: bad JSON at byte 0: an unexpected character; a text needs its double quotes inside the shell's: '"like this"'"#
        ]],
    );
    refused(
        &["log", "--instance", "../x"],
        1,
        expect![[r#"an instance's name is 1 to 64 of `a-z 0-9 - _`, not "../x""#]],
    );
}
