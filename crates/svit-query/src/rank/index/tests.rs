//! The index against a fresh one, and what a question of each form finds.

use proptest::prelude::*;
use svit_tree::{Mutation, apply};
use svit_value::{List, Map, value};

use super::oracle::{self, Query, WORDS};
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
fn what_is_excluded_may_be_anything_a_query_can_be() {
    let notes = [
        "teal",
        "a red door, teal",
        "red teal",
        "x",
        "red door teal again",
    ];
    let value = value!({"notes": List::from_values(notes).unwrap()});
    let index = RankIndex::new(&value).unwrap();
    for (query, expected) in [
        ("teal -\"red door\"", &["/notes/0", "/notes/2"][..]),
        ("teal -(red door)", &["/notes/0"]),
        ("teal -(+red -door)", &["/notes/0", "/notes/1", "/notes/4"]),
        ("teal -(again OR \"a red\")", &["/notes/0", "/notes/2"]),
        ("teal -key:0", &["/notes/1", "/notes/2", "/notes/4"]),
    ] {
        let mut found = paths(&index, "/notes", query);
        found.sort();
        assert_eq!(found, expected, "{query}");
    }
}

#[test]
fn a_query_has_the_parts_that_are_promised_and_no_others() {
    let index = RankIndex::new(&value!({"a": "teal door"})).unwrap();
    for query in [
        "teal^2",
        "[a TO b]",
        "*",
        "\"teal do\"*",
        "below:a",
        "nothing:a",
        "teal AND",
        "-teal",
    ] {
        let error = index
            .rank(&Path::root(), query, &RankOptions::default())
            .map(|found| found.len());
        match error {
            Err(error) => assert_eq!(error.code(), "bad_query", "{query}"),
            Ok(found) => panic!("{query}: {found}"),
        }
    }
    assert!(paths(&index, "/", "").is_empty());
    assert_eq!(paths(&index, "/", "teal-door"), ["/a"]);
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

/// Scores are floats of 32 bits, rounded to 1/1024; the obvious ones are of 64 and are not.
const TOLERANCE: f64 = 1.0 / 1024.0;

/// All matches: the same texts, each with its score, the better before the worse, and of equal ones the first path first.
fn agrees(
    index: &RankIndex,
    value: &Value,
    below: &Path,
    query: &Query,
) -> Result<(), TestCaseError> {
    let text = query.text();
    let options = RankOptions {
        max_matches: 10_000,
        ..RankOptions::default()
    };
    let ours = index.rank(below, &text, &options).unwrap();
    let obvious: BTreeMap<Path, f64> = oracle::rank(value, below, query).into_iter().collect();
    let mut paths: Vec<_> = ours.iter().map(|ranked| ranked.path.clone()).collect();
    paths.sort();
    prop_assert_eq!(
        &paths,
        &obvious.keys().cloned().collect::<Vec<_>>(),
        "{}",
        &text
    );
    for ranked in &ours {
        let expected = obvious[&ranked.path];
        let apart = (f64::from(ranked.score) - expected).abs();
        prop_assert!(apart <= TOLERANCE, "{}: {} {expected}", &text, ranked.score);
    }
    for pair in ours.windows(2) {
        let before = pair[0].score > pair[1].score;
        let tie = pair[0].score == pair[1].score && pair[0].path < pair[1].path;
        prop_assert!(before || tie, "{}: {pair:?}", &text);
        prop_assert!(obvious[&pair[0].path] > obvious[&pair[1].path] - 2.0 * TOLERANCE);
    }
    let few = RankOptions {
        max_matches: 3,
        ..RankOptions::default()
    };
    let few = index.rank(below, &text, &few).unwrap();
    prop_assert_eq!(&few[..], &ours[..ours.len().min(3)]);
    Ok(())
}

fn phrase() -> impl Strategy<Value = Value> {
    let word =
        prop_oneof![5 => prop::sample::select(&WORDS[..]), 1 => Just("Teal!"), 1 => Just("--")];
    proptest::collection::vec(word, 0..12).prop_map(|words| Value::from(words.join(" ")))
}

fn names() -> impl Strategy<Value = String> {
    let word = prop::sample::select(&WORDS[..]).prop_map(str::to_owned);
    prop_oneof!["[abc]", word, Just("red teal door".to_owned())]
}

fn forest() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![6 => phrase(), 1 => Just(Value::from(7))];
    leaf.prop_recursive(4, 60, 6, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..6).prop_map(|values| List::from_values(
                values
            )
            .unwrap()
            .into()),
            proptest::collection::vec((names(), inner), 0..6)
                .prop_map(|entries| Map::from_entries(entries).unwrap().into()),
        ]
    })
}

/// Every place of a tree.
fn places(value: &Value, path: &Path, all: &mut Vec<Path>) {
    all.push(path.clone());
    for (key, child) in value.as_map().into_iter().flatten() {
        places(child, &path.join(key).unwrap(), all);
    }
    for (at, child) in value.as_list().into_iter().flatten().enumerate() {
        places(child, &path.join(&at.to_string()).unwrap(), all);
    }
}

#[derive(Clone, Debug)]
enum Edit {
    Set(Value),
    SetChild(String, Value),
    Remove,
    Append(Vec<Value>),
    Truncate(u64),
}

