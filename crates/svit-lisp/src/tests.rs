//! What only the inside can see: the table is whole, the prelude is sound, the cache is bounded.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::cache::Cache;
use crate::engine::prelude;
use crate::front::{Author, analyze};
use crate::table::{self, Kind, parse_prices};

#[test]
fn every_native_built_in_has_a_price_and_every_price_a_built_in() {
    let priced: BTreeSet<_> = parse_prices(include_str!("../data/ticks.tsv"))
        .into_keys()
        .collect();
    let native: BTreeSet<_> = table::rows()
        .iter()
        .filter(|row| matches!(row.kind, Kind::Native(_)))
        .map(|row| row.name)
        .collect();
    assert_eq!(priced, native);
}

#[test]
fn names_are_unique_and_what_a_script_sees_is_described() {
    let names: BTreeSet<_> = table::rows().iter().map(|row| row.name).collect();
    assert_eq!(names.len(), table::rows().len());
    for row in table::rows().iter().filter(|row| !row.is_internal()) {
        assert!(
            row.signature.starts_with(&format!("({}", row.name)),
            "{}",
            row.name
        );
        assert!(row.summary.ends_with('.'), "{}", row.name);
        assert!(!row.category.is_empty(), "{}", row.name);
    }
}

#[test]
fn the_prelude_is_sound_and_has_every_function_of_the_table() {
    let module = analyze(prelude::source(), &prelude::limits(), Author::Prelude).unwrap();
    assert!(
        module.consts.is_empty(),
        "the prelude's literals are not registered"
    );
    for (index, row) in table::rows().iter().enumerate() {
        if matches!(row.kind, Kind::Prelude) {
            assert!(prelude::prelude().has(index as u16), "{}", row.name);
        }
    }
}

#[test]
fn the_cache_is_bounded_and_tells_programs_and_limits_apart() {
    let cache = Cache::default();
    let limits = prelude::limits();
    let module = |source: &str| {
        let module = analyze(source, &limits, Author::Script).unwrap();
        Arc::new(crate::engine::compile(module, &limits).unwrap())
    };
    for number in 0..1_000 {
        let source = format!("(define (main input) {number})");
        cache.put(&source, &limits, module(&source));
    }
    assert_eq!(cache.len(), 256);
    assert!(cache.get("(define (main input) 0)", &limits).is_none());
    assert!(cache.get("(define (main input) 999)", &limits).is_some());
    let mut other = limits.clone();
    other.max_names -= 1;
    assert!(cache.get("(define (main input) 999)", &other).is_none());

    let long = format!("(define (main input) {})", "1 ".repeat(400));
    for number in 0..100 {
        let source = format!("{long};{}", "x".repeat(1 << 20) + &number.to_string());
        cache.put(&source, &limits, module(&long));
    }
    assert!(cache.len() < 9);
}
