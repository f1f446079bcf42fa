//! Every refusal of an address, at its byte.

use super::*;

fn refusal(text: &str) -> (usize, &'static str) {
    match Address::parse(text) {
        Err(TreeError::BadAddress { at, why, .. }) => (at, why),
        other => panic!("{text:?} gave {other:?}"),
    }
}

#[test]
fn every_refusal_names_its_byte() {
    let scheme = "an address starts with `svit://`";
    let authority = "the authority is of `a-z 0-9 - .`";
    let segment = "a segment is of `A-Z a-z 0-9 - . _ ~`";
    let dots = "`.` and `..` are not allowed";
    let rows: &[(&str, usize, &str)] = &[
        ("", 0, scheme),
        ("svit:/a/b", 0, scheme),
        ("SVIT://a/b", 0, scheme),
        (" svit://a/b", 0, scheme),
        ("http://a/b", 0, scheme),
        ("svit://", 7, "the authority is empty"),
        ("svit:///b", 7, "the authority is empty"),
        (
            "svit://a",
            8,
            "an address has at least one segment after the authority",
        ),
        ("svit://a/", 9, "a segment is empty"),
        ("svit://a//b", 9, "a segment is empty"),
        ("svit://a/b/", 11, "a segment is empty"),
        ("svit://aB/c", 8, authority),
        ("svit://a_b/c", 8, authority),
        ("svit://a:1/c", 8, authority),
        ("svit://user@a/c", 11, authority),
        ("svit://../c", 7, dots),
        ("svit://a/.", 9, dots),
        ("svit://a/b/../c", 11, dots),
        ("svit://a/b c", 10, segment),
        ("svit://a/b%20c", 10, segment),
        ("svit://a/b?c", 10, segment),
        ("svit://a/b#c", 10, segment),
        ("svit://a/\u{e9}", 9, segment),
        ("svit://a/b\0", 10, segment),
        ("svit://a/b\n", 10, segment),
    ];
    for &(text, at, why) in rows {
        assert_eq!(refusal(text), (at, why), "{text:?}");
    }
}

#[test]
fn the_text_form_is_kept() {
    for text in [
        "svit://a/b",
        "svit://local/persisted/demo",
        "svit://a-1.example.org/A_b~c.d-e/...",
        "svit://0/0",
    ] {
        let address = Address::parse(text).unwrap();
        assert_eq!(
            (address.as_str(), address.to_string().as_str()),
            (text, text)
        );
        assert_eq!(address.to_text().as_str(), text);
    }
}

#[test]
fn the_length_is_bounded_at_its_edge() {
    let text = |len: usize| format!("svit://a/{}", "b".repeat(len - 9));
    for len in [MAX_ADDRESS_BYTES - 1, MAX_ADDRESS_BYTES] {
        assert_eq!(Address::parse(&text(len)).unwrap().as_str().len(), len);
    }
    let why = "longer than 512 bytes";
    assert_eq!(
        refusal(&text(MAX_ADDRESS_BYTES + 1)),
        (MAX_ADDRESS_BYTES, why)
    );
}
