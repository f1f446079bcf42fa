//! Each rule of the bundle, broken on purpose.

use super::check;
use crate::finding::{Finding, brief};
use crate::workspace::TextFile;

const CONCEPT: &str = "---\ntype: Limit\ntitle: Ticks\ndescription: What a tick is.\ntags: [lisp]\n\
                       timestamp: 2026-11-30T19:00:00Z\n---\n\n# Ticks\n";

fn bundle(changes: &[(&str, &str)]) -> Vec<TextFile> {
    let mut files = vec![
        (
            "index.md",
            "---\nokf_version: \"0.2\"\n---\n\n* [Runtimes](runtimes/index.md) - guests\n",
        ),
        (
            "log.md",
            "# Log\n\n## 2026-11-30\n\n* made\n\n## 2026-11-02\n\n* planned\n",
        ),
        (
            "runtimes/index.md",
            "# Runtimes\n\n* [Ticks](ticks.md) - work\n",
        ),
        ("runtimes/ticks.md", CONCEPT),
    ];
    for (path, text) in changes {
        files.retain(|(other, _)| other != path);
        if !text.is_empty() {
            files.push((path, text));
        }
    }
    let file = |(path, text): (&str, &str)| TextFile {
        path: path.to_owned(),
        text: text.to_owned(),
    };
    files.into_iter().map(file).collect()
}

fn changed(path: &str, text: &str) -> Vec<Finding> {
    check(&bundle(&[(path, text)]))
}

#[test]
fn a_complete_bundle_passes() {
    assert_eq!(check(&bundle(&[])), []);
}

#[test]
fn a_concept_has_complete_front_matter() {
    for key in ["type", "title", "description", "tags", "timestamp"] {
        let without: String = CONCEPT
            .lines()
            .filter(|line| !line.starts_with(key))
            .map(|line| format!("{line}\n"))
            .collect();
        let findings = changed("runtimes/ticks.md", &without);
        assert_eq!(
            brief(&findings),
            [("front-matter", "knowledge/runtimes/ticks.md")],
            "{key}"
        );
        assert!(findings[0].text.contains(key));
    }
    for (from, to) in [
        ("---\n", ""),
        ("title: Ticks", "title:"),
        ("tags: [lisp]", "tags: []"),
        ("tags: [lisp]", "title: again"),
        ("2026-11-30T19:00:00Z", "yesterday"),
        ("2026-11-30T19:00:00Z", "2026-13-30"),
        ("title: Ticks", "title Ticks"),
    ] {
        let text = CONCEPT.replace(from, to);
        assert!(
            !changed("runtimes/ticks.md", &text).is_empty(),
            "{from} to {to}"
        );
    }
    let listed = CONCEPT.replace("tags: [lisp]", "tags:\n  - lisp\n  - limits");
    assert_eq!(changed("runtimes/ticks.md", &listed), []);
    let unclosed = CONCEPT.replacen("\n---\n", "\n", 1);
    assert_eq!(changed("runtimes/ticks.md", &unclosed).len(), 1);
}

#[test]
fn the_bundle_says_its_version() {
    let text = "* [Runtimes](runtimes/index.md) - guests\n";
    assert_eq!(
        brief(&changed("index.md", text)),
        [("front-matter", "knowledge/index.md")]
    );
    let text = format!("---\nokf_version: \"0.1\"\n---\n{text}");
    assert_eq!(
        brief(&changed("index.md", &text)),
        [("front-matter", "knowledge/index.md")]
    );
}

#[test]
fn every_folder_has_an_index_that_lists_what_is_in_it() {
    assert_eq!(
        brief(&changed("runtimes/index.md", "# Runtimes\n")),
        [("index", "knowledge/runtimes/index.md")]
    );
    let findings = changed("index.md", "---\nokf_version: \"0.2\"\n---\n");
    assert_eq!(brief(&findings), [("index", "knowledge/index.md")]);
    let findings = check(&bundle(&[
        ("runtimes/index.md", ""),
        ("index.md", "---\nokf_version: \"0.2\"\n---\n"),
    ]));
    assert_eq!(brief(&findings), [("index", "knowledge/runtimes/index.md")]);
    let findings = changed("runtimes/deep/one.md", CONCEPT);
    assert_eq!(
        brief(&findings),
        [("index", "knowledge/runtimes/deep/index.md")]
    );
}

#[test]
fn links_are_relative() {
    let text = format!("{CONCEPT}\nSee [it](/runtimes/ticks.md).\n");
    let findings = changed("runtimes/ticks.md", &text);
    assert_eq!(
        brief(&findings),
        [("link", "knowledge/runtimes/ticks.md:11")]
    );
}

#[test]
fn the_log_goes_from_new_to_old() {
    for text in [
        "# Log\n",
        "## 2026-11-02\n\n## 2026-11-30\n",
        "## 2026-11-30\n\n## 2026-11-30\n",
        "## November\n",
    ] {
        let findings = changed("log.md", text);
        assert_eq!(brief(&findings), [("log", "knowledge/log.md")], "{text:?}");
    }
}
