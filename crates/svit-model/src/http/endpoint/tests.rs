//! Base URLs as people write them.

use super::*;

const FORM: Form = Form {
    standard: "https://models.example/v1/",
    example: "https://models.example",
    version: Some("v1"),
    surplus: &["/messages"],
};

#[test]
fn the_version_is_added_where_none_stands() {
    for (text, expected) in [
        ("https://models.example", "https://models.example/v1/"),
        ("https://models.example/v1/", "https://models.example/v1/"),
        ("http://h:1/gateway", "http://h:1/gateway/v1/"),
        ("http://h:1/v2beta", "http://h:1/v2beta/"),
        ("http://h:1/v2/project/", "http://h:1/v2/project/"),
        ("http://h:1/vault", "http://h:1/vault/v1/"),
    ] {
        let endpoint = Endpoint::parse(text, &FORM).unwrap();
        assert_eq!(endpoint.shown(), expected, "{text}");
        assert_eq!(endpoint.is_standard(), expected == FORM.standard, "{text}");
    }
    let error = Endpoint::parse("http://h/v1/messages", &FORM).unwrap_err();
    assert!(error.to_string().contains("leave /messages off"), "{error}");
}

#[test]
fn a_query_of_the_base_url_goes_along_and_is_not_shown() {
    let endpoint = Endpoint::parse("http://h/v1?token=hidden", &FORM).unwrap();
    assert_eq!(endpoint.shown(), "http://h/v1/");
    assert_eq!(
        endpoint.at("messages", Some("alt=sse")),
        "http://h/v1/messages?token=hidden&alt=sse"
    );
    let plain = Endpoint::standard(&FORM);
    assert_eq!(
        plain.at("messages", None),
        "https://models.example/v1/messages"
    );
}
