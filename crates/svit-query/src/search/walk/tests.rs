//! Tests of the search: against a slow obvious one on random trees, its bounds, its price.

use std::time::{Duration, Instant};

use proptest::prelude::*;
use svit_tree::guest::{Meter, OutOfTicks};
use svit_tree::{Path, lookup};
use svit_value::{Map, Value, value};

use super::{Bound, Cut, Found, Hit, Part, SearchOptions, search};
use crate::QueryError;
use crate::linear::oracle::{self, Node};
use crate::search::Pattern;
use crate::search::pattern::tests::hostile;

const MANY: u64 = 1 << 40;

fn run(value: &Value, pattern: &Pattern, options: &SearchOptions) -> (Found, u64) {
    let meter = Meter::new(MANY);
    let found = search(value, &Path::root(), pattern, options, &meter).unwrap();
    (found, meter.used())
}

/// The places of a tree in order: each with its key and its text, or without a path if none can name
/// it.
fn places(value: &Value, path: Option<Path>, key: Option<&str>, out: &mut Vec<Place>) {
    out.push(Place {
        path: path.clone(),
        key: key.map(str::to_owned),
        text: value.as_str().map(str::to_owned),
    });
    let Some(path) = path else { return };
    if let Some(map) = value.as_map() {
        for (key, child) in map.iter() {
            places(child, path.join(key).ok(), Some(key), out);
        }
    }
    if let Some(list) = value.as_list() {
        for (index, child) in list.iter().enumerate() {
            places(child, path.join(&index.to_string()).ok(), None, out);
        }
    }
}

struct Place {
    path: Option<Path>,
    key: Option<String>,
    text: Option<String>,
}

/// What is looked for, and the same for a slow obvious matcher.
#[derive(Clone, Debug)]
enum Wanted {
    Text(String),
    Regex(Node),
}

/// Every match of a text, by trying each place.
fn ranges(wanted: &Wanted, text: &str) -> Vec<std::ops::Range<usize>> {
    let first = |from: usize| match wanted {
        Wanted::Regex(node) => node.find(text, from),
        Wanted::Text(needle) => (from..text.len())
            .find(|at| text.as_bytes()[*at..].starts_with(needle.as_bytes()))
            .map(|at| at..at + needle.len()),
    };
    let mut found: Vec<std::ops::Range<usize>> = Vec::new();
    while let Some(next) = first(found.last().map_or(0, |last| last.end)) {
        found.push(next);
    }
    found
}

fn obvious(value: &Value, wanted: &Wanted, options: &SearchOptions) -> Found {
    let mut all = Vec::new();
    places(value, Some(Path::root()), None, &mut all);
    let mut found = Found {
        hits: Vec::new(),
        cut: None,
        nodes: 0,
        unnamed: 0,
        failures: Vec::new(),
        more_failures: 0,
    };
    for place in all {
        let Some(path) = place.path else {
            found.unnamed += 1;
            continue;
        };
        if found.nodes == options.max_nodes {
            found.cut = Some(Cut {
                bound: Bound::Nodes,
                at: path,
            });
            return found;
        }
        found.nodes += 1;
        for (part, text) in [(Part::Key, place.key), (Part::Text, place.text)] {
            for range in text.iter().flat_map(|text| ranges(wanted, text)) {
                if found.hits.len() == options.max_hits {
                    found.cut = Some(Cut {
                        bound: Bound::Hits,
                        at: path,
                    });
                    return found;
                }
                // The excerpt is tested beside its code; here it is all of the text.
                found.hits.push(Hit {
                    path: path.clone(),
                    part,
                    range,
                    excerpt: text.as_deref().unwrap_or_default().into(),
                    excerpt_start: 0,
                });
            }
        }
    }
    found
}

fn texts() -> impl Strategy<Value = String> {
    prop_oneof![
        "[ab]{0,12}",
        "[abé/~. ]{0,6}",
        oracle::texts(),
        Just(".".to_owned()),
        Just("a\0".to_owned())
    ]
}

fn trees() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        4 => texts().prop_map(Value::from),
        1 => any::<i64>().prop_map(Value::from),
        1 => Just(Value::Null),
        1 => Just(Value::from(svit_value::Bytes::from(&b"aabb"[..]))),
    ];
    leaf.prop_recursive(5, 60, 12, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..12)
                .prop_map(|items| svit_value::List::from_values(items).unwrap().into()),
            prop::collection::vec((texts(), inner), 0..8).prop_map(|entries| Map::from_entries(
                entries
            )
            .unwrap()
            .into()),
        ]
    })
}

