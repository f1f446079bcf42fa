//! lampa: the console people run, over one persisted process of svit.
//!
//! Each call opens the instance, does one thing, and closes it again:
//!
//! ```text
//! lampa write /memory/color '"teal"'
//! lampa show /memory
//! lampa log
//! lampa show /memory/color --at 1
//! OPENAI_API_KEY=.. lampa send "Which color do we release?"
//! ```
//!
//! Without a command it opens the console: conversation, tree, value and history on a terminal, or
//! lines of text where there is none and with `--plain`.
//!
//! # What it does
//! An instance is a process, `svit://local/<name>`, in a database of its own below the data folder;
//! it is made at first use. Results go to standard output, for people, or with `--json` as exactly
//! one JSON value for programs. Whatever goes wrong is one sentence on standard error and exit code
//! 1, or 2 if the call itself was wrong.
//!
//! The console, and every command that can meet what is outside, mounts the current folder, to be
//! read, at `/mounts/cwd`, and the folders of `--mount` and `--mount-rw`. It is a console for research:
//! the port `http` is unrestricted, and with a key the ports `llm` and `spawn` let scripts ask the model
//! and have forks of the process answer. What can be reached is said when the console opens.
//!
//! # What it does not do
//! It keeps no copy of the tree: names, facts and values are asked for as they are looked at, a
//! bounded piece at a time. No text of a process reaches the terminal with a control character in
//! it. One program at a time can use an instance; a second one is refused.
//!
//! # Files
//! [`arguments`]: the call; [`command`]: what can be done; [`mod@line`]: the same, typed; [`folder`]:
//! where instances are; [`instance`]: opening one; [`model`]: who answers; [`grants`]: what it can reach; [`session`]: all of
//! it, with the loop; [`results`]: doing what a command says; [`diff`], [`place`], [`excerpt`]: what
//! is shown of versions, trees and values; [`page`], [`printable`]: for people's eyes; [`plain`]: the
//! console in lines; [`console`]: the console on a screen; [`failure`]: what can go wrong.

mod arguments;
mod command;
mod console;
mod diff;
mod excerpt;
mod failure;
mod folder;
mod grants;
mod instance;
mod line;
mod model;
mod page;
mod place;
mod plain;
mod printable;
mod results;
mod session;

use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;

use arguments::{Call, Request};
use failure::Failure;
use session::Session;

fn main() -> ExitCode {
    match run() {
        Ok(all_done) => ExitCode::from(u8::from(!all_done)),
        // The reader has gone, as `head` does when it has enough. Nobody is left to be told.
        Err(Failure::Output(error)) if error.kind() == io::ErrorKind::BrokenPipe => {
            ExitCode::SUCCESS
        }
        Err(failure) => {
            // If standard error is closed, the exit code says it alone.
            let _ = writeln!(
                io::stderr(),
                "lampa: {}",
                printable::one_line(&failure.sentence())
            );
            ExitCode::from(failure.exit_code())
        }
    }
}

/// Gives back whether everything that was asked for could be done.
fn run() -> Result<bool, Failure> {
    match arguments::parse(lexopt::Parser::from_env())? {
        Request::Print(text) => results::print(&text).map(|()| true),
        Request::Run(call) => {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .map_err(|source| Failure::Runtime { source })?;
            let done = runtime.block_on(perform(call));
            // A mount that hangs does not keep the program from ending.
            runtime.shutdown_background();
            done
        }
    }
}

async fn perform(mut call: Call) -> Result<bool, Failure> {
    let as_json = call.json;
    match call.command.take() {
        Some(command) => {
            let session = Session::for_command(call, &command).await?;
            let result = results::perform(&session, command).await;
            let closed = session.close().await;
            let shown = result?;
            closed?;
            shown.print(as_json).map(|()| true)
        }
        None if call.plain || as_json || !has_terminal() => {
            let session = Session::for_console(call).await?;
            let result = plain::run(&session, as_json).await;
            let closed = session.leave().await;
            let all_done = result?;
            closed.map(|()| all_done)
        }
        None => {
            let session = Session::for_console(call).await?;
            let result = console::run(&session).await;
            let closed = session.leave().await;
            result?;
            closed.map(|()| true)
        }
    }
}

/// Whether a screen can be drawn, and keys read.
fn has_terminal() -> bool {
    let is_dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    io::stdin().is_terminal() && io::stdout().is_terminal() && !is_dumb
}
