//! The loopback model server as a program of its own.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

/// Stops the program when the test is over, however it ends.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The example beside this test, or `None` after saying why there is none.
fn program() -> Option<PathBuf> {
    let mut path = std::env::current_exe().unwrap();
    path.pop();
    path.pop();
    path.push("examples");
    path.push(format!("model_server{}", std::env::consts::EXE_SUFFIX));
    if path.exists() {
        return Some(path);
    }
    println!(
        "skipped: {} is not built; a plain `cargo test` builds it",
        path.display()
    );
    None
}

fn script(name: &str, text: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("svit-script-{}-{name}.json", std::process::id()));
    std::fs::write(&path, text).unwrap();
    path
}

fn http(address: &str, method: &str, path: &str, body: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(
        stream,
        "{method} {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\nauthorization: Bearer k\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn it_prints_its_url_answers_and_shows_its_journal() {
    let Some(program) = program() else { return };
    let script = script(
        "good",
        r#"{"key": "k", "replies": [{"text": "Hello there."}]}"#,
    );
    let child = Command::new(program)
        .arg("--script")
        .arg(&script)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut running = Running(child);
    let mut url = String::new();
    BufReader::new(running.0.stdout.take().unwrap())
        .read_line(&mut url)
        .unwrap();
    let address = url
        .trim()
        .strip_prefix("http://")
        .unwrap()
        .strip_suffix("/v1")
        .unwrap();
    let asked = r#"{"model": "m", "messages": [{"role": "user", "content": "Hi"}]}"#;
    let answer = http(address, "POST", "/v1/chat/completions", asked);
    assert!(
        answer.starts_with("HTTP/1.1 200") && answer.contains("Hello there."),
        "{answer}"
    );
    let wrong = http(address, "POST", "/v1/chat/completions", "{}");
    assert!(
        wrong.starts_with("HTTP/1.1 400") && wrong.contains("invalid_request_error"),
        "{wrong}"
    );
    let journal = http(address, "GET", "/journal", "");
    assert!(
        journal.contains("answered") && journal.contains("refused"),
        "{journal}"
    );
    std::fs::remove_file(script).unwrap();
}

#[test]
fn a_wrong_script_stops_it_with_the_place() {
    let Some(program) = program() else { return };
    let script = script("bad", r#"{"replies": [{"txt": "a"}]}"#);
    let output = Command::new(&program)
        .arg("--script")
        .arg(&script)
        .output()
        .unwrap();
    assert!(!output.status.success());
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(
        said.contains("replies[0]") && said.contains("txt"),
        "{said}"
    );
    std::fs::remove_file(script).unwrap();
    for arguments in [&["--script"][..], &["--what", "x"], &[]] {
        let output = Command::new(&program).args(arguments).output().unwrap();
        assert!(
            !output.status.success() && String::from_utf8(output.stderr).unwrap().contains("usage")
        );
    }
}