fn patterns() -> impl Strategy<Value = (Pattern, Wanted)> {
    let plain = "[abé]{1,3}".prop_map(|text| (Pattern::text(&text).unwrap(), Wanted::Text(text)));
    // Those that match the empty text are refused, and tested beside their code.
    let regex = oracle::patterns().prop_filter_map("it matches the empty text", |node| {
        let pattern = Pattern::regex(&node.text()).ok()?;
        Some((pattern, Wanted::Regex(node)))
    });
    prop_oneof![1 => plain, 3 => regex]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn it_finds_what_a_slow_obvious_search_finds(
        tree in trees(), (pattern, wanted) in patterns(), max_nodes in 0u64..80, max_hits in 0usize..30
    ) {
        let options = SearchOptions { max_nodes, max_hits, max_excerpt: 1_000, ..SearchOptions::default() };
        let (found, ticks) = run(&tree, &pattern, &options);
        prop_assert_eq!(&found, &obvious(&tree, &wanted, &options));
        prop_assert_eq!(run(&tree, &pattern, &options), (found, ticks));
    }

    #[test]
    fn a_hit_is_where_it_says(tree in trees(), (pattern, _) in patterns(), max_excerpt in 0usize..20) {
        let options = SearchOptions { max_excerpt, ..SearchOptions::default() };
        for hit in run(&tree, &pattern, &options).0.hits {
            let whole = match hit.part {
                Part::Key => hit.path.name().unwrap(),
                Part::Text => lookup(&tree, &hit.path).unwrap().as_str().unwrap(),
            };
            prop_assert!(!hit.range.is_empty() && whole.get(hit.range.clone()).is_some());
            let shown = hit.excerpt_start..hit.excerpt_start + hit.excerpt.len();
            prop_assert_eq!(&whole[shown.clone()], hit.excerpt.as_str());
            prop_assert!(hit.excerpt.len() <= max_excerpt && shown.start <= hit.range.start);
        }
    }

    #[test]
    fn every_smaller_budget_stops_it_and_the_exact_one_does_not(
        tree in trees(), (pattern, _) in patterns(), part in 0.0f64..1.0
    ) {
        let options = SearchOptions::default();
        let (found, ticks) = run(&tree, &pattern, &options);
        let exact = Meter::new(ticks);
        prop_assert_eq!(search(&tree, &Path::root(), &pattern, &options, &exact), Ok(found));
        for budget in [0, ticks - 1, (ticks as f64 * part) as u64] {
            let short = Meter::new(budget);
            let stopped = search(&tree, &Path::root(), &pattern, &options, &short);
            prop_assert_eq!(stopped, Err(QueryError::OutOfTicks(OutOfTicks { budget })));
            prop_assert_eq!(short.left(), 0);
        }
    }
}

fn paths(found: &Found) -> Vec<String> {
    found
        .hits
        .iter()
        .map(|hit| format!("{} {}", hit.path, hit.part.as_str()))
        .collect()
}

#[test]
fn hits_come_in_tree_order_key_before_text() {
    let list: Vec<Value> = (0..12).map(|_| Value::from("x")).collect();
    let tree = value!({
        "b": {"x": "x x"},
        "a": svit_value::List::from_values(list).unwrap(),
        "x": 1,
    });
    let (found, _) = run(
        &tree,
        &Pattern::text("x").unwrap(),
        &SearchOptions::default(),
    );
    let mut expected: Vec<String> = (0..12).map(|i| format!("/a/{i} text")).collect();
    expected.extend(["/b/x key", "/b/x text", "/b/x text", "/x key"].map(str::to_owned));
    assert_eq!(paths(&found), expected);
    assert_eq!(found.nodes, 17);
}

#[test]
fn the_place_to_start_from_may_be_a_text_a_list_or_nothing() {
    let tree = value!({"a": {"list": ["one", "two"]}, "n": 1});
    let one = Pattern::text("o").unwrap();
    let at = |path: &str| {
        let path = Path::parse(path).unwrap();
        search(
            &tree,
            &path,
            &one,
            &SearchOptions::default(),
            &Meter::new(MANY),
        )
        .map(|f| paths(&f))
    };
    assert_eq!(at("/a/list").unwrap(), ["/a/list/0 text", "/a/list/1 text"]);
    assert_eq!(at("/a/list/1").unwrap(), ["/a/list/1 text"]);
    assert_eq!(at("/n").unwrap(), Vec::<String>::new());
    for missing in ["/x", "/n/0", "/a/list/2", "/a/list/01"] {
        let error = at(missing).unwrap_err();
        assert_eq!(error.to_string(), format!("there is nothing at {missing}"));
        assert_eq!(error.code(), "missing");
    }
}

