//! What is sent: what was asked for, what the host adds to it, and what nobody may.

use svit_value::{Bytes, Value, value};

use super::{Table, call, ok, redirect, writes};
use crate::Ports;
use crate::http::HttpMethod::{Delete, Patch, Post, Put};
use crate::http::{HttpAllowlist, HttpResponse};

#[test]
fn what_is_asked_is_what_is_sent() {
    let url = "https://api.example.com/v1/x";
    let table = [
        (
            value!({"url": url}),
            "GET https://api.example.com/v1/x",
            None,
        ),
        (
            value!({"url": url, "method": "head", "body": null, "headers": null}),
            "HEAD https://api.example.com/v1/x",
            None,
        ),
        (
            value!({"url": url, "method": "POST", "json": {"a": [1, null]}}),
            "POST https://api.example.com/v1/x content-type=application/json",
            Some(&br#"{"a":[1,null]}"#[..]),
        ),
        (
            value!({"url": url, "method": "PUT", "json": null, "headers": {"Content-Type": "application/x+json"}}),
            "PUT https://api.example.com/v1/x content-type=application/x+json",
            Some(b"null"),
        ),
        (
            value!({"url": url, "method": "PATCH", "body": "t\u{e9}"}),
            "PATCH https://api.example.com/v1/x",
            Some("t\u{e9}".as_bytes()),
        ),
        (
            value!({"url": url, "method": "POST", "body": (Bytes::from(b"\xff"))}),
            "POST https://api.example.com/v1/x",
            Some(b"\xff"),
        ),
        (
            value!({"url": url, "method": "DELETE"}),
            "DELETE https://api.example.com/v1/x",
            None,
        ),
    ];
    for (input, line, body) in table {
        let transport = Table::default();
        call(writes(), &transport, input).unwrap();
        assert_eq!(transport.seen(), [line]);
        let asked = transport.asked.lock().unwrap();
        assert_eq!(asked[0].body.as_ref().map(Bytes::as_slice), body, "{line}");
        assert!(
            asked[0]
                .headers
                .iter()
                .any(|header| header.name() == "user-agent")
        );
    }
}

#[test]
fn a_bad_input_is_refused_before_anything_is_sent() {
    let url = "https://api.example.com/v1/x";
    let post = |rest: Value| {
        let mut input = rest.as_map().cloned().unwrap();
        input.insert("url", url).unwrap();
        if !input.contains_key("method") {
            input.insert("method", "POST").unwrap();
        }
        Value::from(input)
    };
    let table = [
        (value!([]), "bad_input", "input: give a map with url"),
        (value!({}), "bad_input", "url: it is missing"),
        (
            value!({"url": 7}),
            "bad_input",
            "url: it is a text, not int",
        ),
        (
            value!({"url": url, "uri": url}),
            "bad_input",
            "no field \"uri\"",
        ),
        (
            value!({"url": url, "method": "TRACE"}),
            "bad_input",
            "method: it is one of GET",
        ),
        (
            value!({"url": url, "method": "CONNECT"}),
            "bad_input",
            "method: it is one of GET",
        ),
        (
            value!({"url": url, "method": "GET / HTTP/1.1\r\nX: y"}),
            "bad_input",
            "method: ",
        ),
        (
            value!({"url": url, "body": "x"}),
            "bad_input",
            "a GET request has no body",
        ),
        (
            value!({"url": "https://api.example.com/v1/../x"}),
            "bad_url",
            "url: path segments . and ..",
        ),
        (
            value!({"url": "https://other.example/"}),
            "url_not_allowed",
            "https://api.example.com/v1/",
        ),
        (
            post(value!({"body": 7})),
            "bad_input",
            "body: it is a text or bytes",
        ),
        (
            post(value!({"body": "x", "json": 1})),
            "bad_input",
            "body or json, not both",
        ),
        (
            post(value!({"timeout_ms": 0})),
            "bad_input",
            "timeout_ms: it is a positive integer",
        ),
        (
            post(value!({"timeout_ms": "1"})),
            "bad_input",
            "timeout_ms: ",
        ),
        (
            post(value!({"follow_redirects": 1})),
            "bad_input",
            "follow_redirects: it is true or false",
        ),
        (
            post(value!({"headers": []})),
            "bad_input",
            "headers: it is a map",
        ),
        (
            post(value!({"headers": {"accept": 1}})),
            "header_not_allowed",
            "its value is a text",
        ),
        (
            post(value!({"headers": {"x-other": "1"}})),
            "header_not_allowed",
            "not allowed there",
        ),
        (
            post(value!({"headers": {"authorization": "1"}})),
            "header_not_allowed",
            "not allowed there",
        ),
        (
            post(value!({"headers": {"cookie": "1"}})),
            "header_not_allowed",
            "not allowed there",
        ),
        (
            post(value!({"headers": {"Accept": "1", "accept": "2"}})),
            "header_not_allowed",
            "twice",
        ),
        (
            post(value!({"headers": {"": "1"}})),
            "header_not_allowed",
            "a name is",
        ),
        (
            post(value!({"body": ("x".repeat(1_048_577))})),
            "request_too_large",
            "1048577 bytes, at most 1048576",
        ),
    ];
    for (input, code, words) in table {
        let transport = Table::default();
        let (seen, message) = call(writes(), &transport, input.clone()).expect_err(words);
        assert_eq!(seen, code, "{input}");
        assert!(message.contains(words), "{message:?} has no {words:?}");
        assert_eq!(transport.seen(), [""; 0]);
    }
}

#[test]
fn no_header_ends_before_its_end_or_frames_a_message() {
    let names = [
        "host",
        "Host",
        "HOST",
        "content-length",
        "Content_Length",
        "transfer-encoding",
        "transfer_encoding",
        "connection",
        "te",
        "trailer",
        "upgrade",
        "expect",
        "keep-alive",
        "proxy-authorization",
        "proxy-connection",
        "accept-encoding",
        "x-http-method-override",
        "X-HTTP-Method",
        "x_method_override",
        "x-original-url",
        "via",
        ":authority",
        "a b",
        "a:b",
        "a\r\nb",
        "a\0",
        "\u{e9}",
        " accept",
        "accept ",
        "accept\t",
        "(x)",
        "a/b",
    ];
    let any = || HttpAllowlist::unrestricted();
    for name in names {
        let input = value!({"url": "https://example.com/", "headers": {(name): "1"}});
        let transport = Table::default();
        let (code, _) = call(any(), &transport, input).expect_err(name);
        assert_eq!(code, "header_not_allowed", "{name:?}");
        assert!(transport.seen().is_empty());
    }
    let long = "x".repeat(8_193);
    for text in [
        "a\r\nx: y",
        "a\nb",
        "a\rb",
        "a\0b",
        "\u{7f}",
        "\u{e9}",
        "\u{2028}",
        "\u{1b}[2J",
        &long,
    ] {
        let input = value!({"url": "https://example.com/", "headers": {"x-other": text}});
        let (code, _) = call(any(), &Table::default(), input).expect_err(text);
        assert_eq!(code, "header_not_allowed", "{text:?}");
    }
    let good =
        value!({"url": "https://example.com/", "headers": {"X-Other": "a\tb ~", "cookie": "c"}});
    let transport = Table::default();
    call(any(), &transport, good).unwrap();
    assert_eq!(
        transport.seen(),
        ["GET https://example.com/ x-other=a\tb ~ cookie=c"]
    );
}

#[test]
fn a_secret_goes_to_its_entry_alone_and_nothing_that_is_seen_holds_it() {
    let list = || {
        HttpAllowlist::new()
            .allow("https://api.example.com/v1/")
            .header_secret("Authorization", "Bearer sk-hidden")
            .header_secret("x-key", "other-hidden")
            .allow("https://api.example.com/open/")
            .allow("https://docs.example.com/")
    };
    let hidden = |seen: &str| !seen.contains("sk-hidden") && !seen.contains("other-hidden");
    let v1 = || value!({"url": "https://api.example.com/v1/x"});

    let transport = Table::default();
    call(list(), &transport, v1()).unwrap();
    assert_eq!(
        transport.seen(),
        ["GET https://api.example.com/v1/x authorization=Bearer sk-hidden x-key=other-hidden"]
    );
    assert!(hidden(&format!("{:?}", transport.asked.lock().unwrap())));

    for url in [
        "https://api.example.com/open/x",
        "https://docs.example.com/",
    ] {
        let transport = Table::default();
        call(list(), &transport, value!({"url": url})).unwrap();
        assert_eq!(transport.seen(), [format!("GET {url}")]);
        let transport = Table::new([redirect(302, url), ok("done")]);
        call(list(), &transport, v1()).unwrap();
        assert_eq!(transport.seen()[1], format!("GET {url}"));
    }
    for name in ["authorization", "AUTHORIZATION", "x-key"] {
        let input = value!({"url": "https://api.example.com/v1/x", "headers": {(name): "mine"}});
        let (code, message) = call(list(), &Table::default(), input).unwrap_err();
        assert_eq!(code, "header_not_allowed");
        assert!(message.contains("the host sets it") && hidden(&message));
    }
    let echo = HttpResponse {
        status: 200,
        headers: vec![
            ("x-echo".into(), b"Bearer sk-hidden;other-hidden".to_vec()),
            ("x-sk-hidden".into(), b"1".to_vec()),
        ],
        body: b"\xffother-hidden and sk-hidden, sk-hiddensk-hidden".to_vec(),
        connected: None,
    };
    let seen = format!("{:?}", call(list(), &Table::new([echo]), v1()).unwrap());
    assert!(hidden(&seen) && !seen.contains("hidden"), "{seen}");

    let ports = Ports::new().http_with(list(), Table::default());
    assert!(hidden(&format!(
        "{:?} {:?}",
        ports.manuals().unwrap(),
        ports
    )));
    for location in [
        "https://evil.example/sk-hidden?k=other-hidden",
        "https://x\\sk-hidden",
        "https://evil.example/?sk-hidden",
    ] {
        let (code, message) =
            call(list(), &Table::new([redirect(307, location)]), v1()).unwrap_err();
        assert_eq!(code, "redirect_refused");
        assert!(hidden(&message), "{message}");
    }
}

#[test]
fn the_key_of_a_call_goes_where_the_host_said_and_changes_are_asked_for() {
    let list = || {
        writes()
            .idempotency_header("Idempotency-Key")
            .allow("https://other.example/")
            .methods([Post])
    };
    for method in [Post, Put, Patch, Delete] {
        let transport = Table::default();
        call(
            list(),
            &transport,
            value!({"url": "https://api.example.com/v1/x", "method": (method.as_str())}),
        )
        .unwrap();
        let line =
            format!("{method} https://api.example.com/v1/x idempotency-key=svit://local/shop#7.0");
        assert_eq!(transport.seen(), [line]);
    }
    for (method, url) in [
        ("GET", "https://api.example.com/v1/x"),
        ("POST", "https://other.example/"),
    ] {
        let transport = Table::default();
        call(list(), &transport, value!({"url": url, "method": method})).unwrap();
        assert_eq!(transport.seen(), [format!("{method} {url}")]);
    }
    let forged =
        value!({"url": "https://api.example.com/v1/x", "headers": {"idempotency-key": "mine"}});
    assert_eq!(
        call(list(), &Table::default(), forged).unwrap_err().0,
        "header_not_allowed"
    );
}
