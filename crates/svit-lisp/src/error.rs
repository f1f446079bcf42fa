//! `LispError`: why a program text is refused before it runs.

use svit_tree::guest::{GuestError, GuestErrorKind, Position};
use svit_value::Text;

/// The most bytes of one message of this crate.
pub(crate) const MAX_MESSAGE_BYTES: usize = 1_024;

/// Why a program, or the value that should hold one, is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LispError {
    /// The text is not a program of this language.
    #[error("{problem}")]
    Syntax {
        /// Where in the text.
        at: Position,
        /// Stable, in snake case.
        code: &'static str,
        /// What is wrong, and what to write instead.
        problem: String,
    },
    /// The text is larger than a limit allows.
    #[error("the program is past the limit {limit}: at most {allowed}")]
    Limit {
        /// Where the limit was passed.
        at: Position,
        /// Name of the limit.
        limit: &'static str,
        /// What it allows.
        allowed: u64,
    },
    /// A value that should be `{source, documentation?, language?}` is something else.
    #[error("not a script: {problem}")]
    NotAScript {
        /// What is wrong with it.
        problem: String,
    },
}

impl LispError {
    /// Stable, in snake case.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Syntax { code, .. } => code,
            Self::Limit { limit, .. } => limit,
            Self::NotAScript { .. } => "not_a_script",
        }
    }

    /// Where in the text, if the error is about text.
    pub fn at(&self) -> Option<Position> {
        match self {
            Self::Syntax { at, .. } | Self::Limit { at, .. } => Some(*at),
            Self::NotAScript { .. } => None,
        }
    }

    /// The same as an error of the guest seam; `name` is the path of the program.
    pub(crate) fn into_guest(self, name: &str) -> GuestError {
        let kind = match self {
            Self::Limit { .. } => GuestErrorKind::Limit,
            _ => GuestErrorKind::Syntax,
        };
        let mut error = GuestError::new(
            kind,
            self.code(),
            located(name, self.at(), &self.to_string()),
        );
        error.at = self.at();
        error
    }
}

/// `message` with the program's file name and the place before it, cut to the cap.
pub(crate) fn located(name: &str, at: Option<Position>, message: &str) -> Text {
    let text = match at {
        Some(at) => format!(
            "{}.svit-script:{}:{}: {message}",
            clip(name, 300),
            at.line,
            at.column
        ),
        None => format!("{}.svit-script: {message}", clip(name, 300)),
    };
    Text::from(clip(&text, MAX_MESSAGE_BYTES))
}

/// The longest prefix of `text` of at most `max` bytes that ends between two characters.
pub(crate) fn clip(text: &str, max: usize) -> &str {
    if text.len() <= max {
        return text;
    }
    let mut end = max;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}
