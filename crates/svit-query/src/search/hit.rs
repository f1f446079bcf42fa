//! What a search found: hits, and what ended it early.

use std::ops::Range;

use svit_tree::Path;
use svit_tree::guest::HostError;
use svit_value::Text;

/// One match.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hit {
    /// The node.
    pub path: Path,
    /// Whether it is in the node's key or in its text.
    pub part: Part,
    /// The match in the whole key or text, in bytes. Never empty.
    pub range: Range<usize>,
    /// A piece of the key or text around the match, at most
    /// [`max_excerpt`](super::SearchOptions::max_excerpt) bytes and cut between characters. Of a
    /// match longer than that it is the start.
    pub excerpt: Text,
    /// Where the excerpt starts in the whole key or text, in bytes.
    pub excerpt_start: usize,
}

/// Where in a node a match is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Part {
    /// In the key that the node has in its map.
    Key,
    /// In the text that the node is.
    Text,
}

/// What a search found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The matches, in tree order.
    pub hits: Vec<Hit>,
    /// What ended the search early; none if everything below the path was looked at.
    pub cut: Option<Cut>,
    /// How many nodes were looked at.
    pub nodes: u64,
    /// How many nodes were left out, with all below them, because no path can name them: their key
    /// is empty, `.` or `..`, has a NUL, or makes the path too long.
    pub unnamed: u64,
    /// The nodes of mounts that could not be looked at, with all below them, in tree order; the first
    /// [`MAX_FAILURES`] of them.
    pub failures: Vec<Failure>,
    /// How many more there were.
    pub more_failures: u64,
}

/// The most [`Found::failures`].
pub const MAX_FAILURES: usize = 100;

/// A node of a mount that could not be looked at. The search went on with the next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The node.
    pub at: Path,
    /// Why, as the source of the mount's contents said it: with a stable code.
    pub why: HostError,
}

/// What ended a search early, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cut {
    /// The bound that was reached.
    pub bound: Bound,
    /// The first node that was not looked at, or not to its end. Nothing before it was missed.
    pub at: Path,
}

/// A bound of [`SearchOptions`](super::SearchOptions).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Bound {
    /// `max_nodes`.
    Nodes,
    /// `max_hits`, and there was one more.
    Hits,
}

impl Bound {
    /// The name of the option: `max_nodes` or `max_hits`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Nodes => "max_nodes",
            Self::Hits => "max_hits",
        }
    }
}

impl Part {
    /// `key` or `text`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Key => "key",
            Self::Text => "text",
        }
    }
}
