//! Checks and measurements of this workspace, run as `cargo xtask NAME`.
//!
//! Every rule of `ARCHITECTURE.md` that a program can check is checked here, as a table of data and a
//! pure function over what `cargo` and `git` say, so that each rule has a test in which it is broken on
//! purpose. Nothing here is part of a product, and nothing else in the workspace may depend on it.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command line tool talks to its user"
)]

mod bench;
mod command;
mod examples;
mod features;
mod finding;
mod fuzz;
mod knowledge;
mod layers;
mod links;
mod schema;
mod source;
mod threats;
mod tidy;
mod workspace;

use std::process::ExitCode;

const USAGE: &str = "\
cargo xtask NAME

  layers              who may use whom, and what may not appear where (ARCHITECTURE.md)
  tidy                module heads, file lengths, lint exceptions, registry hosts, links, threat ids, knowledge/
  knowledge           only the checks of knowledge/ (Open Knowledge Format 0.2)
  features [CRATE]    every crate without features, with each alone, and with all (clippy, warnings are errors)
  examples [NAME]     builds every example and runs it in an empty directory, without keys
  bench [--only NAME] [--json FILE]
                      runs every bench that prints rows, and prints them as one table
  schema [--check]    writes schema/control/v1/schema.json from the code, or fails if it is another one
  fuzz [TARGET] [--seconds N]
                      builds the fuzz targets and runs each for a while
";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    let outcome = match words.as_slice() {
        ["layers"] => layers::command(),
        ["tidy"] => tidy::command(),
        ["knowledge"] => knowledge::command(),
        ["features"] => features::command(None),
        ["features", only] => features::command(Some(only)),
        ["examples"] => examples::command(None),
        ["examples", only] => examples::command(Some(only)),
        ["bench", rest @ ..] => bench::command(rest),
        ["schema"] => schema::command(schema::Then::Write),
        ["schema", "--check"] => schema::command(schema::Then::Compare),
        ["fuzz", rest @ ..] => fuzz::command(rest),
        [] | ["help" | "--help" | "-h"] => {
            print!("{USAGE}");
            Ok(())
        }
        _ => Err(format!("unknown command `{}`\n\n{USAGE}", words.join(" "))),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(text) => {
            eprintln!("xtask: {text}");
            ExitCode::FAILURE
        }
    }
}
