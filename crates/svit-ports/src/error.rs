//! Everything that can be wrong with a port or a call of one.

use std::fmt;

use svit_value::{Text, ValueError};

/// Why a port was not added, or a call gave no result.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum PortError {
    /// A port's name is not allowed.
    #[error("a port's name is 1 to 64 of `A-Z a-z 0-9 _ - .`, a letter first, not {name:?}")]
    BadName {
        /// The name, cut at 200 bytes.
        name: String,
    },
    /// Two ports with one name.
    #[error("there is a port {port:?} already")]
    Duplicate {
        /// The name.
        port: Text,
    },
    /// Something else in a descriptor is not allowed.
    #[error("the {field} of port {port:?} is not allowed: {why}")]
    BadDescriptor {
        /// The port.
        port: Text,
        /// The field of the descriptor or of its limits.
        field: &'static str,
        /// What is wrong with it.
        why: String,
    },
    /// A manual cannot be held as a value.
    #[error("the manual of a port cannot be kept: {0}")]
    Value(#[from] ValueError),
    /// No port of this name is granted.
    #[error("there is no port {:?}", Text::from(name.as_str()))]
    NoSuchPort {
        /// The name, cut at 200 bytes.
        name: String,
    },
    /// An input or an output is larger than the port's limit. A port whose output is too large has
    /// run: its effects, if any, took place.
    #[error("the {direction} of port {port:?} has {actual} bytes, at most {allowed} are allowed")]
    TooLarge {
        /// The port.
        port: Text,
        /// Which of the two.
        direction: Direction,
        /// The limit, in bytes of the plain encoding.
        allowed: u64,
        /// The size, in bytes of the plain encoding.
        actual: u64,
    },
    /// The port could not do it, and says why.
    #[error("port {port:?} failed: {message}")]
    Failed {
        /// The port.
        port: Text,
        /// The port's own name for the reason.
        reason: Text,
        /// The port's own words, cut at 1 KiB.
        message: Text,
    },
    /// The port panicked. What it did before is not known. The panic's text is not repeated here: it
    /// may hold what callers must not see.
    #[error("port {port:?} failed inside and was stopped")]
    Panicked {
        /// The port.
        port: Text,
    },
}

/// Whether data goes into a port or comes out of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// Into the port.
    Input,
    /// Out of the port.
    Output,
}

impl fmt::Display for Direction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Input => "input",
            Self::Output => "output",
        })
    }
}

impl PortError {
    /// A stable name for the sort of failure, in snake case.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::BadName { .. } => "bad_port_name",
            Self::Duplicate { .. } => "duplicate_port",
            Self::BadDescriptor { .. } => "bad_port_descriptor",
            Self::Value(_) => "bad_port_manual",
            Self::NoSuchPort { .. } => "no_such_port",
            Self::TooLarge {
                direction: Direction::Input,
                ..
            } => "port_input_too_large",
            Self::TooLarge {
                direction: Direction::Output,
                ..
            } => "port_output_too_large",
            Self::Failed { .. } => "port_failed",
            Self::Panicked { .. } => "port_panicked",
        }
    }
}

/// The start of a text, at most `most` bytes, cut between characters.
pub(crate) fn cut(text: &str, most: usize) -> &str {
    &text[..text.floor_char_boundary(most)]
}