#[test]
fn a_bound_is_told_only_when_it_cut() {
    let tree = value!({"a": "xx", "b": "x"});
    let x = Pattern::text("x").unwrap();
    let cut = |max_nodes, max_hits| {
        let options = SearchOptions {
            max_nodes,
            max_hits,
            ..SearchOptions::default()
        };
        run(&tree, &x, &options)
            .0
            .cut
            .map(|cut| (cut.bound.as_str(), cut.at.to_string()))
    };
    assert_eq!(cut(3, 3), None);
    assert_eq!(cut(2, 3), Some(("max_nodes", "/b".to_owned())));
    assert_eq!(cut(0, 3), Some(("max_nodes", "/".to_owned())));
    assert_eq!(cut(3, 2), Some(("max_hits", "/b".to_owned())));
    assert_eq!(cut(3, 1), Some(("max_hits", "/a".to_owned())));
    assert_eq!(cut(3, 0), Some(("max_hits", "/a".to_owned())));
}

#[test]
fn what_no_path_can_name_is_left_out_and_counted() {
    let mut deep = value!("x");
    for _ in 0..100 {
        deep = value!({"x": deep});
    }
    let (found, _) = run(
        &deep,
        &Pattern::text("x").unwrap(),
        &SearchOptions::default(),
    );
    assert_eq!((found.hits.len(), found.nodes, found.unnamed), (64, 65, 1));

    let long = "x".repeat(5_000);
    let odd = Map::from_entries([
        ("", "x"),
        ("..", "x"),
        ("x\0", "x"),
        (&*long, "x"),
        ("x", "x"),
    ])
    .unwrap();
    let (found, _) = run(
        &odd.into(),
        &Pattern::text("x").unwrap(),
        &SearchOptions::default(),
    );
    assert_eq!(paths(&found), ["/x key", "/x text"]);
    assert_eq!((found.unnamed, found.cut), (4, None));
}

#[test]
fn prices_are_pinned() {
    let price = |tree: Value, pattern: &str| {
        run(
            &tree,
            &Pattern::regex(pattern).unwrap(),
            &SearchOptions::default(),
        )
        .1
    };
    assert_eq!(price(value!(1), "a"), 1);
    assert_eq!(price(value!(""), "a"), 2);
    assert_eq!(price(value!({"k": 1}), "a"), 3, "two nodes and a key");
    let text = |n: usize| Value::from("b".repeat(n));
    assert_eq!(price(text(63), "a"), 2);
    assert_eq!(price(text(64), "a"), 3);
    assert_eq!(price(text(640), "a"), 12);
    assert_eq!(price(text(640), "aaaa"), 42);
    // Each byte is read once: to the end of a match and one byte on, and then the rest, which finds none.
    assert_eq!(
        price(Value::from("b".repeat(64) + "a" + &"b".repeat(64)), "a"),
        1 + 2 + 2
    );
}

#[test]
fn hostile_patterns_stop_at_the_same_tick_and_within_a_time_that_the_ticks_bound() {
    let mut state = 12_345_u32;
    let mixed: String = (0..1 << 14)
        .map(|_| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            if state >> 31 == 0 { 'a' } else { 'b' }
        })
        .collect();
    let tree = value!({"same": "a".repeat(1 << 14), "mixed": mixed, "long": "A".repeat(1 << 14)});
    for pattern in hostile() {
        let Ok(pattern) = Pattern::regex(&pattern) else {
            continue;
        };
        let options = SearchOptions {
            max_hits: 1_000,
            ..SearchOptions::default()
        };
        let mut stops = Vec::new();
        for budget in [200_000, 200_000, MANY] {
            let meter = Meter::new(budget);
            let started = Instant::now();
            let result = search(&tree, &Path::root(), &pattern, &options, &meter);
            let took = started.elapsed();
            if budget < MANY {
                stops.push(result.map(|found| (found, meter.used())));
            }
            // A tick is a microsecond at most on the slowest machine that we know; debug builds are
            // slower by a factor, and tests share the machine.
            let bound = Duration::from_secs(2) + Duration::from_micros(meter.used()) * 20;
            assert!(
                took < bound,
                "{pattern:?}: {took:?} for {} ticks",
                meter.used()
            );
        }
        assert_eq!(stops[0], stops[1], "{pattern:?}");
    }
}
