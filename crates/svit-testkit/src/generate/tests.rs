//! What is generated covers what it says.

use std::collections::BTreeSet;

use super::*;

#[test]
fn every_action_comes_up_and_every_kind_of_value() {
    let (mut actions, mut kinds) = (BTreeSet::new(), BTreeSet::new());
    for step in steps(1, 2_000) {
        let name = format!("{:?}", step.action);
        let end = name.find(|c: char| !c.is_alphanumeric());
        actions.insert(name[..end.unwrap_or(name.len())].to_owned());
        if let Action::Write { value, .. } = &step.action {
            kinds.insert(value.kind());
        }
    }
    assert_eq!(actions.len(), 16, "{actions:?}");
    assert_eq!(kinds.len(), 8, "{kinds:?}");
}

#[test]
fn numbers_of_a_seed_are_those_of_the_published_generator() {
    let mut random = Random::new(1_234_567);
    let first = [(); 3].map(|()| random.next());
    let published = [
        6_457_827_717_110_365_317,
        3_203_168_211_198_807_973,
        9_817_491_932_198_370_423,
    ];
    assert_eq!(first, published);
}

#[test]
fn values_are_as_deep_as_was_asked_at_most() {
    let mut random = Random::new(3);
    for _ in 0..2_000 {
        for depth in 1..5 {
            assert!(value(&mut random, depth).measure().depth <= depth);
        }
    }
}
