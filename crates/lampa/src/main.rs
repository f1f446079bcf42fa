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
//! # What it does
//! An instance is a process, `svit://local/<name>`, in a database of its own below the data folder;
//! it is made at first use. Results go to standard output, for people, or with `--json` as exactly
//! one JSON value for programs. Whatever goes wrong is one sentence on standard error and exit code
//! 1, or 2 if the call itself was wrong.
//!
//! # What it does not do
//! It is no terminal interface: it neither draws nor asks. It attaches no ports and no mounts, so a
//! script or a model can reach nothing outside the process. One program at a time can use an
//! instance; a second one is refused.
//!
//! # Files
//! [`arguments`]: the call; [`folder`]: where instances are; [`instance`]: opening one; [`command`]:
//! what each subcommand does; [`page`]: values and times for people; [`failure`]: what can go wrong.

mod arguments;
mod command;
mod failure;
mod folder;
mod instance;
mod page;

use std::io::{self, Write};
use std::process::ExitCode;

use arguments::Request;
use failure::Failure;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        // The reader has gone, as `head` does when it has enough. Nobody is left to be told.
        Err(Failure::Output(error)) if error.kind() == io::ErrorKind::BrokenPipe => {
            ExitCode::SUCCESS
        }
        Err(failure) => {
            // If standard error is closed, the exit code says it alone.
            let _ = writeln!(
                io::stderr(),
                "lampa: {}",
                page::one_line(&failure.sentence())
            );
            ExitCode::from(failure.exit_code())
        }
    }
}

fn run() -> Result<(), Failure> {
    match arguments::parse(lexopt::Parser::from_env())? {
        Request::Print(text) => command::print(&text),
        Request::Run(call) => {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .map_err(|source| Failure::Runtime { source })?;
            runtime.block_on(command::run(call))
        }
    }
}
