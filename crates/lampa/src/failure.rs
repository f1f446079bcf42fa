//! Everything that can go wrong, as sentences for people.

use std::error::Error;
use std::io;
use std::path::PathBuf;

use svit::{ModelError, ValueError};

/// Why a call did not do what it should.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum Failure {
    /// The call was wrong.
    #[error("{text}")]
    Usage {
        /// What to say.
        text: String,
    },
    /// An instance cannot have this name.
    #[error("an instance's name is 1 to 64 of `a-z 0-9 - _`, not {name:?}")]
    BadInstance {
        /// The name.
        name: String,
    },
    /// A value on the command line is not JSON.
    #[error("{what}: {source}{}", Hint(*.is_word))]
    Json {
        /// `value` or `input`.
        what: &'static str,
        /// What is wrong with it.
        source: ValueError,
        /// Whether it looks like a text without its quotes.
        is_word: bool,
    },
    /// It is not known where to keep instances.
    #[error("there is no data folder: set LAMPA_DATA_DIR or give --data-dir")]
    NoFolder,
    /// A folder cannot be made.
    #[error("the folder {} cannot be made", .folder.display())]
    Folder {
        /// The folder.
        folder: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A folder cannot be mounted.
    #[error("/mounts/{name}: the folder {} cannot be opened", .folder.display())]
    Mount {
        /// The name of the mount.
        name: String,
        /// The folder.
        folder: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A file cannot be read or written.
    #[error("the file {} cannot be {what}", .file.display())]
    File {
        /// `read` or `written`.
        what: &'static str,
        /// The file.
        file: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A snapshot is of another process.
    #[error(
        "the snapshot is of {address}, and the instance is {instance}: give its own --instance"
    )]
    OtherAddress {
        /// The process of the snapshot.
        address: String,
        /// The process of the instance.
        instance: String,
    },
    /// Nothing is at the path.
    #[error("there is nothing at {path}{}", AtVersion(*.at))]
    Nothing {
        /// The path.
        path: svit::Path,
        /// The version that was asked for.
        at: Option<u64>,
    },
    /// There is no model to send to.
    #[error(
        "there is no model to answer: set {variable}, or choose another with --model, then send again"
    )]
    NoModel {
        /// The variable that should hold the key.
        variable: &'static str,
    },
    /// svit refused.
    #[error(transparent)]
    Svit(#[from] svit::Error),
    /// What was typed cannot be read.
    #[error("the input cannot be read")]
    Input(#[source] io::Error),
    /// The terminal does not do what a console needs.
    #[error("the terminal cannot be used; --plain reads lines")]
    Terminal(#[source] io::Error),
    /// Something here panicked.
    #[error("the console failed inside")]
    Inside {
        /// The task that it happened in.
        source: tokio::task::JoinError,
    },
    /// The result cannot be printed.
    #[error("the result cannot be printed")]
    Output(#[from] io::Error),
    /// The async runtime did not start.
    #[error("the async runtime did not start")]
    Runtime {
        /// Why.
        source: io::Error,
    },
}

struct Hint(bool);

impl std::fmt::Display for Hint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if self.0 {
            "; a text needs its double quotes inside the shell's: '\"like this\"'"
        } else {
            ""
        })
    }
}

struct AtVersion(Option<u64>);

impl std::fmt::Display for AtVersion {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            Some(version) => write!(f, " in version {version}"),
            None => Ok(()),
        }
    }
}

/// The failure of a call that was wrong.
pub(crate) fn usage(text: impl Into<String>) -> Failure {
    Failure::Usage { text: text.into() }
}

impl Failure {
    /// A stable name for the sort of failure, in snake case.
    pub(crate) fn code(&self) -> &str {
        match self {
            Self::Usage { .. } => "usage",
            Self::BadInstance { .. } => "bad_instance",
            Self::Json { source, .. } => source.code(),
            Self::NoFolder | Self::Folder { .. } => "no_folder",
            Self::Mount { .. } => "bad_mount",
            Self::File { .. } => "file",
            Self::OtherAddress { .. } => "other_address",
            Self::Nothing { .. } => "nothing",
            Self::NoModel { .. } => "no_model",
            Self::Svit(error) => error.code(),
            Self::Input(_) | Self::Terminal(_) | Self::Output(_) => "io",
            Self::Inside { .. } => "inside",
            Self::Runtime { .. } => "runtime",
        }
    }

    /// The failure and its causes, as one sentence.
    pub(crate) fn sentence(&self) -> String {
        let mut text = self.to_string();
        let mut cause = self.source();
        while let Some(error) = cause {
            let more = error.to_string();
            // Some texts hold those of their causes already.
            if !text.contains(&more) {
                text = format!("{text}: {more}");
            }
            cause = error.source();
        }
        text
    }

    /// 2 for a wrong call, else 1.
    pub(crate) const fn exit_code(&self) -> u8 {
        match self {
            Self::Usage { .. } => 2,
            _ => 1,
        }
    }
}

impl From<lexopt::Error> for Failure {
    fn from(error: lexopt::Error) -> Self {
        Self::Usage {
            text: format!("{error}; `lampa --help` explains"),
        }
    }
}

impl From<svit::LoopError> for Failure {
    fn from(error: svit::LoopError) -> Self {
        Self::Svit(error.into())
    }
}

impl From<svit::ProcessError> for Failure {
    fn from(error: svit::ProcessError) -> Self {
        Self::Svit(error.into())
    }
}

impl From<svit::StoreError> for Failure {
    fn from(error: svit::StoreError) -> Self {
        Self::Svit(error.into())
    }
}

impl From<ValueError> for Failure {
    fn from(error: ValueError) -> Self {
        Self::Svit(error.into())
    }
}

impl From<ModelError> for Failure {
    fn from(error: ModelError) -> Self {
        match error {
            ModelError::MissingKey { variable } => Self::NoModel { variable },
            other => Self::Svit(other.into()),
        }
    }
}
