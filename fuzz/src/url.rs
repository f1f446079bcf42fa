//! URLs: what is let in has one text, and the client's reader takes it for the same place.

use svit_ports::http::{HttpAllowlist, HttpMethod, HttpUrl};

/// A URL that a guest made up, or what a server says where to go.
pub type Input<'a> = &'a str;

/// What an entry is for.
const ENTRY: &str = "https://api.example.com/v1/";

/// Reads it as a URL, as a redirect, and as a request to be judged.
pub fn check(text: Input<'_>) {
    let base = format!("{ENTRY}users?page=1");
    let base = HttpUrl::parse(&base).expect("a URL");
    for read in [HttpUrl::parse(text), base.join(text)] {
        match read {
            Ok(url) => has_one_reading(&url),
            Err(problem) => assert!(!problem.to_string().is_empty()),
        }
    }
    let allowlist = HttpAllowlist::new().allow(ENTRY);
    for text in [text.to_owned(), format!("{ENTRY}{text}")] {
        if let Ok(url) = allowlist.judge(HttpMethod::Get, &text) {
            let read = url::Url::parse(&url.to_string()).expect("a URL for the client");
            assert_eq!(read.host_str(), Some("api.example.com"));
            assert_eq!(read.port_or_known_default(), Some(443));
            assert!(read.path().starts_with("/v1/"), "{read}");
            assert!(read.username().is_empty() && read.password().is_none());
        }
    }
}

fn has_one_reading(url: &HttpUrl) {
    let text = url.to_string();
    assert_eq!(HttpUrl::parse(&text).as_ref(), Ok(url), "{text}");
    match url::Url::parse(&text) {
        Ok(read) => {
            assert_eq!(read.as_str(), text);
            assert_eq!(
                read.host_str().map(str::to_owned),
                Some(url.host().to_string())
            );
            assert_eq!(read.port_or_known_default(), Some(url.port()));
            assert_eq!(read.path(), url.path());
            assert_eq!(read.query(), url.query());
        }
        // It knows which `xn--` names are none; the transport asks it before it connects.
        Err(error) => assert!(url.host().to_string().contains("xn--"), "{text}: {error}"),
    }
}
