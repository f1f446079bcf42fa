//! The command line, parsed once into types.

use std::ffi::OsString;
use std::path::PathBuf;

use lexopt::{Arg, Parser, ValueExt};

use crate::command::Command;
use crate::failure::{Failure, usage};
use crate::folder::InstanceName;
use crate::grants::FolderGrant;

/// What `--help` prints.
pub(crate) const HELP: &str = "\
lampa: the console over one persisted process of svit

usage: lampa [OPTIONS] [COMMAND]

without a command it opens the console; without a terminal, or with --plain, it reads lines:
what begins with `:` is a command, everything else is a message to the model; `:help` lists them

commands
  send TEXT                   send a message and print the model's answer
  log [PATH]                  every version, or those that changed a path, with what it changed
  diff A B                    what differs between two versions
  show PATH [--at VERSION]    the value at a path, now or at a version
  discover PATH               the names below a path
  stat PATH                   facts about a path
  write PATH JSON             set a value below /memory, /lib, or a mount that is writable
  remove PATH                 remove what is there
  exec PATH INPUT_JSON        run a script of /lib and commit what it did
  export FILE                 write a snapshot to a new file; as JSON if its name ends with .json
  import FILE                 make the instance from a snapshot

options
  --instance NAME         which process, svit://local/NAME; made at first use (default: default)
  --data-dir DIR          where instances are kept (default: LAMPA_DATA_DIR, or the platform's data folder)
  --mount NAME=FOLDER     show a folder at /mounts/NAME, to be read (repeatable)
  --mount-rw NAME=FOLDER  the same, to be read and written
  --model ID              the model that answers (default: SVIT_MODEL); anthropic:ID, gemini:ID
                          and ollama:ID are those of others than OpenAI
  --plain                 lines of text, also on a terminal
  --json                  one JSON value for each result, for programs
  --help, --version

The console, `send` and `exec` mount the current folder, to be read, at /mounts/cwd.
A model needs its key: OPENAI_API_KEY, ANTHROPIC_API_KEY or GEMINI_API_KEY; Ollama needs none. Another server
is chosen by OPENAI_BASE_URL, ANTHROPIC_BASE_URL, GEMINI_BASE_URL or OLLAMA_BASE_URL.
";

/// What the caller wants.
#[derive(Debug, PartialEq)]
pub(crate) enum Request {
    /// A text of ours: the help, the version.
    Print(String),
    /// Something to be done to an instance.
    Run(Call),
}

/// What is to be done to one instance.
#[derive(Debug, PartialEq)]
pub(crate) struct Call {
    pub(crate) instance: InstanceName,
    pub(crate) data_dir: Option<PathBuf>,
    pub(crate) mounts: Vec<FolderGrant>,
    pub(crate) model: Option<String>,
    pub(crate) json: bool,
    pub(crate) plain: bool,
    /// One thing to do; without one the console opens.
    pub(crate) command: Option<Command>,
}

/// What was said, before it is known which command it belongs to.
#[derive(Default)]
struct Words {
    instance: Option<String>,
    data_dir: Option<PathBuf>,
    mounts: Vec<FolderGrant>,
    json: bool,
    is_plain: bool,
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
            Arg::Long("plain") => words.is_plain = true,
            Arg::Long("mount") => words
                .mounts
                .push(FolderGrant::parse(parser.value()?, false)?),
            Arg::Long("mount-rw") => words
                .mounts
                .push(FolderGrant::parse(parser.value()?, true)?),
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
        let command = match plain.next() {
            Some(name) => Some(Command::of(&name, plain, self.at)?),
            None if self.at.is_some() => return Err(usage("the console does not take --at")),
            None => None,
        };
        if let Some(command) = &command
            && self.model.is_some()
            && !matches!(command, Command::Send { .. } | Command::Exec { .. })
        {
            return Err(usage(format!("`{}` does not take --model", command.name())));
        }
        Ok(Call {
            instance: InstanceName::parse(self.instance.as_deref().unwrap_or("default"))?,
            data_dir: self.data_dir,
            mounts: self.mounts,
            model: self.model,
            json: self.json,
            plain: self.is_plain,
            command,
        })
    }
}

#[cfg(test)]
mod tests;
