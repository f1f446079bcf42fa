//! The port over a transport that answers from a table: what is asked of it, and what a guest sees.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use svit_tree::Tree;
use svit_value::{Bytes, Value, value};

use crate::http::HttpMethod;
use crate::http::{
    AddressClass, HttpAllowlist, HttpError, HttpPort, HttpRequest, HttpResponse, HttpTransport,
};
use crate::{BoxFuture, Effect, PortContext, PortError, Ports};

mod redirects;
mod sent;

/// Answers in turn, the last one again and again; and keeps what it was asked.
#[derive(Clone, Default)]
struct Table {
    answers: Arc<Mutex<VecDeque<Result<HttpResponse, HttpError>>>>,
    asked: Arc<Mutex<Vec<HttpRequest>>>,
}

impl Table {
    fn new(answers: impl IntoIterator<Item = HttpResponse>) -> Self {
        let table = Self::default();
        let answers = answers.into_iter().map(Ok);
        table.answers.lock().unwrap().extend(answers);
        table
    }

    fn failing(error: HttpError) -> Self {
        let table = Self::default();
        table.answers.lock().unwrap().push_back(Err(error));
        table
    }

    /// `METHOD url header=value..` for each request, without those that are always there.
    fn seen(&self) -> Vec<String> {
        let line = |request: &HttpRequest| {
            let mut line = format!("{} {}", request.method, request.url);
            for header in &request.headers {
                if header.name() != "user-agent" {
                    line += &format!(" {}={}", header.name(), header.expose());
                }
            }
            line
        };
        self.asked.lock().unwrap().iter().map(line).collect()
    }
}

impl HttpTransport for Table {
    fn send<'a>(&'a self, request: HttpRequest) -> BoxFuture<'a, Result<HttpResponse, HttpError>> {
        self.asked.lock().unwrap().push(request);
        let mut answers = self.answers.lock().unwrap();
        let answer = match answers.len() {
            0 | 1 => answers.front().cloned().unwrap_or_else(|| Ok(ok("done"))),
            _ => answers.pop_front().unwrap(),
        };
        Box::pin(async move { answer })
    }
}

fn ok(body: impl Into<Vec<u8>>) -> HttpResponse {
    HttpResponse {
        status: 200,
        body: body.into(),
        ..HttpResponse::default()
    }
}

fn redirect(status: u16, location: &str) -> HttpResponse {
    HttpResponse {
        status,
        headers: vec![("location".to_owned(), location.as_bytes().to_vec())],
        ..HttpResponse::default()
    }
}

fn call(allowlist: HttpAllowlist, table: &Table, input: Value) -> Result<Value, (String, String)> {
    let ports = Ports::new().http_with(allowlist, table.clone());
    ports.check().unwrap();
    let ctx = PortContext::new(Arc::new(Tree::new()), "svit://local/shop#7.0");
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    let result = runtime.block_on(ports.dispatch("http", input, &ctx));
    result.map_err(|error| match error {
        PortError::Failed {
            reason, message, ..
        } => (reason.to_string(), message.to_string()),
        other => (other.code().to_owned(), other.to_string()),
    })
}

fn reads() -> HttpAllowlist {
    HttpAllowlist::new().allow("https://api.example.com/v1/")
}

fn writes() -> HttpAllowlist {
    reads().methods(HttpMethod::ALL)
}

#[test]
fn an_answer_of_any_status_is_an_output() {
    let answer = HttpResponse {
        status: 404,
        headers: vec![
            ("content-type".into(), b"text/plain".to_vec()),
            ("vary".into(), b"a".to_vec()),
            ("vary".into(), b"b".to_vec()),
            ("set-cookie".into(), b"a=1, 2".to_vec()),
            ("set-cookie".into(), b"b=3".to_vec()),
            ("x-odd".into(), b"\xff".to_vec()),
        ],
        body: b"gone".to_vec(),
        connected: None,
    };
    let output = call(
        reads(),
        &Table::new([answer]),
        value!({"url": "https://api.example.com/v1/x"}),
    );
    let expected = value!({
        "status": 404,
        "url": "https://api.example.com/v1/x",
        "headers": {
            "content-type": "text/plain",
            "vary": "a, b",
            "set-cookie": "a=1, 2\nb=3",
            "x-odd": "\u{fffd}"
        },
        "body": "gone"
    });
    assert_eq!(output, Ok(expected));
    let bytes = call(
        reads(),
        &Table::new([ok([0xff, 0])]),
        value!({"url": "https://api.example.com/v1/x"}),
    );
    assert_eq!(
        bytes.unwrap().get("body"),
        Some(&Value::from(Bytes::from(b"\xff\0")))
    );
}

