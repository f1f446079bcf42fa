//! Patterns: what compiles finds what it says it finds, in time and ticks that are bounded, and in a mount the same.

use svit_query::search::{
    MountLimits, MountNode, Part, Pattern, SearchOptions, search, search_mounted,
};
use svit_tree::guest::Meter;
use svit_tree::{Path, lookup};
use svit_value::{Value, value};

/// A pattern, whether it is a regular expression, and a text.
pub type Input<'a> = (&'a str, bool, &'a str);

/// Compiles and searches.
pub fn check((text, regex, notes): Input<'_>) {
    let pattern = if regex {
        Pattern::regex(text)
    } else {
        Pattern::text(text)
    };
    let pattern = match pattern {
        Ok(pattern) => pattern,
        Err(error) => {
            assert!(!error.to_string().is_empty() && !error.is_hard());
            return;
        }
    };
    assert_eq!(pattern.as_str(), text);
    let tree = value!({"notes": [notes, "fixed text"], "more": notes});
    let meter = Meter::new(100_000);
    let Ok(found) = search(
        &tree,
        &Path::root(),
        &pattern,
        &SearchOptions::default(),
        &meter,
    ) else {
        assert_eq!(meter.left(), 0);
        return;
    };
    for hit in &found.hits {
        assert!(!hit.range.is_empty());
        if hit.part == Part::Text {
            let whole = lookup(&tree, &hit.path)
                .and_then(Value::as_str)
                .expect("a text");
            let matched = &whole[hit.range.clone()];
            assert!(regex || matched == text);
            assert!(whole[hit.excerpt_start..].starts_with(hit.excerpt.as_str()));
        }
    }
    let exact = Meter::new(meter.used());
    let again = search(
        &tree,
        &Path::root(),
        &pattern,
        &SearchOptions::default(),
        &exact,
    );
    assert_eq!(again.as_ref(), Ok(&found));

    // The same in a mount.
    let root = value!({"mounts": {"m": {"kind": "fuzz"}}});
    let mounts = |path: &Path, _: MountLimits| {
        let inside = path.to_string();
        Ok(match inside.strip_prefix("/mounts/m") {
            Some("") => Some(MountNode::Entries(vec!["notes".into(), "more".into()])),
            Some("/notes") => Some(MountNode::Elements(2)),
            Some("/notes/0" | "/more") => Some(MountNode::Value(notes.into())),
            Some("/notes/1") => Some(MountNode::Value("fixed text".into())),
            _ => None,
        })
    };
    let mount = Path::parse("/mounts/m").expect("a path");
    let options = SearchOptions::default();
    let mounted = search_mounted(
        &root,
        &mounts,
        &mount,
        &pattern,
        &options,
        &Meter::new(1 << 40),
    );
    let mounted = mounted.expect("enough ticks");
    assert_eq!(mounted.nodes, found.nodes);
    assert_eq!(mounted.hits.len(), found.hits.len());
    for (hit, inside) in found.hits.iter().zip(&mounted.hits) {
        assert_eq!(format!("/mounts/m{}", hit.path), inside.path.to_string());
        assert_eq!((&hit.range, &hit.excerpt), (&inside.range, &inside.excerpt));
    }
}
