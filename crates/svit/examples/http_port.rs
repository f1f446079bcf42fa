//! An agent that may ask one server on the web, and nothing else there.
//!
//! `cargo run -p svit --example http_port` needs no key and no network: the server is on this machine,
//! and the model is scripted. A script fetches from the server with the host's key, which neither the
//! script nor the model sees; a request elsewhere is refused with words that say what is allowed.

#![allow(clippy::print_stdout, reason = "a program")]

use std::error::Error;
use std::io::{Read, Result as IoResult, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;

use svit::http::{HttpLimits, SecretString};
use svit::{HttpAllowlist, Message, Ports, Reasoner, Scripted, ScriptedReply, Svit, value};

const REFRESH: &str = r#"
(define (main input)
  (let ((answer (port-call "http" (value-map "url" (read "/memory/source")))))
    (do (write "/memory/issues" (json-parse (value-get answer "/body")))
        (value-map "status" (value-get answer "/status")))))
"#;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let origin = format!("http://{}", listener.local_addr()?);
    thread::spawn(move || {
        listener
            .incoming()
            .flatten()
            .for_each(|stream| drop(serve(stream)))
    });

    let key = SecretString::from("Bearer not-a-real-key");
    let allowlist = HttpAllowlist::new()
        .allow(&format!("{origin}/v1/"))
        .header_secret("authorization", key)
        .limits(HttpLimits {
            max_response_bytes: 10_000,
            ..HttpLimits::default()
        });

    let elsewhere = value!({"path": "/ports/http", "input": {"url": "https://example.com/"}});
    let model = Scripted::new([
        ScriptedReply::call("exec", value!({"path": "/lib/refresh", "input": null})),
        ScriptedReply::call("exec", elsewhere),
        ScriptedReply::text("There are two issues. I was not allowed to look elsewhere."),
    ]);
    let mut svit = Svit::builder("svit://local/issues")?
        .memory("source", format!("{origin}/v1/issues"))
        .library("refresh", REFRESH)
        .ports(Ports::new().http(allowlist))
        .reasoner(Reasoner::new("scripted", model))
        .build()
        .await?;
    svit.start()?;
    let answer = svit.inbox().ask(Message::user("What is open?")).await?;

    println!("answer  {}", answer.text().unwrap_or_default());
    if let Some(issues) = svit.read("/memory/issues")? {
        println!("issues  {issues}");
    }
    let mut thread = String::new();
    for event in svit.recent_events(100).await? {
        thread += &event.body.to_json()?;
    }
    let refusal = thread
        .split("https://example.com/ is not")
        .nth(1)
        .unwrap_or_default();
    println!(
        "refused https://example.com/ is not{}",
        refusal.split('"').next().unwrap_or_default()
    );
    println!(
        "the key is in the thread: {}",
        thread.contains("not-a-real-key")
    );
    svit.stop().await?;
    Ok(())
}

/// A server with two issues for whoever has the key.
fn serve(mut stream: TcpStream) -> IoResult<()> {
    let mut request = Vec::new();
    let mut piece = [0; 1_024];
    while !request.ends_with(b"\r\n\r\n") {
        match stream.read(&mut piece)? {
            0 => return Ok(()),
            n => request.extend_from_slice(&piece[..n]),
        }
    }
    let request = String::from_utf8_lossy(&request);
    let has_key = request.contains("authorization: Bearer not-a-real-key\r\n");
    let (status, body) = match has_key {
        true => (
            "200 OK",
            r#"[{"id": 1, "title": "tea is cold"}, {"id": 2, "title": "no milk"}]"#,
        ),
        false => ("401 Unauthorized", "[]"),
    };
    let length = body.len();
    write!(
        stream,
        "HTTP/1.1 {status}\r\ncontent-length: {length}\r\n\r\n{body}"
    )
}
