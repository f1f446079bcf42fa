//! The functions that are written in jq. A filter is compiled with those it mentions and no others: with all
//! of them it would take ten times as long.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use jaq_core::load::parse::Def;

const SOURCE: &str = include_str!("defs.jq");

struct Known {
    def: Def<&'static str>,
    /// Names in its text.
    words: BTreeSet<&'static str>,
}

static KNOWN: LazyLock<Vec<Known>> = LazyLock::new(|| {
    let defs = jaq_core::load::parse(SOURCE, |parser| parser.defs()).unwrap_or_default();
    // One a line, in the same order; a test holds it to that.
    let texts = SOURCE.lines();
    defs.into_iter()
        .zip(texts)
        .map(|(def, text)| Known {
            def,
            words: words(text).collect(),
        })
        .collect()
});

/// The names in a text, and more: words in strings too.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '@'))
        .flat_map(|word| [word, word.trim_start_matches(|c: char| c.is_ascii_digit())])
        .filter(|word| !word.is_empty())
}

/// The definitions that a filter may need, in an order in which each is behind those it uses.
pub(super) fn needed_by(filter: &str) -> Vec<Def<&'static str>> {
    let mut names: BTreeSet<&str> = words(filter).collect();
    // `..` and `?//` need none; `.[]?` in other definitions is found by its name there.
    let mut needed = Vec::new();
    // A definition uses only earlier ones and itself, so one pass from the end finds all.
    for known in KNOWN.iter().rev() {
        if names.contains(known.def.name) {
            names.extend(&known.words);
            needed.push(known.def.clone());
        }
    }
    needed.reverse();
    needed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_definition_is_one_line() {
        assert_eq!(KNOWN.len(), SOURCE.lines().count());
        for (known, line) in KNOWN.iter().zip(SOURCE.lines()) {
            assert!(
                line.starts_with(&format!("def {}", known.def.name)),
                "{line}"
            );
        }
    }

    #[test]
    fn a_filter_gets_what_it_mentions_and_what_that_mentions() {
        let names: Vec<_> = needed_by(".a | todate")
            .iter()
            .map(|def| def.name)
            .collect();
        assert_eq!(names, ["todate"]);
        let names: Vec<_> = needed_by("paths").iter().map(|def| def.name).collect();
        assert_eq!(names, ["empty", "select", "paths", "paths"]);
        assert!(needed_by(".a.b | length").is_empty());
    }
}
