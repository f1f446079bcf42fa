//! The command line, parsed once into types.

use std::ffi::OsString;
use std::path::PathBuf;

use lexopt::{Arg, Parser, ValueExt};
use svit::{Path, Value};

use crate::failure::Failure;
use crate::folder::InstanceName;

/// What `--help` prints.
pub(crate) const HELP: &str = "\
lampa: the console over one persisted process of svit

usage: lampa [--instance NAME] [--data-dir DIR] [--json] COMMAND

commands
  log                         every version, with the paths that it changed
  show PATH [--at VERSION]    the value at a path, now or at a version
  write PATH JSON             set a value below /memory or /lib
  exec PATH INPUT_JSON        run a script of /lib and commit what it did
  send TEXT [--model ID]      send a message and print the model's answer

options
  --instance NAME    which process, svit://local/NAME; made at first use (default: default)
  --data-dir DIR     where instances are kept (default: LAMPA_DATA_DIR, or the platform's data folder)
  --json             print one JSON value, for programs
  --help, --version

`send` needs OPENAI_API_KEY. OPENAI_BASE_URL chooses another server, SVIT_MODEL another model.
";

/// What the caller wants.
#[derive(Debug, PartialEq)]
pub(crate) enum Request {
    /// A text of ours: the help, the version.
    Print(String),
    /// Something to be done to an instance.
    Run(Call),
}

/// One thing to be done to one instance.
#[derive(Debug, PartialEq)]
pub(crate) struct Call {
    pub(crate) instance: InstanceName,
    pub(crate) data_dir: Option<PathBuf>,
    pub(crate) json: bool,
    pub(crate) command: Command,
}

/// What to do.
#[derive(Debug, PartialEq)]
pub(crate) enum Command {
    Log,
    Show { path: Path, at: Option<u64> },
    Write { path: Path, value: Value },
    Exec { path: Path, input: Value },
    Send { text: String, model: Option<String> },
}

/// What was said, before it is known which command it belongs to.
#[derive(Default)]
struct Words {
    instance: Option<String>,
    data_dir: Option<PathBuf>,
    json: bool,
    at: Option<String>,
    model: Option<String>,
    plain: Vec<String>,
}

/// Reads the command line.
pub(crate) fn parse(mut parser: Parser) -> Result<Request, Failure> {
    let mut words = Words::default();
    loop {
        // `lampa write /memory/x -5`: a number is never an option.
        if let Some(number) = negative_number(&mut parser) {
            words.plain.push(text(number)?);
            continue;
        }
        let Some(arg) = parser.next()? else { break };
        match arg {
            Arg::Long("instance") => words.instance = Some(text(parser.value()?)?),
            Arg::Long("data-dir") => words.data_dir = Some(parser.value()?.into()),
            Arg::Long("json") => words.json = true,
            Arg::Long("at") => words.at = Some(text(parser.value()?)?),
            Arg::Long("model") => words.model = Some(text(parser.value()?)?),
            Arg::Long("help") | Arg::Short('h') => return Ok(Request::Print(HELP.to_owned())),
            Arg::Long("version") | Arg::Short('V') => {
                let version = concat!("lampa ", env!("CARGO_PKG_VERSION"), "\n");
                return Ok(Request::Print(version.to_owned()));
            }
            Arg::Value(value) => words.plain.push(text(value)?),
            other => return Err(other.unexpected().into()),
        }
    }
    words.request().map(Request::Run)
}

fn negative_number(parser: &mut Parser) -> Option<OsString> {
    let mut raw = parser.try_raw_args()?;
    let word = raw.peek()?.to_str()?;
    let digits = word.strip_prefix('-')?;
    digits
        .starts_with(|c: char| c.is_ascii_digit())
        .then(|| raw.next())?
}

fn text(word: OsString) -> Result<String, Failure> {
    Ok(word.string()?)
}

impl Words {
    fn request(self) -> Result<Call, Failure> {
        let mut plain = self.plain.into_iter();
        let Some(name) = plain.next() else {
            return Err(usage(
                "say what to do: log, show, write, exec or send; `lampa --help` explains",
            ));
        };
        let mut word = |what: &str| {
            let missing = || usage(format!("`{name}` needs {what}"));
            plain.next().ok_or_else(missing)
        };
        let (mut at, mut model) = (self.at, self.model);
        let command = match name.as_str() {
            "log" => Command::Log,
            "show" => Command::Show {
                path: path(&word("a path")?)?,
                at: at.take().map(version).transpose()?,
            },
            "write" => Command::Write {
                path: path(&word("a path and a JSON value")?)?,
                value: json("value", &word("a JSON value")?)?,
            },
            "exec" => Command::Exec {
                path: path(&word("a path and a JSON input")?)?,
                input: json("input", &word("a JSON input")?)?,
            },
            "send" => Command::Send {
                text: word("a text")?,
                model: model.take(),
            },
            _ => {
                return Err(usage(format!(
                    "`{name}` is no command; there are log, show, write, exec and send"
                )));
            }
        };
        if let Some(extra) = plain.next() {
            return Err(usage(format!(
                "`{name}` does not take `{extra}`; quote what has spaces"
            )));
        }
        for (option, given) in [("--at", at), ("--model", model)] {
            if given.is_some() {
                return Err(usage(format!("`{name}` does not take {option}")));
            }
        }
        Ok(Call {
            instance: InstanceName::parse(self.instance.as_deref().unwrap_or("default"))?,
            data_dir: self.data_dir,
            json: self.json,
            command,
        })
    }
}

fn usage(text: impl Into<String>) -> Failure {
    Failure::Usage { text: text.into() }
}

// A malformed path or value is an error of what was given, not of how the command was called.

fn path(word: &str) -> Result<Path, Failure> {
    Ok(Path::parse(word).map_err(svit::Error::from)?)
}

fn json(what: &'static str, word: &str) -> Result<Value, Failure> {
    Value::from_json(word).map_err(|source| Failure::Json {
        what,
        source,
        is_word: word.starts_with(char::is_alphabetic),
    })
}

fn version(word: String) -> Result<u64, Failure> {
    let bad = |_| {
        usage(format!(
            "`--at` needs the number of a version, not `{word}`"
        ))
    };
    word.parse().map_err(bad)
}

#[cfg(test)]
mod tests;
