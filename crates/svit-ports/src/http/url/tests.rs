//! What has one reading and what has more, as tables; and properties of what is left.

use proptest::prelude::*;

use super::{HttpUrl, UrlProblem};

mod hostile;
use hostile::HOSTILE;

/// The variant's name without its fields.
fn name(problem: &UrlProblem) -> String {
    let text = format!("{problem:?}");
    let end = text.find([' ', '(', '{']).unwrap_or(text.len());
    text[..end].to_owned()
}

#[test]
fn what_has_one_reading_is_brought_to_one_text() {
    let table = [
        ("https://api.example.com/v1/", "https://api.example.com/v1/"),
        ("https://api.example.com", "https://api.example.com/"),
        ("HTTPS://API.Example.COM/V1", "https://api.example.com/V1"),
        ("hTtP://example.com:80/", "http://example.com/"),
        ("https://example.com:443/", "https://example.com/"),
        ("https://example.com:80/", "https://example.com:80/"),
        ("http://example.com:443/", "http://example.com:443/"),
        ("https://example.com:65535/", "https://example.com:65535/"),
        ("https://example.com?q", "https://example.com/?q"),
        ("https://example.com?", "https://example.com/?"),
        ("https://example.com/%7Ejo", "https://example.com/~jo"),
        ("https://example.com/%61%62", "https://example.com/ab"),
        ("https://example.com/a%3fb", "https://example.com/a%3Fb"),
        (
            "https://example.com/caf\u{e9}",
            "https://example.com/caf%C3%A9",
        ),
        (
            "https://example.com/caf%c3%a9",
            "https://example.com/caf%C3%A9",
        ),
        (
            "https://example.com/a{b}|c",
            "https://example.com/a%7Bb%7D%7Cc",
        ),
        ("https://example.com/@user/x", "https://example.com/@user/x"),
        ("https://example.com/a:b", "https://example.com/a:b"),
        ("https://example.com/...", "https://example.com/..."),
        (
            "https://example.com/.well-known/x",
            "https://example.com/.well-known/x",
        ),
        ("https://example.com/..a", "https://example.com/..a"),
        ("https://example.com/a..b", "https://example.com/a..b"),
        ("https://example.com/50%25", "https://example.com/50%25"),
        ("https://example.com/a%20b", "https://example.com/a%20b"),
        ("https://example.com/a;v=1", "https://example.com/a;v=1"),
        ("https://example.com//a//", "https://example.com//a//"),
        (
            "https://example.com/?a[]=1&b='x'",
            "https://example.com/?a[]=1&b=%27x%27",
        ),
        (
            "https://example.com/?next=../..%2f",
            "https://example.com/?next=../..%2F",
        ),
        (
            "https://example.com/?u=https://a@b/",
            "https://example.com/?u=https://a@b/",
        ),
        (
            "https://example.com/?q=%ff%0d%0a",
            "https://example.com/?q=%FF%0D%0A",
        ),
        (
            "https://xn--bcher-kva.example/",
            "https://xn--bcher-kva.example/",
        ),
        ("https://a_b.example.com/", "https://a_b.example.com/"),
        ("https://3com.example/", "https://3com.example/"),
        ("https://1.2.3.4.example/", "https://1.2.3.4.example/"),
        ("http://127.0.0.1:8080/", "http://127.0.0.1:8080/"),
        ("http://[::1]/", "http://[::1]/"),
        ("http://[::]/", "http://[::]/"),
        ("http://[2001:DB8:0:0::1]:80/", "http://[2001:db8::1]/"),
        (
            "https://[2606:2800:220:1:248:1893:25c8:1946]:8443/x",
            "https://[2606:2800:220:1:248:1893:25c8:1946]:8443/x",
        ),
    ];
    for (text, canonical) in table {
        let url = HttpUrl::parse(text).unwrap_or_else(|problem| panic!("{text}: {problem}"));
        assert_eq!(url.to_string(), canonical, "{text}");
        assert_eq!(HttpUrl::parse(canonical).unwrap(), url);
    }
}

