//! Everything that can be wrong with a path, an address or an edit.

use svit_value::{Kind, Text, ValueError};

use crate::Path;

/// Why a path, an address or an edit was refused.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum TreeError {
    /// The text is not a path.
    #[error("bad path {:?} at byte {at}: {why}", shown(text))]
    BadPath {
        /// The text as it was given, cut at 200 bytes.
        text: String,
        /// Where it went wrong, in bytes.
        at: usize,
        /// What is wrong there.
        why: &'static str,
    },
    /// The text is not an address.
    #[error("bad address {:?} at byte {at}: {why}", shown(text))]
    BadAddress {
        /// The text as it was given, cut at 200 bytes.
        text: String,
        /// Where it went wrong, in bytes.
        at: usize,
        /// What is wrong there.
        why: &'static str,
    },
    /// An edit names a place whose parent does not exist.
    #[error("{path}: there is no container at {parent}")]
    NoParent {
        /// What was to be edited.
        path: Path,
        /// The container that is missing.
        parent: Path,
    },
    /// An edit needs another kind of value at a place.
    #[error("{path}: expected {expected}, found {found}")]
    WrongKind {
        /// The place.
        path: Path,
        /// What the edit needs.
        expected: &'static str,
        /// What is there.
        found: Kind,
    },
    /// A list index is past the end.
    #[error("{path}: index {index} is outside a list of {len}")]
    OutOfRange {
        /// The list.
        path: Path,
        /// The index.
        index: String,
        /// Its length.
        len: usize,
    },
    /// There is nothing to remove.
    #[error("{path}: nothing is there")]
    Missing {
        /// The place.
        path: Path,
    },
    /// A name directly below `/` that the layout does not have.
    #[error("/{name} is not a node of the namespace")]
    NotANode {
        /// The name.
        name: Text,
    },
    /// A stored edit is not in the form that this version writes.
    #[error("stored mutation: {why}")]
    BadMutation {
        /// What is wrong with it.
        why: String,
    },
    /// A value broke a limit.
    #[error("{path}: {source}")]
    Value {
        /// Where it was to go.
        path: Path,
        /// What it broke.
        source: ValueError,
    },
}

impl TreeError {
    /// A stable name for the sort of failure, in snake case.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::BadPath { .. } => "bad_path",
            Self::BadAddress { .. } => "bad_address",
            Self::NoParent { .. } => "no_parent",
            Self::WrongKind { .. } => "wrong_kind",
            Self::OutOfRange { .. } => "out_of_range",
            Self::Missing { .. } => "missing",
            Self::NotANode { .. } => "not_a_node",
            Self::BadMutation { .. } => "bad_mutation",
            Self::Value { .. } => "value",
        }
    }
}

/// A text in quotes. A script may keep an error that it caught, so no table of Unicode may decide what
/// is escaped, as it does for `str`.
fn shown(text: &str) -> Text {
    Text::from(text)
}

/// The start of a text that is quoted in an error.
pub(crate) fn quote(text: &str) -> String {
    let mut end = text.len().min(200);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text[..end].to_owned()
}
