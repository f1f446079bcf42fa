//! Redirects: each is judged, few are followed.

use svit_value::{Value, value};

use super::{Table, call, ok, reads, redirect};
use crate::http::HttpMethod::{self, Get, Post, Put};
use crate::http::{HttpAllowlist, HttpLimits, HttpResponse};

#[test]
fn each_hop_is_judged_as_if_it_had_been_asked_for() {
    let list = || {
        HttpAllowlist::new()
            .allow("https://api.example.com/v1/")
            .methods([Get, Post, Put])
            .headers(["authorization", "x-mine"])
            .allow("https://docs.example.com/")
            .headers(["authorization", "x-mine"])
            .allow("http://plain.example.com/")
    };
    let start = |method: &str, rest: Value| {
        let mut input = rest.as_map().cloned().unwrap();
        input.insert("url", "https://api.example.com/v1/x").unwrap();
        input.insert("method", method).unwrap();
        Value::from(input)
    };
    // Method, fields, status, location, and the request that follows or the words of the refusal.
    let table = [
        (
            "GET",
            value!({}),
            302,
            "y",
            Ok("GET https://api.example.com/v1/y"),
        ),
        (
            "GET",
            value!({}),
            301,
            "https://docs.example.com/a#b",
            Ok("GET https://docs.example.com/a"),
        ),
        (
            "HEAD",
            value!({}),
            303,
            "y",
            Err("HEAD is not allowed there"),
        ),
        (
            "POST",
            value!({"json": 1}),
            303,
            "y",
            Ok("GET https://api.example.com/v1/y"),
        ),
        (
            "POST",
            value!({"json": 1}),
            302,
            "y",
            Ok("GET https://api.example.com/v1/y"),
        ),
        (
            "POST",
            value!({"json": 1}),
            307,
            "y",
            Ok("POST https://api.example.com/v1/y content-type=application/json"),
        ),
        (
            "PUT",
            value!({"json": 1}),
            302,
            "y",
            Ok("PUT https://api.example.com/v1/y content-type=application/json"),
        ),
        (
            "POST",
            value!({"json": 1}),
            308,
            "https://docs.example.com/",
            Err("POST is not allowed there; allowed: GET, HEAD"),
        ),
        (
            "GET",
            value!({}),
            302,
            "/v2/",
            Err("https://api.example.com/v2/ is not allowed"),
        ),
        (
            "GET",
            value!({}),
            302,
            "../x",
            Err("https://api.example.com/x is not allowed"),
        ),
        (
            "GET",
            value!({}),
            302,
            "%2e%2e/x",
            Err("path segments . and .."),
        ),
        (
            "GET",
            value!({}),
            302,
            "//evil.example/",
            Err("https://evil.example/ is not allowed"),
        ),
        (
            "GET",
            value!({}),
            302,
            "http://api.example.com/v1/",
            Err("is not allowed"),
        ),
        (
            "GET",
            value!({}),
            302,
            "https://docs.example.com:444/",
            Err("is not allowed"),
        ),
        (
            "GET",
            value!({}),
            302,
            "http://169.254.169.254/latest",
            Err("is not allowed"),
        ),
        (
            "GET",
            value!({}),
            302,
            "file:///etc/passwd",
            Err("must begin with"),
        ),
        (
            "GET",
            value!({"headers": {"authorization": "mine", "x-mine": "1"}}),
            302,
            "y",
            Ok("GET https://api.example.com/v1/y authorization=mine x-mine=1"),
        ),
        (
            "GET",
            value!({"headers": {"authorization": "mine", "x-mine": "1"}}),
            302,
            "https://docs.example.com/",
            Ok("GET https://docs.example.com/ x-mine=1"),
        ),
        (
            "GET",
            value!({"headers": {"x-mine": "1"}}),
            302,
            "http://plain.example.com/",
            Err("\"x-mine\": it is not allowed there"),
        ),
        (
            "GET",
            value!({}),
            302,
            "http://plain.example.com/",
            Ok("GET http://plain.example.com/"),
        ),
    ];
    for (method, fields, status, location, expected) in table {
        let list = if method == "HEAD" {
            list()
                .allow("https://api.example.com/v1/x")
                .methods([HttpMethod::Head])
        } else {
            list()
        };
        let transport = Table::new([redirect(status, location), ok("done")]);
        let result = call(list, &transport, start(method, fields));
        match expected {
            Ok(line) => {
                assert_eq!(result.unwrap().get("body"), Some(&"done".into()));
                assert_eq!(transport.seen()[1], line);
            }
            Err(words) => {
                let (code, message) = result.expect_err(location);
                assert_eq!(code, "redirect_refused");
                assert!(
                    message.contains(words) && message.contains(&status.to_string()),
                    "{message:?}: {words}"
                );
                assert_eq!(transport.seen().len(), 1);
            }
        }
    }
}

#[test]
fn redirects_end() {
    let around = || Table::new([redirect(302, "/v1/x")]);
    let start = value!({"url": "https://api.example.com/v1/x"});
    let transport = around();
    let (code, _) = call(reads(), &transport, start.clone()).unwrap_err();
    assert_eq!(
        (code.as_str(), transport.seen().len()),
        ("too_many_redirects", 6)
    );

    let none = reads().limits(HttpLimits {
        max_redirects: 0,
        ..HttpLimits::default()
    });
    let output = call(none, &around(), start.clone()).unwrap();
    assert_eq!(output.get("status"), Some(&302.into()));

    let by_hand = value!({"url": "https://api.example.com/v1/x", "follow_redirects": false});
    let output = call(reads(), &around(), by_hand).unwrap();
    assert_eq!(
        output.get("headers").unwrap().get("location"),
        Some(&"/v1/x".into())
    );

    for answer in [
        redirect(304, "/v1/y"),
        redirect(300, "/v1/y"),
        HttpResponse {
            status: 302,
            ..HttpResponse::default()
        },
    ] {
        let transport = Table::new([answer]);
        call(reads(), &transport, start.clone()).unwrap();
        assert_eq!(transport.seen().len(), 1, "no redirect");
    }
}

#[test]
fn without_restriction_a_redirect_still_does_not_leave_tls() {
    let transport = Table::new([redirect(302, "http://example.com/"), ok("done")]);
    let input = value!({"url": "https://example.com/"});
    let (code, message) = call(HttpAllowlist::unrestricted(), &transport, input).unwrap_err();
    assert_eq!(code, "redirect_refused");
    assert!(message.contains("from https to http"), "{message}");
}
