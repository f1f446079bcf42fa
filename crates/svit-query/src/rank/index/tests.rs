//! The index against a fresh one, and what a question of each form finds.

use proptest::prelude::*;
use svit_value::{List, Map, value};

use super::*;

fn paths(index: &RankIndex, below: &str, query: &str) -> Vec<String> {
    let below = Path::parse(below).unwrap();
    let found = index.rank(&below, query, &RankOptions::default()).unwrap();
    found.iter().map(|ranked| ranked.path.to_string()).collect()
}

#[test]
fn words_phrases_keys_and_subtrees() {
    let value = value!({
        "a": {"color": "the release color is teal", "b": ["teal teal", "paint it red"]},
        "c": {"teal": "no such word", "d": "red and teal"},
    });
    let index = RankIndex::new(&value).unwrap();
    assert_eq!(paths(&index, "/", "teal"), ["/a/b/0", "/c/d", "/a/color"]);
    assert_eq!(paths(&index, "/a", "teal"), ["/a/b/0", "/a/color"]);
    assert_eq!(paths(&index, "/", "+teal -red"), ["/a/b/0", "/a/color"]);
    assert_eq!(paths(&index, "/", "\"color is teal\""), ["/a/color"]);
    assert_eq!(paths(&index, "/", "key:teal"), ["/c/teal"]);
    assert!(paths(&index, "/nothing", "teal").is_empty());
    let error = index
        .rank(&Path::root(), "\"open", &RankOptions::default())
        .unwrap_err();
    assert_eq!(error.code(), "bad_query");
}

#[test]
fn a_snippet_shows_the_words() {
    let text = format!(
        "{} the door is teal {}",
        "before ".repeat(50),
        "after ".repeat(50)
    );
    let index = RankIndex::new(&value!({"note": text})).unwrap();
    let found = index
        .rank(&Path::root(), "teal", &RankOptions::default())
        .unwrap();
    let ranked = &found[0];
    assert!(ranked.snippet.len() <= 160);
    assert_eq!(&ranked.snippet[ranked.highlights[0].clone()], "teal");
}

#[test]
fn equally_good_ones_are_in_the_order_of_their_paths() {
    let list = List::from_values((0..300).map(|_| "the same")).unwrap();
    let index = RankIndex::new(&value!({"notes": list})).unwrap();
    let all: Vec<Path> = (0..300)
        .map(|at| Path::parse(&format!("/notes/{at}")).unwrap())
        .collect();
    let mut sorted = all;
    sorted.sort();
    let expected: Vec<_> = sorted.iter().take(10).map(ToString::to_string).collect();
    assert_eq!(paths(&index, "/", "same"), expected);
}

fn text() -> impl Strategy<Value = Value> {
    proptest::collection::vec(prop_oneof!["teal", "red", "door", "ada"], 0..6)
        .prop_map(|words| Value::from(words.join(" ")))
}

fn tree() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![4 => text(), 1 => Just(Value::from(7))];
    leaf.prop_recursive(3, 40, 6, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..6).prop_map(|values| List::from_values(
                values
            )
            .unwrap()
            .into()),
            proptest::collection::vec(("[abc]|teal", inner), 0..6)
                .prop_map(|entries| Map::from_entries(entries).unwrap().into()),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn after_edits_it_answers_as_a_fresh_one(
        versions in proptest::collection::vec(tree(), 1..6), below in "(/[abc]){0,2}"
    ) {
        let below = Path::parse(if below.is_empty() { "/" } else { &below }).unwrap();
        let mut followed = RankIndex::new(&Value::Null).unwrap();
        for version in &versions {
            followed.update(version).unwrap();
        }
        let last = versions.last().unwrap();
        let fresh = RankIndex::new(last).unwrap();
        prop_assert_eq!(followed.root(), last.digest());
        for query in ["teal", "red door", "\"teal red\"", "key:teal ada", "+ada -red"] {
            let options = RankOptions { max_matches: 5, ..RankOptions::default() };
            prop_assert_eq!(
                followed.rank(&below, query, &options).unwrap(),
                fresh.rank(&below, query, &options).unwrap()
            );
        }
    }

    /// Small changes of a large list leave segments in which some texts are deleted and others not.
    #[test]
    fn after_small_edits_too(
        notes in proptest::collection::vec(text(), 30..40),
        edits in proptest::collection::vec((0usize..30, text()), 1..12),
    ) {
        let mut list = List::from_values(notes).unwrap();
        let mut followed = RankIndex::new(&Value::List(list.clone())).unwrap();
        for (at, text) in edits {
            list.set(at, text).unwrap();
            followed.update(&Value::List(list.clone())).unwrap();
        }
        let fresh = RankIndex::new(&Value::List(list)).unwrap();
        for query in ["teal", "red door", "\"teal red\""] {
            let options = RankOptions::default();
            prop_assert_eq!(
                followed.rank(&Path::root(), query, &options).unwrap(),
                fresh.rank(&Path::root(), query, &options).unwrap()
            );
        }
    }
}