fn edits() -> impl Strategy<Value = Edit> {
    prop_oneof![
        4 => phrase().prop_map(Edit::Set),
        1 => forest().prop_map(Edit::Set),
        3 => (names(), forest()).prop_map(|(name, value)| Edit::SetChild(name, value)),
        3 => Just(Edit::Remove),
        2 => proptest::collection::vec(phrase(), 1..4).prop_map(Edit::Append),
        1 => (0u64..3).prop_map(Edit::Truncate),
    ]
}

/// The value after an edit at one of its places; as it was where the edit does not fit.
fn edited(value: &Value, at: prop::sample::Index, edit: &Edit) -> Value {
    let mut all = Vec::new();
    places(value, &Path::root(), &mut all);
    let path = all[at.index(all.len())].clone();
    let edit = match edit {
        Edit::Set(new) => Mutation::set(path, new.clone()),
        Edit::SetChild(name, new) => Mutation::set(path.join(name).unwrap(), new.clone()),
        Edit::Remove => Mutation::remove(path),
        Edit::Append(values) => Mutation {
            path,
            op: Op::Append(List::from_values(values.clone()).unwrap()),
        },
        Edit::Truncate(len) => Mutation {
            path,
            op: Op::Truncate(*len),
        },
    };
    apply(value, &[edit]).unwrap_or_else(|_| value.clone())
}

/// What the parser of tantivy 0.27 makes of a group whose parts are all alike. Should it change, the limitation that
/// says so goes.
#[test]
fn the_sign_of_parts_that_are_all_alike_is_read_before_their_parentheses() {
    let index = RankIndex::new(&value!(["red", "teal red"])).unwrap();
    let found = |query: &str| {
        let found = index.rank(&Path::root(), query, &RankOptions::default());
        found.unwrap().len()
    };
    assert_eq!((found("(+teal) red"), found("(+teal +door) red")), (2, 2));
    assert_eq!((found("+teal red"), found("(+teal +teal) red")), (1, 1));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn it_ranks_as_the_formula_says(
        value in forest(), queries in proptest::collection::vec(oracle::queries(), 1..6), at in any::<prop::sample::Index>()
    ) {
        let index = RankIndex::new(&value).unwrap();
        let mut all = Vec::new();
        places(&value, &Path::root(), &mut all);
        for query in &queries {
            agrees(&index, &value, &Path::root(), query)?;
            agrees(&index, &value, &all[at.index(all.len())], query)?;
        }
    }

    #[test]
    fn after_any_edits_it_ranks_as_the_formula_says_and_as_a_fresh_one(
        start in forest(),
        edits in proptest::collection::vec((any::<prop::sample::Index>(), edits()), 1..20),
        queries in proptest::collection::vec(oracle::queries(), 1..4),
    ) {
        let mut value = start;
        let mut followed = RankIndex::new(&value).unwrap();
        for (at, edit) in &edits {
            value = edited(&value, *at, edit);
            followed.update(&value).unwrap();
        }
        let fresh = RankIndex::new(&value).unwrap();
        prop_assert_eq!(followed.root(), value.digest());
        for query in &queries {
            agrees(&followed, &value, &Path::root(), query)?;
            let options = RankOptions { max_matches: 10_000, ..RankOptions::default() };
            prop_assert_eq!(
                followed.rank(&Path::root(), &query.text(), &options).unwrap(),
                fresh.rank(&Path::root(), &query.text(), &options).unwrap()
            );
        }
    }
}

/// The same changes to 1x, 10x and 100x as many notes touch the same number of texts.
#[test]
fn an_update_touches_what_changed_however_much_there_is() {
    let mut touched = Vec::new();
    for count in [100_usize, 1_000, 10_000] {
        let note = |at: usize| Value::from(format!("note {at} about a teal door"));
        let mut list = List::from_values((0..count).map(note)).unwrap();
        let more = value!({"a": "one", "b": {"c": "two"}});
        let whole =
            |list: &List, more: &Value| value!({"more": more.clone(), "notes": list.clone()});
        let mut index = RankIndex::new(&whole(&list, &more)).unwrap();
        let mut counts = vec![index.update(&whole(&list, &more)).unwrap()];
        for at in [0, count / 2, count - 1] {
            list.set(at, "changed").unwrap();
        }
        counts.push(index.update(&whole(&list, &more)).unwrap());
        list.extend([note(1), note(2)]).unwrap();
        counts.push(index.update(&whole(&list, &more)).unwrap());
        list.truncate(count - 1);
        counts.push(index.update(&whole(&list, &more)).unwrap());
        counts.push(index.update(&whole(&list, &Value::Null)).unwrap());
        let found = index.rank(&Path::root(), "changed", &RankOptions::default());
        assert_eq!(found.unwrap().len(), 2);
        touched.push(counts);
    }
    let counted: Vec<_> = touched[0]
        .iter()
        .map(|updated| (updated.added, updated.removed))
        .collect();
    assert_eq!(counted, [(0, 0), (3, 3), (2, 0), (0, 3), (0, 2)]);
    assert_eq!(touched[1], touched[0]);
    assert_eq!(touched[2], touched[0]);
}