#[test]
fn what_has_more_than_one_reading_is_refused() {
    let mut wrong = Vec::new();
    for (expected, urls) in HOSTILE {
        for url in *urls {
            let seen = match HttpUrl::parse(url) {
                Ok(url) => format!("taken for {url}"),
                Err(problem) => name(&problem),
            };
            if seen != *expected {
                wrong.push(format!("{url:?}: {seen}, not {expected}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let cases: usize = HOSTILE.iter().map(|(_, urls)| urls.len()).sum();
    assert!(cases >= 200, "only {cases}");
}

#[test]
fn the_longest_url_is_that_long_in_its_one_form() {
    let long = |n: usize| format!("https://example.com/{}", "a".repeat(n - 20));
    assert!(HttpUrl::parse(&long(8_192)).is_ok());
    let refused = |text: &str| name(&HttpUrl::parse(text).unwrap_err());
    assert_eq!(refused(&long(8_193)), "TooLong");
    let grows = format!("https://example.com/{}", "\u{e9}".repeat(3_000));
    assert_eq!(refused(&grows), "TooLong");
    let host = |n: usize| format!("https://{}/", vec!["a"; n].join("."));
    assert!(HttpUrl::parse(&host(127)).is_ok());
    assert_eq!(refused(&host(128)), "Host");
}

#[test]
fn a_redirect_is_resolved_as_it_stands_and_judged_as_what_it_is() {
    let base = HttpUrl::parse("https://example.com:8443/a/b/c?q=1").unwrap();
    let table = [
        ("https://other.example/x", "https://other.example/x"),
        ("HTTP://other.example", "http://other.example/"),
        ("//other.example/x", "https://other.example/x"),
        ("/x", "https://example.com:8443/x"),
        ("x", "https://example.com:8443/a/b/x"),
        ("./x", "https://example.com:8443/a/b/x"),
        ("../x", "https://example.com:8443/a/x"),
        ("../../../../x", "https://example.com:8443/x"),
        ("..", "https://example.com:8443/a/"),
        (".", "https://example.com:8443/a/b/"),
        ("/x/../y/./z", "https://example.com:8443/y/z"),
        ("?r=2", "https://example.com:8443/a/b/c?r=2"),
        ("x?r=2#top", "https://example.com:8443/a/b/x?r=2"),
        ("", "https://example.com:8443/a/b/c"),
        ("x/y:z", "https://example.com:8443/a/b/x/y:z"),
        ("/x?u=a/../b", "https://example.com:8443/x?u=a/../b"),
    ];
    for (location, url) in table {
        let joined = base.join(location).map(|url| url.to_string());
        assert_eq!(joined.as_deref(), Ok(url), "{location}");
    }
    let refused = [
        "javascript:alert(1)",
        "file:///etc/passwd",
        "x:y",
        "/\\evil.example/",
        "\\\\evil.example/",
        "///evil.example/",
        "//user@evil.example/",
        "/%2e%2e/x",
        "/a%2fb",
        "//0x7f.1/",
        "https:evil.example",
        "/x\r\ny",
        " /x",
    ];
    for location in refused {
        assert!(base.join(location).is_err(), "{location:?}");
    }
}

/// Texts that are nearly URLs.
fn near_url() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "https://",
        "http://",
        "example.com",
        "api.example.com",
        "127.0.0.1",
        "[::1]",
        "0x7f",
        "xn--",
        "evil.example",
        "/",
        "//",
        "\\",
        "?",
        "#",
        "@",
        ":",
        ":443",
        ":80",
        ".",
        "..",
        "%2e",
        "%2E",
        "%2f",
        "%5c",
        "%25",
        "%252e",
        "%00",
        ";",
        "a",
        "A",
        "1",
        "-",
        "_",
        "~",
        "%7e",
        "\u{e9}",
        "\u{ff0e}",
        "\u{200b}",
        " ",
        "\n",
        "[",
        "]",
        "'",
        "{",
        "|",
        "+",
        "&=",
    ]);
    let rest = prop::collection::vec(piece, 0..12);
    (prop::bool::weighted(0.8), rest).prop_map(|(whole, rest)| {
        let start = if whole { "https://example.com/" } else { "" };
        format!("{start}{}", rest.concat())
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_096))]

    // THREAT[TM-HTTP-1]
    #[test]
    fn the_one_form_is_one_and_the_client_reads_it_alike(text in near_url()) {
        let Ok(url) = HttpUrl::parse(&text) else { return Ok(()) };
        let canonical = url.to_string();
        prop_assert!(canonical.is_ascii());
        prop_assert_eq!(HttpUrl::parse(&canonical), Ok(url.clone()));
        let path = url.path();
        prop_assert!(!path.contains("/../") && !path.contains("/./") && !path.ends_with("/.."));
        prop_assert!(!canonical.contains('\\'));
        prop_assert!(!canonical.to_ascii_lowercase().contains("%2e"));
        #[cfg(feature = "http")]
        match reqwest::Url::parse(&canonical) {
            Ok(read) => {
                prop_assert_eq!(read.as_str(), &canonical);
                prop_assert_eq!(read.host_str().unwrap(), url.host().to_string());
                prop_assert_eq!(read.port_or_known_default(), Some(url.port()));
                prop_assert_eq!(read.path(), url.path());
            }
            Err(_) => prop_assert!(canonical.contains("xn--"), "{}", canonical),
        }
    }

    #[test]
    fn any_text_is_read_or_refused(text in any::<String>()) {
        let url = HttpUrl::parse(&format!("https://example.com/{text}"));
        if let Ok(url) = &url {
            prop_assert_eq!(HttpUrl::parse(&url.to_string()), Ok(url.clone()));
        }
        prop_assert!(HttpUrl::parse(&text).is_err() || text.contains("://"));
    }

    #[test]
    fn where_a_redirect_leads_is_in_its_one_form(location in near_url(), path in "[a-z/.]{0,12}") {
        let Ok(base) = HttpUrl::parse(&format!("https://example.com/{path}")) else { return Ok(()) };
        if let Ok(url) = base.join(&location) {
            prop_assert_eq!(HttpUrl::parse(&url.to_string()), Ok(url));
        }
    }
}
