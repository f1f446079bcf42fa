//! Each rule of `tidy`, broken on purpose.

use super::{LongFile, REGISTRY_HOSTS, TOO_LONG, check, long_files};
use crate::finding::brief;
use crate::workspace::TextFile;

fn file(path: &str, text: &str) -> TextFile {
    TextFile {
        path: path.to_owned(),
        text: text.to_owned(),
    }
}

fn rust(lines: usize) -> TextFile {
    file("a.rs", &"//! Page.\n".repeat(lines))
}

#[test]
fn a_tidy_file_is_tidy() {
    let text = "//! Says why.\n\n#[allow(dead_code, reason = \"a test\")]\nfn f() {}\n";
    assert_eq!(check(&[file("a.rs", text), file("b.md", "# B\n")], &[]), []);
}

#[test]
fn a_rust_file_opens_by_saying_why() {
    for text in ["", "\n//! Late.\n", "use a;\n", "// Not a doc.\n", "//!\n"] {
        assert_eq!(
            brief(&check(&[file("a.rs", text)], &[])),
            [("head", "a.rs")],
            "{text:?}"
        );
    }
}

#[test]
fn lengths_are_reported_and_then_refused() {
    assert_eq!(long_files(&[rust(600)]), []);
    assert_eq!(long_files(&[rust(601)]), [("a.rs", 601)]);
    assert_eq!(check(&[rust(TOO_LONG)], &[]), []);
    assert_eq!(
        brief(&check(&[rust(TOO_LONG + 1)], &[])),
        [("length", "a.rs")]
    );
}

#[test]
fn an_exception_has_a_bound_and_is_dropped_when_not_needed() {
    let exception = [LongFile {
        path: "a.rs",
        lines: 900,
        why: "a table",
    }];
    assert_eq!(check(&[rust(900)], &exception), []);
    assert_eq!(
        brief(&check(&[rust(901)], &exception)),
        [("length", "a.rs")]
    );
    assert_eq!(
        brief(&check(&[rust(700)], &exception)),
        [("length", "a.rs")]
    );
    assert_eq!(brief(&check(&[], &exception)), [("length", "a.rs")]);
}

#[test]
fn exceptions_from_lints_and_ignored_tests_say_why() {
    for line in [
        "#[allow(dead_code)]",
        "#![allow(\n    dead_code\n)]",
        "#[expect(dead_code)]",
        "#[ignore]",
    ] {
        let text = format!("//! Page.\n{line}\n");
        assert_eq!(
            brief(&check(&[file("a.rs", &text)], &[])),
            [("reason", "a.rs:2")],
            "{line}"
        );
    }
    let text = "//! Page.\n// #[allow(dead_code)]\n#[ignore = \"slow\"]\n#![allow(\n  a,\n  reason = \"b\"\n)]\n";
    assert_eq!(check(&[file("a.rs", text)], &[]), []);
}

#[test]
fn registry_hosts_are_named_nowhere() {
    for (name, domain) in REGISTRY_HOSTS {
        let text = format!("see HTTPS://www.{}{domain}/x\n", name.to_uppercase());
        let found = check(&[file("b.md", &text)], &[]);
        assert_eq!(brief(&found), [("registry", "b.md:1")], "{text}");
        assert_eq!(check(&[file("Cargo.lock", &text)], &[]), []);
    }
}

#[test]
fn an_unfinished_merge_is_seen() {
    let text = format!("a\n{} HEAD\n", "<".repeat(7));
    assert_eq!(
        brief(&check(&[file("b.md", &text)], &[])),
        [("conflict", "b.md:2")]
    );
}
