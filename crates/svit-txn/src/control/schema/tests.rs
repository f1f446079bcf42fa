//! The patterns of the schema say what the parsers of the code say.

use proptest::prelude::*;
use regex_automata::meta::Regex;
use svit_tree::{Address, MAX_ADDRESS_BYTES, MAX_PATH_BYTES, MAX_SEGMENTS, Path};

use super::{address_pattern, path_pattern};
use crate::ids::{MAX_ID_BYTES, id_pattern, is_id};

/// Texts that are nearly right.
fn nearly() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        4 => "[a-z]{1,3}",
        1 => "[A-Z0-9_~.-]{1,4}",
        1 => Just("..".to_owned()),
        1 => Just(".".to_owned()),
        1 => Just("...".to_owned()),
        1 => Just("~0~1".to_owned()),
        1 => Just(String::new()),
        1 => any::<char>().prop_map(String::from),
    ];
    let start = prop_oneof![
        4 => Just("svit://"),
        4 => Just("/"),
        1 => Just(""),
    ];
    (start, prop::collection::vec(part, 0..5))
        .prop_map(|(start, parts)| format!("{start}{}", parts.join("/")))
}

proptest! {
    #[test]
    fn patterns_agree_with_the_code(text in nearly()) {
        let matches = |pattern: String| Regex::new(&pattern).unwrap().is_match(&text);
        prop_assert_eq!(matches(address_pattern()), Address::parse(&text).is_ok());
        prop_assert_eq!(matches(path_pattern()), Path::parse(&text).is_ok());
        prop_assert_eq!(matches(id_pattern()), is_id(&text));
    }
}

#[test]
fn lengths_agree_with_the_code() {
    let fits = |pattern: String, max: usize, text: &str| {
        text.chars().count() <= max && Regex::new(&pattern).unwrap().is_match(text)
    };
    for extra in [0, 1] {
        let id = "x".repeat(MAX_ID_BYTES + extra);
        assert_eq!(fits(id_pattern(), MAX_ID_BYTES, &id), is_id(&id));
        let address = format!("svit://a/{}", "x".repeat(MAX_ADDRESS_BYTES - 9 + extra));
        let expected = Address::parse(&address).is_ok();
        assert_eq!(
            fits(address_pattern(), MAX_ADDRESS_BYTES, &address),
            expected
        );
        assert_eq!(expected, extra == 0);
        let path = format!("/{}", "x".repeat(MAX_PATH_BYTES - 1 + extra));
        let expected = Path::parse(&path).is_ok();
        assert_eq!(fits(path_pattern(), MAX_PATH_BYTES, &path), expected);
        assert_eq!(expected, extra == 0);
        let path = "/x".repeat(MAX_SEGMENTS + extra);
        let expected = Path::parse(&path).is_ok();
        assert_eq!(fits(path_pattern(), MAX_PATH_BYTES, &path), expected);
        assert_eq!(expected, extra == 0);
    }
}
