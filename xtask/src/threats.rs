//! Pairs threats with the code that answers them and with the tests that try them.
//!
//! `SECURITY.md` lists threats by id. A line of code that answers one carries a comment
//! `THREAT[TM-AREA-N]`, and so does the test that attacks it: a listed id without either, an id in library
//! code without a test, or one that `SECURITY.md` does not list, is a finding.

use std::collections::{BTreeMap, BTreeSet};

use crate::finding::Finding;
use crate::workspace::TextFile;

const LIST: &str = "SECURITY.md";

pub(crate) fn check(texts: &[TextFile]) -> Vec<Finding> {
    let listed: BTreeSet<&str> = texts
        .iter()
        .filter(|file| file.path == LIST)
        .flat_map(|file| ids(&file.text, "TM-"))
        .collect();
    let mut answered = BTreeMap::new();
    let mut attacked = BTreeSet::new();
    let mut findings = Vec::new();
    let rust = texts
        .iter()
        .filter(|file| file.is_rust() && !file.path.starts_with("xtask/"));
    for file in rust {
        for (number, line) in file.text.lines().enumerate() {
            for id in ids(line, "THREAT[").map(|mark| mark.trim_start_matches("THREAT[")) {
                let place = format!("{}:{}", file.path, number + 1);
                if !listed.contains(id) {
                    let text = format!("{id} is not listed in {LIST}");
                    findings.push(Finding::new("threat", place.clone(), text));
                }
                if file.is_test() || after_tests_begin(file, number) {
                    attacked.insert(id);
                } else {
                    answered.entry(id).or_insert(place);
                }
            }
        }
    }
    for file in texts.iter().filter(|file| file.path == LIST) {
        for (number, line) in file.text.lines().enumerate() {
            let Some(id) = ids(line, "TM-")
                .next()
                .filter(|_| line.starts_with("| TM-"))
            else {
                continue;
            };
            if !answered.contains_key(id) {
                let place = format!("{LIST}:{}", number + 1);
                let text = format!("no code carries THREAT[{id}], which would be its answer");
                findings.push(Finding::new("threat", place, text));
            }
        }
    }
    for (id, place) in answered {
        if !attacked.contains(id) {
            let text = format!("{id} is answered here, but no test carries THREAT[{id}]");
            findings.push(Finding::new("threat", place, text));
        }
    }
    findings
}

/// Tests that stand in the file itself, and not in one of their own.
fn after_tests_begin(file: &TextFile, number: usize) -> bool {
    let lines = file.text.lines().map(str::trim);
    let mut pairs = lines.clone().zip(lines.skip(1));
    pairs
        .position(|(line, next)| line == "#[cfg(test)]" && next.ends_with('{'))
        .is_some_and(|begin| begin < number)
}

/// The words that start so, each to the end of its id: capitals, digits and `-`.
fn ids<'a>(text: &'a str, start: &'static str) -> impl Iterator<Item = &'a str> {
    text.match_indices(start).map(move |(at, _)| {
        let rest = &text[at + start.len()..];
        let is_id = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '-';
        let length = rest.find(|c| !is_id(c)).unwrap_or(rest.len());
        &text[at..at + start.len() + length]
    })
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::finding::brief;
    use crate::workspace::TextFile;

    fn file(path: &str, text: &str) -> TextFile {
        TextFile {
            path: path.to_owned(),
            text: text.to_owned(),
        }
    }

    fn list() -> TextFile {
        file(
            "SECURITY.md",
            "As TM-VALUE-9 was:\n| TM-VALUE-1 | deep nesting |\n",
        )
    }

    #[test]
    fn an_answer_with_its_attack_is_fine_wherever_the_test_stands() {
        let code = file("crates/a/src/decode.rs", "// THREAT[TM-VALUE-1]\n");
        let test = file("crates/a/src/decode/tests.rs", "// THREAT[TM-VALUE-1]\n");
        assert_eq!(check(&[list(), code, test]), []);
        let inline = file(
            "crates/a/src/b.rs",
            "// THREAT[TM-VALUE-1]\n#[cfg(test)]\nmod tests {\n// THREAT[TM-VALUE-1]\n}\n",
        );
        assert_eq!(check(&[list(), inline]), []);
        let beside = file(
            "crates/a/src/c.rs",
            "#[cfg(test)]\nmod tests;\n// THREAT[TM-VALUE-1]\n",
        );
        let test = file("crates/a/src/c/tests.rs", "// THREAT[TM-VALUE-1]\n");
        assert_eq!(check(&[list(), beside, test]), []);
    }

    #[test]
    fn a_listed_threat_that_nothing_answers_is_found() {
        let test = file("crates/a/tests/it/main.rs", "// THREAT[TM-VALUE-1]\n");
        let findings = check(&[list(), test]);
        assert_eq!(brief(&findings), [("threat", "SECURITY.md:2")]);
    }

    #[test]
    fn an_answer_that_nobody_attacks_is_found() {
        let code = file(
            "crates/a/src/decode.rs",
            "\n// THREAT[TM-VALUE-1]: bounded\n",
        );
        let findings = check(&[list(), code]);
        assert_eq!(brief(&findings), [("threat", "crates/a/src/decode.rs:2")]);
    }

    #[test]
    fn a_mark_before_the_tests_of_a_file_is_no_attack() {
        let text = "// THREAT[TM-VALUE-1]\n// THREAT[TM-VALUE-1]\n#[cfg(test)]\nmod tests {\n}\n";
        let findings = check(&[list(), file("crates/a/src/b.rs", text)]);
        assert_eq!(brief(&findings), [("threat", "crates/a/src/b.rs:1")]);
    }

    #[test]
    fn an_id_that_is_not_listed_is_found() {
        let test = file("crates/a/tests/it/main.rs", "// THREAT[TM-VALUE-10]\n");
        let findings = check(&[file("SECURITY.md", ""), test]);
        assert_eq!(
            brief(&findings),
            [("threat", "crates/a/tests/it/main.rs:1")]
        );
    }
}