// THREAT[TM-HTTP-3]
// THREAT[TM-HTTP-4]
// THREAT[TM-HTTP-2]
#[test]
fn an_address_in_a_url_is_refused_unless_it_is_named() {
    let any = HttpAllowlist::unrestricted;
    let refused = |list: HttpAllowlist, url: &str| {
        let transport = Table::default();
        let result = call(list, &transport, value!({"url": url}));
        assert_eq!(result.is_ok(), transport.seen().len() == 1);
        result.err().map(|(code, _)| code)
    };
    for url in [
        "http://169.254.169.254/",
        "http://[fd00:ec2::254]/",
        "http://224.0.0.1/",
        "http://0.0.0.0/",
        "http://[::]/",
        "http://[fe80::1]/",
        "http://100.100.100.200/",
        "http://[64:ff9b::a9fe:a9fe]/",
        "http://[2002:7f00:1::]/",
    ] {
        assert_eq!(
            refused(any(), url).as_deref(),
            Some("address_refused"),
            "{url}"
        );
    }
    for url in [
        "http://127.0.0.1/",
        "http://10.0.0.1/",
        "http://[::1]/",
        "http://[fd00::1]/",
        "http://8.8.8.8/",
    ] {
        assert_eq!(refused(any(), url), None, "{url}");
        assert_eq!(refused(HttpAllowlist::new().allow(url), url), None, "{url}");
    }
    let named = any().network("169.254.169.254");
    assert_eq!(refused(named, "http://169.254.169.254/"), None);
}

#[test]
fn a_transport_that_does_not_keep_to_its_limits_is_not_believed() {
    let start = || value!({"url": "https://api.example.com/v1/x"});
    let answer = |change: fn(&mut HttpResponse)| {
        let mut answer = ok("done");
        change(&mut answer);
        call(reads(), &Table::new([answer]), start()).map_err(|(code, _)| code)
    };
    let refused = |code: &str| Err(code.to_owned());
    const LIMIT: usize = 4 << 20;
    assert!(answer(|a| a.body = vec![b'x'; LIMIT]).is_ok());
    assert_eq!(
        answer(|a| a.body = vec![b'x'; LIMIT + 1]),
        refused("response_too_large")
    );
    assert_eq!(
        answer(|a| a.headers = vec![("x".into(), vec![b'x'; 65_536])]),
        refused("response_too_large")
    );
    assert_eq!(
        answer(|a| a.headers = vec![("x".into(), vec![]); 129]),
        refused("response_too_large")
    );
    assert_eq!(
        answer(|a| a.connected = "10.0.0.1".parse().ok()),
        refused("address_refused")
    );
    assert_eq!(
        answer(|a| a.connected = "::ffff:127.0.0.1".parse().ok()),
        refused("address_refused")
    );
    assert!(answer(|a| a.connected = "8.8.8.8".parse().ok()).is_ok());
}

#[test]
fn failures_of_a_transport_keep_their_code_and_time_is_that_of_the_call() {
    let host = || "api.example.com".to_owned();
    let table = [
        (
            HttpError::Timeout(Duration::ZERO),
            "timeout",
            "within 200 ms",
        ),
        (
            HttpError::UnknownHost { host: host() },
            "unknown_host",
            "is not known",
        ),
        (
            HttpError::NotConnected { host: host() },
            "not_connected",
            "nothing was sent",
        ),
        (
            HttpError::Broken { host: host() },
            "broken_answer",
            "may have carried out",
        ),
        (
            HttpError::AddressRefused {
                host: host(),
                class: AddressClass::Private,
            },
            "address_refused",
            "(private)",
        ),
    ];
    for (error, code, words) in table {
        let input = value!({"url": "https://api.example.com/v1/x", "timeout_ms": 200});
        let (seen, message) = call(reads(), &Table::failing(error), input).unwrap_err();
        assert_eq!(seen, code);
        assert!(message.contains(words), "{message}");
    }
    let transport = Table::default();
    call(
        reads(),
        &transport,
        value!({"url": "https://api.example.com/v1/x", "timeout_ms": 99_999_999}),
    )
    .unwrap();
    assert!(transport.asked.lock().unwrap()[0].timeout <= Duration::from_secs(30));
}

#[test]
fn two_ports_can_be_granted_one_to_read_and_one_to_write() {
    let write = HttpPort::new(writes(), Table::default())
        .unwrap()
        .named("http-write");
    let ports = Ports::new()
        .http_with(reads(), Table::default())
        .port(write);
    ports.check().unwrap();
    let facts = |name: &str| {
        let descriptor = ports.descriptor(name).unwrap();
        (descriptor.effect, descriptor.idempotent)
    };
    assert_eq!(facts("http"), (Effect::Read, true));
    assert_eq!(facts("http-write"), (Effect::Write, false));
    let manuals = ports.manuals().unwrap();
    let description = manuals
        .get("http")
        .unwrap()
        .get("description")
        .unwrap()
        .as_str()
        .unwrap();
    assert!(
        description.ends_with("Allowed: GET, HEAD https://api.example.com/v1/"),
        "{description}"
    );
}
