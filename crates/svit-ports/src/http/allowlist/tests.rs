//! Which requests entries are for, as tables; and entries that are refused.

use super::{HttpAllowlist, HttpLimits};
use crate::Ports;
use crate::http::HttpMethod::{self, Delete, Get, Head, Post};

fn allows(allowlist: &HttpAllowlist, url: &str) -> bool {
    allowlist.judge(Get, url).is_ok()
}

// THREAT[TM-HTTP-1]
#[test]
fn an_entry_is_for_its_scheme_host_and_port_and_what_lies_below_its_path() {
    // The entry, what it is for, what it is not for.
    let table: &[(&str, &[&str], &[&str])] = &[
        (
            "https://api.example.com/v1/",
            &[
                "https://api.example.com/v1/",
                "https://api.example.com/v1/users",
                "https://API.EXAMPLE.COM:443/v1/users/7?x=/../",
                "https://api.example.com/%76%31/users",
                "https://api.example.com/v1/;x",
            ],
            &[
                "https://api.example.com/v1",
                "https://api.example.com/",
                "https://api.example.com/v1beta/",
                "https://api.example.com/V1/",
                "https://api.example.com/v1;/users",
                "https://api.example.com/v1%20/",
                "https://api.example.com//v1/",
                "https://api.example.com/v1//users",
                "https://api.example.com/x/v1/",
                "https://api.example.com?/v1/",
                "http://api.example.com/v1/",
                "http://api.example.com:443/v1/",
                "https://api.example.com:8443/v1/",
                "https://api.example.com:80/v1/",
                "https://example.com/v1/",
                "https://api.example.com.evil.example/v1/",
                "https://xapi.example.com/v1/",
                "https://a.api.example.com/v1/",
                "https://api.example.co/v1/",
                "https://api-example.com/v1/",
                "https://evil.example/https://api.example.com/v1/",
                "https://evil.example/?https://api.example.com/v1/",
                "https://xn--pi-7kc.example.com/v1/",
            ],
        ),
        (
            "https://api.example.com/v1",
            &[
                "https://api.example.com/v1",
                "https://api.example.com/v1/",
                "https://api.example.com/v1/users",
                "https://api.example.com/v1?x",
            ],
            &[
                "https://api.example.com/v1beta",
                "https://api.example.com/v1;x",
                "https://api.example.com/v",
                "https://api.example.com/",
            ],
        ),
        (
            "http://127.0.0.1:8080",
            &["http://127.0.0.1:8080/", "http://127.0.0.1:8080/x"],
            &[
                "http://127.0.0.1/",
                "http://127.0.0.1:8081/",
                "http://127.0.0.2:8080/",
                "http://localhost:8080/",
                "http://[::1]:8080/",
                "https://127.0.0.1:8080/",
            ],
        ),
        (
            "https://xn--bcher-kva.example/%7Ejo/",
            &[
                "https://XN--BCHER-KVA.example/~jo/x",
                "https://xn--bcher-kva.example/%7ejo/",
            ],
            &[
                "https://bcher.example/~jo/",
                "https://xn--bcher-kva.example/jo/",
            ],
        ),
        (
            "http://[2001:DB8::1]/",
            &["http://[2001:db8:0:0:0:0:0:1]/x"],
            &["http://[2001:db8::2]/"],
        ),
    ];
    for (entry, good, bad) in table {
        let allowlist = HttpAllowlist::new().allow(entry);
        allowlist.check().unwrap();
        for url in *good {
            assert!(allows(&allowlist, url), "{entry} is for {url}");
        }
        for url in *bad {
            assert!(!allows(&allowlist, url), "{entry} is not for {url}");
        }
    }
}

#[test]
fn the_longest_entry_decides_alone() {
    let allowlist = HttpAllowlist::new()
        .allow("https://example.com/")
        .methods([Get, Post])
        .allow("https://example.com/files/")
        .allow("https://example.com/files/mine/")
        .methods([Delete]);
    let table = [
        (Post, "https://example.com/x", true),
        (Post, "https://example.com/files", true),
        (Post, "https://example.com/files/", false),
        (Head, "https://example.com/files/x", true),
        (Get, "https://example.com/files/mine/x", false),
        (Delete, "https://example.com/files/mine/x", true),
        (Delete, "https://example.com/x", false),
        (Delete, "https://example.com/files//mine/x", false),
        (Post, "https://example.com//files/x", false),
    ];
    for (method, url, expected) in table {
        assert_eq!(
            allowlist.judge(method, url).is_ok(),
            expected,
            "{method} {url}"
        );
    }
}

#[test]
fn nothing_is_allowed_without_an_entry_and_anything_by_name() {
    let none = HttpAllowlist::new();
    assert!(none.check().is_ok());
    let refused = none.judge(Get, "https://example.com/").unwrap_err();
    assert_eq!(refused.code(), "url_not_allowed");
    assert!(
        refused.to_string().ends_with("begins with: nothing"),
        "{refused}"
    );

    let any = HttpAllowlist::unrestricted().allow("https://api.example.com/");
    assert!(any.judge(Delete, "http://anything.example:81//x").is_ok());
    assert!(
        any.judge(Delete, "https://api.example.com/").is_err(),
        "the entry decides"
    );
    assert!(
        any.judge(Get, "https://user@example.com/").is_err(),
        "it still has one reading"
    );
}

