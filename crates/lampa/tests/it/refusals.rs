//! Everything that can be wrong is one sentence and an exit code, and changes nothing.

#![allow(clippy::unwrap_used, reason = "tests")]

use expect_test::{Expect, expect};

use crate::console::{Console, refused};

#[track_caller]
fn check(words: &[&str], text: Expect) {
    let console = Console::new();
    console.says(&["write", "/memory/x", "1"]);
    text.assert_eq(&console.refuses(1, words));
    assert_eq!(
        console.says(&["log"]).lines().count() - console.granted(),
        1,
        "it committed something"
    );
}

#[test]
fn bad_paths() {
    check(
        &["show", "memory"],
        expect![[r#"bad path "memory" at byte 0: a path starts with `/`"#]],
    );
    check(
        &["write", "/memory//x", "1"],
        expect![[r#"bad path "/memory//x" at byte 8: a segment is empty"#]],
    );
    check(
        &["show", "/memory/y"],
        expect!["there is nothing at /memory/y"],
    );
    check(
        &["show", "/memory/x", "--at", "0"],
        expect!["there is nothing at /memory/x in version 0"],
    );
    check(
        &["show", "/memory/x", "--at", "7"],
        expect!["version 7 is not there; versions 0 to 1 are"],
    );
    check(
        &["write", "/system/x", "1"],
        expect!["/system/x cannot be written directly; what is below `/memory` and `/lib` can"],
    );
    check(
        &["write", "/memory/a/b", "1"],
        expect!["/memory/a/b: there is no container at /memory/a"],
    );
}

#[test]
fn bad_json() {
    check(
        &["write", "/memory/x", "{"],
        expect!["value: bad JSON at byte 1: the text ends inside a value"],
    );
    check(
        &["write", "/memory/x", "teal"],
        expect![[
            r#"value: bad JSON at byte 1: an unexpected character; a text needs its double quotes inside the shell's: '"like this"'"#
        ]],
    );
    check(
        &["exec", "/lib/x", "NaN"],
        expect![[
            r#"input: bad JSON at byte 0: an unexpected character; a text needs its double quotes inside the shell's: '"like this"'"#
        ]],
    );
    check(
        &["write", "/memory/x", "1e999"],
        expect!["value: bad JSON at byte 0: a number too large for a 64-bit float"],
    );
}

#[test]
fn bad_scripts() {
    check(
        &["exec", "/lib/none", "{}"],
        expect!["there is no script at /lib/none"],
    );
    check(
        &["exec", "/memory/x", "{}"],
        expect!["there is no script at /memory/x"],
    );
    check(
        &["write", "/lib/x", "1"],
        expect!["/lib/x is not a script: expected a map with a source, found int"],
    );
    check(
        &["write", "/lib/x", r#"{"source": "(define (main input"}"#],
        expect!["/lib/x.svit-script:1:9: this `(` has no `)`"],
    );

    let console = Console::new();
    console.says(&[
        "write",
        "/lib/loop",
        r#"{"source": "(define (main input) (main input))"}"#,
    ]);
    let text = console.refuses(1, &["exec", "/lib/loop", "null"]);
    // On a machine that is busy, a debug build reaches the wall clock first.
    let stopped = text.contains("1000000 ticks") || text.contains("longer than 1000 ms");
    assert!(stopped, "{text}");
    assert_eq!(
        console.says(&["log"]).lines().count() - console.granted(),
        1
    );
}

#[test]
fn bad_instances_and_folders() {
    let console = Console::new();
    for name in ["", "../x", "A", "a/b"] {
        let text = console.refuses(1, &["--instance", name, "log"]);
        assert!(text.starts_with("an instance's name is"), "{text}");
    }
    let file = console.folder.path().join("file");
    std::fs::write(&file, "x").unwrap();
    let text = console.refuses(1, &["--data-dir", file.to_str().unwrap(), "log"]);
    assert!(
        text.starts_with("the folder ") && text.contains("cannot be made: "),
        "{text}"
    );

    let mut program = console.program(&["log"]);
    program.env_remove("LAMPA_DATA_DIR").env_remove("HOME");
    if cfg!(all(unix, not(target_os = "macos"))) {
        expect!["there is no data folder: set LAMPA_DATA_DIR or give --data-dir"]
            .assert_eq(&refused(&program.output().unwrap(), 1));
    }
}

#[test]
fn a_file_that_is_no_store() {
    let console = Console::new();
    let database = console.database("default");
    std::fs::create_dir(database.parent().unwrap()).unwrap();
    std::fs::write(
        &database,
        "not a database, but quite long enough to be looked at",
    )
    .unwrap();
    let text = console.refuses(1, &["log"]);
    assert!(text.contains("is not a svit store"), "{text}");
    assert!(
        std::fs::read_to_string(&database)
            .unwrap()
            .starts_with("not a database")
    );
}

#[test]
fn a_wrong_call_has_exit_code_2_and_makes_nothing() {
    let console = Console::new();
    for words in [
        &["frob"][..],
        &["show"],
        &["write", "/memory/x"],
        &["log", "/memory", "more"],
        &["log", "--frob"],
        &["log", "--at", "1"],
        &["show", "/", "--at", "x"],
    ] {
        console.refuses(2, words);
    }
    assert_eq!(std::fs::read_dir(console.folder.path()).unwrap().count(), 0);
}

#[test]
fn no_key_is_told_in_plain_words_and_sends_nothing() {
    let console = Console::new();
    expect![[
        "there is no model to answer: set OPENAI_API_KEY, or choose another with --model, then send again"
    ]]
    .assert_eq(&console.refuses(1, &["send", "hello"]));
    let mut program = console.program(&["send", "hello"]);
    program.env("OPENAI_API_KEY", "");
    assert!(refused(&program.output().unwrap(), 1).starts_with("there is no model"));
    assert_eq!(std::fs::read_dir(console.folder.path()).unwrap().count(), 0);
}
