//! Messages: what people, models and tools say, in the one form that is shown, sent and stored.

mod stored;
#[cfg(test)]
mod tests;

use std::fmt;
use std::num::ParseIntError;
use std::str::FromStr;

use svit_value::Value;

use crate::tool::{ToolCall, ToolResult};

/// One message of a conversation: who speaks, and parts in order.
///
/// Messages are plain data. Their stored form ([`to_value`](Self::to_value), [`from_value`](Self::from_value))
/// is lossless and strict.
///
/// ```
/// use svit_model::{Message, Role};
///
/// let message = Message::user("Which color?");
/// assert_eq!(message.role, Role::User);
/// assert_eq!(message.text(), Some("Which color?"));
/// assert_eq!(Message::from_value(&message.to_value()?)?, message);
/// # Ok::<(), svit_model::ModelError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Who speaks.
    pub role: Role,
    /// What is said, in order.
    pub parts: Vec<ContentPart>,
    id: Option<MessageId>,
    in_reply_to: Option<MessageId>,
}

/// Who speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// The person or program that asks.
    User,
    /// The model.
    Assistant,
    /// The results of tools that the model called.
    Tool,
}

/// A part of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ContentPart {
    /// Text.
    Text(String),
    /// A tool that the model wants to run.
    ToolCall(ToolCall),
    /// What a tool gave back.
    ToolResult(ToolResult),
    /// Something that only the provider understands (sealed reasoning), given back to it unchanged.
    /// A provider ignores kinds that are not its own.
    Opaque {
        /// Whose it is, such as `openai.responses.item`.
        kind: String,
        /// The provider's data.
        data: Value,
    },
}

/// The number of a message in its process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MessageId(u64);

impl Message {
    /// A message of several parts.
    pub fn new(role: Role, parts: Vec<ContentPart>) -> Self {
        Self {
            role,
            parts,
            id: None,
            in_reply_to: None,
        }
    }

    /// A user's message.
    pub fn user(text: impl Into<String>) -> Self {
        Self::new(Role::User, vec![ContentPart::Text(text.into())])
    }

    /// A model's message.
    pub fn assistant(text: impl Into<String>) -> Self {
        Self::new(Role::Assistant, vec![ContentPart::Text(text.into())])
    }

    /// The results of the tools that the message before called.
    pub fn tool(results: impl IntoIterator<Item = ToolResult>) -> Self {
        Self::new(
            Role::Tool,
            results.into_iter().map(ContentPart::ToolResult).collect(),
        )
    }

    /// The same message with its number.
    #[must_use]
    pub fn with_id(mut self, id: MessageId) -> Self {
        self.id = Some(id);
        self
    }

    /// The same message as an answer to another.
    #[must_use]
    pub fn with_in_reply_to(mut self, id: MessageId) -> Self {
        self.in_reply_to = Some(id);
        self
    }

    /// The message's number, if it was given one.
    pub fn id(&self) -> Option<MessageId> {
        self.id
    }

    /// The number of the message that this one answers.
    pub fn in_reply_to(&self) -> Option<MessageId> {
        self.in_reply_to
    }

    /// The first text part. A model's final answer has at most one; for others see [`texts`](Self::texts).
    pub fn text(&self) -> Option<&str> {
        self.texts().next()
    }

    /// All text parts, in order.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().filter_map(|part| match part {
            ContentPart::Text(text) => Some(text.as_str()),
            _ => None,
        })
    }

    /// The tool calls, in order.
    pub fn tool_calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.parts.iter().filter_map(|part| match part {
            ContentPart::ToolCall(call) => Some(call),
            _ => None,
        })
    }

    /// The tool results, in order.
    pub fn tool_results(&self) -> impl Iterator<Item = &ToolResult> {
        self.parts.iter().filter_map(|part| match part {
            ContentPart::ToolResult(result) => Some(result),
            _ => None,
        })
    }
}

impl Role {
    /// The stored name: `user`, `assistant` or `tool`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Assistant => "assistant",
            Self::Tool => "tool",
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl MessageId {
    /// The id with this number. Numbers past `i64::MAX` cannot be stored.
    pub const fn new(number: u64) -> Self {
        Self(number)
    }

    /// The number.
    pub const fn get(self) -> u64 {
        self.0
    }
}

impl fmt::Display for MessageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for MessageId {
    type Err = ParseIntError;

    fn from_str(text: &str) -> Result<Self, ParseIntError> {
        text.parse().map(Self)
    }
}
