//! The port `http` over real connections: what is said on the wire, who is connected to, and servers
//! that do not behave.

use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use svit_ports::http::{
    HttpAllowlist, HttpLimits, HttpMethod, HttpPort, HttpResolver, ReqwestHttpTransport,
};
use svit_ports::{BoxFuture, PortContext, PortError, Ports};
use svit_testkit::conformance;
use svit_tree::Tree;
use svit_value::{Bytes, Value, value};

mod server;
mod tls;
use server::{Reply, Server, answer};

fn runtime() -> tokio::runtime::Runtime {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    builder.enable_all().build().unwrap()
}

fn context() -> PortContext {
    PortContext::new(Arc::new(Tree::new()), "key-7")
}

fn call(ports: &Ports, input: Value) -> Result<Value, (String, String)> {
    ports.check().unwrap();
    let result = runtime().block_on(ports.dispatch("http", input, &context()));
    result.map_err(|error| match error {
        PortError::Failed {
            reason, message, ..
        } => (reason.to_string(), message.to_string()),
        other => (other.code().to_owned(), other.to_string()),
    })
}

fn code(result: Result<Value, (String, String)>) -> String {
    result.map_or_else(|(code, _)| code, |output| format!("an answer: {output}"))
}

fn get(url: impl AsRef<str>) -> Value {
    value!({"url": (url.as_ref())})
}

/// Few and small, so that tests of limits are quick.
fn small() -> HttpLimits {
    HttpLimits {
        timeout: Duration::from_millis(600),
        max_response_bytes: 1 << 20,
        ..HttpLimits::default()
    }
}

fn ports(server: &Server) -> Ports {
    let entry = server.url("/");
    Ports::new().http(HttpAllowlist::new().allow(&entry).limits(small()))
}

#[test]
fn http_conforms() {
    let server = Server::new(|_| answer("200 OK", &[], b"done"));
    let allowlist = HttpAllowlist::new()
        .allow(&server.url("/"))
        .methods(HttpMethod::ALL);
    let port = HttpPort::new(allowlist, ReqwestHttpTransport::new()).unwrap();
    let url = server.url("/x");
    let good = [
        get(&url),
        value!({"url": (url.as_str()), "method": "POST", "json": {"a": 1}}),
    ];
    runtime().block_on(conformance::port(port, good)).unwrap();
}

#[test]
fn what_is_on_the_wire_is_what_was_asked_and_what_the_host_adds() {
    let server = Server::new(|_| {
        answer(
            "201 Created",
            &["Content-Type: text/plain", "X-Echo: Bearer sk-hidden"],
            b"made by sk-hidden",
        )
    });
    let allowlist = HttpAllowlist::new()
        .allow(&server.url("/v1/"))
        .methods([HttpMethod::Post])
        .header_secret("authorization", "Bearer sk-hidden")
        .idempotency_header("idempotency-key");
    let ports = Ports::new().http(allowlist);
    let input = value!({
        "url": (server.url("/v1/caf\u{e9}?q='a'")),
        "method": "POST",
        "headers": {"accept": "text/plain"},
        "json": {"a": [1]}
    });
    let output = call(&ports, input).unwrap();
    assert_eq!(output.get("status"), Some(&201.into()));
    assert_eq!(output.get("body"), Some(&"made by ***".into()));
    assert_eq!(
        output.get("headers").unwrap().get("x-echo"),
        Some(&"***".into())
    );

    let heard = server.heard();
    let (head, body) = heard[0].split_once("\r\n\r\n").unwrap();
    let mut lines: Vec<&str> = head.lines().collect();
    lines[1..].sort_unstable();
    let host = format!("host: 127.0.0.1:{}", server.port());
    let agent = concat!("user-agent: svit/", env!("CARGO_PKG_VERSION"));
    let expected = [
        "POST /v1/caf%C3%A9?q=%27a%27 HTTP/1.1",
        "accept-encoding: gzip",
        "accept: text/plain",
        "authorization: Bearer sk-hidden",
        "content-length: 9",
        "content-type: application/json",
        &host,
        "idempotency-key: key-7",
        agent,
    ];
    assert_eq!(lines, expected);
    assert_eq!(body, r#"{"a":[1]}"#);
    assert_eq!(heard.len(), 1);
}

/// Run again below with variables that must not matter.
#[test]
fn a_plain_request_has_an_answer() {
    let server = Server::new(|_| answer("200 OK", &[], b"\xff"));
    let output = call(&ports(&server), get(server.url("/"))).unwrap();
    assert_eq!(output.get("body"), Some(&Value::from(Bytes::from(b"\xff"))));
}

#[test]
fn the_environment_names_no_proxy() {
    let mut again = std::process::Command::new(std::env::current_exe().unwrap());
    again.args(["--exact", "http::a_plain_request_has_an_answer"]);
    for variable in ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"] {
        again.env(variable, "http://127.0.0.1:1");
    }
    let output = again.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && text.contains("1 passed"),
        "{text}"
    );
}

