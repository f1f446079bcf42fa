//! What can be done to an instance: the commands, as they are said and as they are typed.

use std::path::PathBuf;

use svit::{Path, Value};

use crate::failure::{Failure, usage};

/// One thing to do.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Command {
    Log { path: Option<Path> },
    Diff { from: u64, to: u64 },
    Show { path: Path, at: Option<u64> },
    Discover { path: Path },
    Stat { path: Path },
    Write { path: Path, value: Value },
    Remove { path: Path },
    Exec { path: Path, input: Value },
    Send { text: String },
    Export { file: PathBuf },
    Import { file: PathBuf },
}

/// The commands' names, as error texts list them.
pub(crate) const NAMES: &str =
    "send, log, diff, show, discover, stat, write, remove, exec, export and import";

impl Command {
    /// The command of this name, with its words; `at` is the version that was asked for.
    pub(crate) fn of(
        name: &str,
        mut words: impl Iterator<Item = String>,
        mut at: Option<String>,
    ) -> Result<Self, Failure> {
        let mut word = |what: &str| {
            let missing = || usage(format!("`{name}` needs {what}"));
            words.next().ok_or_else(missing)
        };
        let command = match name {
            "log" => Self::Log {
                path: words.next().as_deref().map(path).transpose()?,
            },
            "diff" => Self::Diff {
                from: version("diff", &word("two versions")?)?,
                to: version("diff", &word("a second version")?)?,
            },
            "show" | "read" => Self::Show {
                path: path(&word("a path")?)?,
                at: at.take().map(|at| version("--at", &at)).transpose()?,
            },
            "discover" => Self::Discover {
                path: path(&word("a path")?)?,
            },
            "stat" => Self::Stat {
                path: path(&word("a path")?)?,
            },
            "write" => Self::Write {
                path: path(&word("a path and a JSON value")?)?,
                value: json("value", &word("a JSON value")?)?,
            },
            "remove" => Self::Remove {
                path: path(&word("a path")?)?,
            },
            "exec" => Self::Exec {
                path: path(&word("a path and a JSON input")?)?,
                input: json("input", &word("a JSON input")?)?,
            },
            "send" => Self::Send {
                text: word("a text")?,
            },
            "export" => Self::Export {
                file: word("a file")?.into(),
            },
            "import" => Self::Import {
                file: word("a file")?.into(),
            },
            _ => return Err(usage(format!("`{name}` is no command; there are {NAMES}"))),
        };
        if let Some(extra) = words.next() {
            return Err(usage(format!(
                "`{name}` does not take `{extra}`; quote what has spaces"
            )));
        }
        if at.is_some() {
            return Err(usage(format!("`{name}` does not take --at")));
        }
        Ok(command)
    }

    /// What it is called.
    pub(crate) const fn name(&self) -> &'static str {
        match self {
            Self::Log { .. } => "log",
            Self::Diff { .. } => "diff",
            Self::Show { .. } => "show",
            Self::Discover { .. } => "discover",
            Self::Stat { .. } => "stat",
            Self::Write { .. } => "write",
            Self::Remove { .. } => "remove",
            Self::Exec { .. } => "exec",
            Self::Send { .. } => "send",
            Self::Export { .. } => "export",
            Self::Import { .. } => "import",
        }
    }

    /// Whether it can meet what is outside of the process, so that mounts and ports are attached.
    pub(crate) fn reaches_outside(&self) -> bool {
        match self {
            Self::Send { .. } | Self::Exec { .. } => true,
            Self::Show { path, at: None }
            | Self::Discover { path }
            | Self::Stat { path }
            | Self::Write { path, .. }
            | Self::Remove { path } => path.segments().next() == Some("mounts"),
            _ => false,
        }
    }
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

fn version(what: &str, word: &str) -> Result<u64, Failure> {
    let bad = |_| {
        usage(format!(
            "`{what}` needs the number of a version, not `{word}`"
        ))
    };
    word.parse().map_err(bad)
}
