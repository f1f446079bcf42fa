//! The loopback model server as a program: `cargo run -p svit-testkit --example model_server -- --script FILE`.
//!
//! Prints its base URL as the first line, and serves until it is stopped. `GET /journal` (beside `/v1`)
//! shows the requests so far. `--port N` takes a port instead of a free one.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program")]

use std::process::ExitCode;

use svit_testkit::model_server::{ModelServer, Script};

const USAGE: &str = "usage: model_server --script FILE [--port N]";

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("{problem}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Box<dyn std::error::Error>> {
    let mut file = None;
    let mut port = 0;
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match (argument.as_str(), arguments.next()) {
            ("--script", Some(path)) => file = Some(path),
            ("--port", Some(number)) => port = number.parse()?,
            _ => return Err(USAGE.into()),
        }
    }
    let script = Script::from_json(&std::fs::read_to_string(file.ok_or(USAGE)?)?)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let server = ModelServer::start_on(script, port).await?;
        println!("{}", server.url());
        std::future::pending().await
    })
}