// THREAT[TM-HTTP-4]
#[test]
fn a_redirect_reaches_no_server_that_is_not_allowed() {
    let other = Server::new(|_| answer("200 OK", &[], b"secrets of another"));
    let target = other.url("/latest/meta-data");
    let server = Server::new(move |request| match request.split(' ').nth(1) {
        Some("/away") => answer("302 Found", &[&format!("Location: {target}")], b""),
        Some("/start") => answer("302 Found", &["Location: /end"], b""),
        _ => answer("200 OK", &[], b"the end"),
    });
    let ports = ports(&server);
    assert_eq!(
        code(call(&ports, get(server.url("/away")))),
        "redirect_refused"
    );
    assert_eq!(other.heard().len(), 0);
    let output = call(&ports, get(server.url("/start"))).unwrap();
    assert_eq!(output.get("body"), Some(&"the end".into()));
    assert_eq!(output.get("url"), Some(&server.url("/end").into()));
}

/// Answers in turn, and then no more.
#[derive(Clone)]
struct Turns(Arc<Mutex<Vec<Vec<IpAddr>>>>);

impl Turns {
    fn new<const N: usize>(turns: [&[Ipv4Addr]; N]) -> Self {
        let turns = turns.iter().rev();
        let turns = turns.map(|turn| turn.iter().map(|address| (*address).into()).collect());
        Self(Arc::new(Mutex::new(turns.collect())))
    }
}

impl HttpResolver for Turns {
    fn resolve<'a>(&'a self, host: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>> {
        assert_eq!(host, "rebind.example");
        let turn = self.0.lock().unwrap().pop();
        Box::pin(async move { turn.ok_or_else(|| io::Error::other("asked once too often")) })
    }
}

// THREAT[TM-HTTP-2]
#[test]
fn only_vetted_addresses_are_connected_to_whatever_a_name_stands_for_a_moment_later() {
    const GOOD: Ipv4Addr = Ipv4Addr::LOCALHOST;
    const BAD: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 2);
    let redirects = |request: &str| match request.split(' ').nth(1) {
        Some("/start") => answer("302 Found", &["Location: /end"], b""),
        _ => answer("200 OK", &[], b"done"),
    };
    let server = Server::new(redirects);
    let trap = Server::at(BAD.into(), server.port(), redirects);
    let entry = format!("http://rebind.example:{}/", server.port());
    let outcome = |turns: Turns, path: &str, named: Option<&str>| {
        let allowlist = HttpAllowlist::new().allow(&entry).limits(small());
        let allowlist = match named {
            Some(network) => allowlist.network(network),
            None => allowlist,
        };
        let transport = ReqwestHttpTransport::new().resolver(turns.clone());
        let result = call(
            &Ports::new().http_with(allowlist, transport),
            get(format!("{entry}{path}")),
        );
        assert_eq!(
            turns.0.lock().unwrap().len(),
            0,
            "one look-up for each request"
        );
        result.map_or_else(
            |(code, _)| code,
            |output| output.get("body").unwrap().to_string(),
        )
    };
    let named = Some("127.0.0.1");
    assert_eq!(outcome(Turns::new([&[GOOD]]), "", None), "address_refused");
    assert_eq!(server.heard().len(), 0);
    assert_eq!(outcome(Turns::new([&[GOOD]]), "", named), "\"done\"");
    assert_eq!(outcome(Turns::new([&[BAD]]), "", named), "address_refused");
    assert_eq!(
        outcome(Turns::new([&[BAD, GOOD, BAD]]), "", named),
        "\"done\""
    );
    assert_eq!(
        outcome(Turns::new([&[GOOD], &[GOOD]]), "start", named),
        "\"done\""
    );
    assert_eq!(
        outcome(Turns::new([&[GOOD], &[BAD]]), "start", named),
        "redirect_refused"
    );
    assert_eq!(outcome(Turns::new([&[]]), "", named), "unknown_host");
    assert_eq!(outcome(Turns::new([]), "", named), "unknown_host");
    assert_eq!(trap.heard().len(), 0);
}