#[test]
fn a_refusal_says_what_is_allowed_and_repeats_no_query() {
    let allowlist = HttpAllowlist::new()
        .allow("https://api.example.com/v1/")
        .allow("https://docs.example.com/");
    let error = allowlist
        .judge(Get, "https://evil.example/?secret=7")
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "https://evil.example/ is not allowed; allowed is what begins with: \
         https://api.example.com/v1/; https://docs.example.com/"
    );
    let error = allowlist
        .judge(Post, "https://docs.example.com/")
        .unwrap_err();
    assert_eq!(error.code(), "method_not_allowed");
    assert_eq!(
        error.to_string(),
        "POST is not allowed there; allowed: GET, HEAD"
    );

    let many = (0..200).fold(HttpAllowlist::new(), |list, n| {
        list.allow(&format!("https://host{n}.example.com/"))
    });
    let text = many
        .judge(Get, "https://evil.example/")
        .unwrap_err()
        .to_string();
    assert!(text.len() < 800 && text.contains("more"), "{text}");
}

#[test]
fn a_bad_entry_is_kept_and_grants_nothing() {
    let new = HttpAllowlist::new;
    let good = || new().allow("https://example.com/");
    let limits = HttpLimits::default();
    let table: Vec<(&str, HttpAllowlist)> = vec![
        ("must begin with", new().allow("example.com")),
        ("ASCII", new().allow("https://b\u{fc}cher.example/")),
        ("not a name", new().allow("https://*.example.com/")),
        ("no query", new().allow("https://example.com/?x")),
        ("from # on", new().allow("https://example.com/#x")),
        ("user or password", new().allow("https://u:p@example.com/")),
        ("is empty", new().allow("https://example.com/a//b")),
        ("there already", good().allow("https://EXAMPLE.com:443")),
        ("no entry before", new().methods([Get])),
        ("no entry before", new().header_secret("x-key", "abc")),
        ("at least one method", good().methods([])),
        (
            "cannot be set",
            good().header_secret("Host", "evil.example"),
        ),
        ("cannot be set", good().headers(["content_length"])),
        (
            "cannot be set",
            good().idempotency_header("Transfer-Encoding"),
        ),
        ("a name is", good().headers(["x y"])),
        ("a name is", good().header_secret("x:", "abc")),
        ("a name is", good().header_secret("", "abc")),
        (
            "no line break",
            good().header_secret("x-key", "abc\r\nx: y"),
        ),
        ("no line break", good().header_secret("x-key", "abc\u{e9}")),
        ("is empty", good().header_secret("x-key", " ")),
        (
            "set already",
            good()
                .header_secret("x-key", "abc")
                .header_secret("X-KEY", "abc"),
        ),
        (
            "not to any URL",
            HttpAllowlist::unrestricted().header_secret("x-key", "abc"),
        ),
        ("no network", good().network("10.0.0.0/40")),
        (
            "timeout",
            good().limits(HttpLimits {
                timeout: std::time::Duration::ZERO,
                ..limits
            }),
        ),
        (
            "max_redirects",
            good().limits(HttpLimits {
                max_redirects: 21,
                ..limits
            }),
        ),
        (
            "sizes",
            good().limits(HttpLimits {
                max_response_bytes: u64::MAX,
                ..limits
            }),
        ),
        (
            "must begin with",
            new().allow("x").allow("https://example.com/").methods([]),
        ),
    ];
    for (why, allowlist) in table {
        let error = allowlist.check().expect_err(why);
        assert_eq!(error.code(), "bad_port_descriptor");
        assert!(error.to_string().contains(why), "{error}: {why}");
        let ports = Ports::new().http_with(allowlist, NoTransport);
        assert_eq!(ports.check(), Err(error));
        assert!(ports.descriptor("http").is_none());
    }
}

struct NoTransport;

impl crate::http::HttpTransport for NoTransport {
    fn send<'a>(
        &'a self,
        _: crate::http::HttpRequest,
    ) -> crate::BoxFuture<'a, Result<crate::http::HttpResponse, crate::http::HttpError>> {
        Box::pin(async { panic!("nothing is to be sent") })
    }
}

#[test]
fn no_text_about_a_list_holds_a_secret() {
    let list = HttpAllowlist::new()
        .allow("https://example.com/")
        .header_secret("authorization", "Bearer sk-hidden")
        .header_secret("x-key", "sk-hidden\n");
    assert!(!format!("{list:?} {:?}", list.check()).contains("sk-hidden"));
    assert!(list.check().is_err());
    let swapped = HttpAllowlist::new()
        .allow("https://example.com/")
        .header_secret("Bearer sk-hidden", "authorization");
    assert!(
        !swapped
            .check()
            .unwrap_err()
            .to_string()
            .contains("sk-hidden")
    );
}

#[test]
fn the_effect_is_that_of_the_worst_entry() {
    let list = |methods: &[HttpMethod]| {
        HttpAllowlist::new()
            .allow("https://a.example/")
            .allow("https://b.example/")
            .methods(methods.iter().copied())
    };
    let facts = |list: &HttpAllowlist| (list.is_read_only(), list.is_idempotent());
    assert_eq!(facts(&HttpAllowlist::new()), (true, true));
    assert_eq!(facts(&list(&[Get, Head])), (true, true));
    assert_eq!(facts(&list(&[Get, Post])), (false, false));
    assert_eq!(
        facts(&list(&[Get, Post]).idempotency_header("idempotency-key")),
        (false, true)
    );
    assert_eq!(facts(&HttpAllowlist::unrestricted()), (false, false));
}
