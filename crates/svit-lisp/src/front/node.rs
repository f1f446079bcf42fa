//! `Node`: one form of a program as it was read, with its place.

use std::sync::Arc;

use svit_tree::guest::Position;

/// A form and where it starts.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) at: Position,
    pub(crate) kind: NodeKind,
}

/// What a form is.
#[derive(Clone, Debug)]
pub(crate) enum NodeKind {
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(String),
    Bytes(Vec<u8>),
    Name(Arc<str>),
    Keyword(Arc<str>),
    List(Vec<Node>),
    Quote(Box<Node>),
    Quasi(Box<Node>),
    Unquote(Box<Node>),
    Splice(Box<Node>),
}

impl Node {
    /// The name that this node is, if it is one.
    pub(crate) fn name(&self) -> Option<&Arc<str>> {
        match &self.kind {
            NodeKind::Name(name) => Some(name),
            _ => None,
        }
    }

    /// What to call it in a message.
    pub(crate) fn what(&self) -> &'static str {
        match &self.kind {
            NodeKind::Bool(_) => "a boolean",
            NodeKind::Int(_) | NodeKind::Float(_) => "a number",
            NodeKind::Text(_) => "a string",
            NodeKind::Bytes(_) => "bytes",
            NodeKind::Name(_) => "a name",
            NodeKind::Keyword(_) => "a keyword",
            NodeKind::List(_) => "a list",
            NodeKind::Quote(_) | NodeKind::Quasi(_) => "a quoted form",
            NodeKind::Unquote(_) | NodeKind::Splice(_) => "a comma",
        }
    }
}