#[test]
fn localhost_is_this_machine_and_the_system_resolver_is_vetted_too() {
    let server = Server::new(|_| answer("200 OK", &[], b"done"));
    let url = format!("http://localhost:{}/", server.port());
    let ports = Ports::new().http(HttpAllowlist::new().allow(&url));
    assert_eq!(
        call(&ports, get(&url)).unwrap().get("body"),
        Some(&"done".into())
    );
    let any = Ports::new().http_unrestricted();
    assert_eq!(
        call(&any, get(&url)).unwrap().get("body"),
        Some(&"done".into())
    );
    assert_eq!(
        code(call(&any, get("http://169.254.169.254/"))),
        "address_refused"
    );
}

fn says(reply: impl Fn() -> Reply + Send + Sync + 'static) -> String {
    let server = Server::new(move |_| reply());
    let started = Instant::now();
    let code = code(call(&ports(&server), get(server.url("/"))));
    assert!(
        started.elapsed() < Duration::from_secs(5),
        "{:?}",
        started.elapsed()
    );
    code
}

// THREAT[TM-HTTP-5]
#[test]
fn slow_servers_run_out_of_time() {
    let pause = Duration::from_millis(50);
    let head = b"HTTP/1.1 200 OK\r\n";
    let chunked = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
    assert_eq!(says(|| Reply::Silence), "timeout");
    assert_eq!(
        says(move || Reply::Drip(head.to_vec(), b"x: y\r\n".to_vec(), pause)),
        "timeout"
    );
    assert_eq!(
        says(move || Reply::Drip(chunked.to_vec(), b"1\r\nx\r\n".to_vec(), pause)),
        "timeout"
    );

    let server = Server::new(|_| Reply::Silence);
    let input = value!({"url": (server.url("/")), "timeout_ms": 50});
    let (code, message) = call(&ports(&server), input).unwrap_err();
    assert_eq!(code, "timeout");
    assert!(message.contains("within 50 ms"), "{message}");
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    use std::io::Write;
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

// THREAT[TM-HTTP-5]
#[test]
fn answers_are_bounded_packed_or_not() {
    let whole = |length: usize| says(move || answer("200 OK", &[], &vec![b'x'; length]));
    assert!(whole(1 << 20).starts_with("an answer"));
    assert_eq!(whole((1 << 20) + 1), "response_too_large");
    let endless = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n".to_vec();
    let piece = [b"10000\r\n".to_vec(), vec![b'x'; 65_536], b"\r\n".to_vec()].concat();
    assert_eq!(
        says(move || Reply::Drip(endless.clone(), piece.clone(), Duration::ZERO)),
        "response_too_large"
    );

    let packed = |body: Vec<u8>| says(move || answer("200 OK", &["Content-Encoding: gzip"], &body));
    let bomb = gzip(&vec![0; 64 << 20]);
    assert!(bomb.len() < 100_000);
    assert_eq!(packed(bomb), "response_too_large");
    assert_eq!(packed(b"no gzip at all".to_vec()), "broken_answer");
    let mut cut = gzip(&[b'x'; 1_000]);
    cut.truncate(15);
    assert_eq!(packed(cut), "broken_answer");
}

#[test]
fn what_is_packed_is_unpacked_once_and_other_packings_stay() {
    let server = Server::new(|request| match request.split(' ').nth(1) {
        Some("/once") => answer("200 OK", &["Content-Encoding: gzip"], &gzip(b"done")),
        Some("/twice") => answer(
            "200 OK",
            &["Content-Encoding: gzip, gzip"],
            &gzip(&gzip(b"done")),
        ),
        _ => answer("200 OK", &["Content-Encoding: br"], b"\x0b\x01\x80done\x03"),
    });
    let ports = ports(&server);
    let body_and_packing = |path: &str| {
        let output = call(&ports, get(server.url(path))).unwrap();
        let packing = output
            .get("headers")
            .unwrap()
            .get("content-encoding")
            .cloned();
        (output.get("body").cloned().unwrap(), packing)
    };
    assert_eq!(body_and_packing("/once"), ("done".into(), None));
    let (body, packing) = body_and_packing("/twice");
    assert!(body.as_bytes().is_some() && packing.is_some(), "{body}");
    assert_eq!(body_and_packing("/br").1, Some("br".into()));
}

#[test]
fn what_is_no_http_or_has_too_many_headers_is_refused() {
    let many = || {
        let headers: Vec<String> = (0..200).map(|n| format!("x-{n}: y")).collect();
        let headers: Vec<&str> = headers.iter().map(String::as_str).collect();
        answer("200 OK", &headers, b"")
    };
    assert_eq!(says(many), "broken_answer");
    let large = || answer("200 OK", &[&format!("x: {}", "y".repeat(100_000))], b"");
    assert_eq!(says(large), "response_too_large");
    let huge = || answer("200 OK", &[&format!("x: {}", "y".repeat(1_000_000))], b"");
    assert_eq!(says(huge), "broken_answer");
    for garbage in [
        "",
        "SSH-2.0-x\r\n",
        "HTTP/9.9 200 OK\r\n\r\n",
        "HTTP/1.1 abc\r\n\r\n",
        "<html>",
    ] {
        assert_eq!(
            says(move || Reply::Bytes(garbage.into())),
            "broken_answer",
            "{garbage:?}"
        );
    }
    let short = "HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nshort";
    assert_eq!(says(move || Reply::Bytes(short.into())), "broken_answer");
}

#[test]
fn a_server_that_is_not_there_or_not_who_it_says_gets_nothing() {
    let server = Server::new(|_| answer("200 OK", &[], b"done"));
    let plain = server.url("/");
    let tls = plain.replacen("http", "https", 1);
    let ports = Ports::new().http(
        HttpAllowlist::new()
            .allow(&tls)
            .header_secret("x-key", "sk-hidden"),
    );
    assert_eq!(code(call(&ports, get(&tls))), "not_connected");
    assert!(!format!("{:?}", server.heard()).contains("sk-hidden"));
    let ports = self::ports(&server);
    drop(server);
    std::thread::sleep(Duration::from_millis(50));
    assert_eq!(code(call(&ports, get(&plain))), "not_connected");
}

#[test]
fn without_a_runtime_a_call_says_so() {
    let ports = Ports::new().http(HttpAllowlist::new().allow("http://127.0.0.1:9/"));
    let context = context();
    let mut call = Box::pin(ports.dispatch("http", get("http://127.0.0.1:9/"), &context));
    let Poll::Ready(Err(PortError::Failed { reason, .. })) =
        call.as_mut().poll(&mut Context::from_waker(Waker::noop()))
    else {
        panic!("no failure");
    };
    assert_eq!(reason, "http_unavailable");
}

#[test]
fn roots_that_are_none_are_told() {
    let bad = b"-----BEGIN CERTIFICATE-----\n!\n-----END CERTIFICATE-----\n";
    let refused = ReqwestHttpTransport::new().trusting_only(bad).unwrap_err();
    assert_eq!(refused.code(), "http_unavailable");
}
