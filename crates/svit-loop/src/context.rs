//! How full the model's window is, and which older part of a conversation can make room in it.
//!
//! Tokens are known where the provider has counted them, and estimated where it has not.

use std::fmt::Write as _;

use svit_model::{ContentPart, Message, Role, ToolSpec};
use svit_value::Value;

/// Part of the window, in fourths, past which the older part of a conversation is compacted.
const FULL: u64 = 3;

/// The most characters of one part of a message that a transcript shows.
const MAX_PART: usize = 4_000;

/// About four octets of text make a token.
pub(crate) const fn tokens(octets: u64) -> u64 {
    octets.div_ceil(4)
}

/// About how many tokens a message takes.
pub(crate) fn tokens_of(message: &Message) -> u64 {
    let octets = |part: &ContentPart| match part {
        ContentPart::Text(text) => text.len() as u64,
        ContentPart::ToolCall(call) => call.name.len() as u64 + encoded(&call.arguments),
        ContentPart::ToolResult(result) => encoded(&result.content),
        ContentPart::Opaque { data, .. } => encoded(data),
        // Of a later version of the model layer.
        _ => 0,
    };
    message
        .parts
        .iter()
        .map(|part| 4 + tokens(octets(part)))
        .sum()
}

/// About how many tokens the frame of a conversation takes: the system prompt and the tools.
pub(crate) fn tokens_of_frame(system: &str, tools: &[ToolSpec]) -> u64 {
    let octets = |tool: &ToolSpec| {
        tool.name.len() as u64 + tool.description.len() as u64 + encoded(&tool.schema)
    };
    tokens(system.len() as u64) + tools.iter().map(|tool| tokens(octets(tool))).sum::<u64>()
}

fn encoded(value: &Value) -> u64 {
    value.measure().cbor_len
}

/// How much there is, and how much room there should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Room {
    /// The most tokens of newest messages that stay as they are.
    pub(crate) keep: u64,
    /// The most tokens of older messages that are summarized at once.
    pub(crate) take: u64,
    /// The most tokens of the summary.
    pub(crate) summary: u64,
}

impl Room {
    /// The room that is to be made if a request of so many tokens nears a window. A window of 0 is
    /// not known, and never neared.
    pub(crate) const fn needed(window: u64, request: u64) -> Option<Self> {
        if window == 0 || request <= window / 4 * FULL {
            return None;
        }
        Some(Self::within(window))
    }

    /// The room that is to be made where a request was refused as too long: the window is smaller,
    /// or the request longer, than was known.
    pub(crate) fn for_refused(window: u64, request: u64) -> Self {
        Self::within(if window == 0 {
            request
        } else {
            window.min(request)
        })
    }

    const fn within(window: u64) -> Self {
        Self {
            keep: window / 4,
            take: window / 2,
            summary: window / 4,
        }
    }
}

/// Whether a conversation may begin with a message: results stay with the calls before them.
pub(crate) const fn may_begin(message: &Message) -> bool {
    !matches!(message.role, Role::Tool)
}

/// The first of the newest messages that fit into so many tokens. What the model has not seen yet,
/// which is the newest step, always stays.
pub(crate) fn newest(messages: &[Message], keep: u64) -> usize {
    let mut first = messages.len();
    let mut sum = 0_u64;
    for (at, message) in messages.iter().enumerate().rev() {
        sum = sum.saturating_add(tokens_of(message));
        if sum > keep && first < messages.len() {
            break;
        }
        if may_begin(message) {
            first = at;
        }
    }
    first
}

/// About how many tokens a message takes in a transcript.
pub(crate) fn tokens_of_told(message: &Message) -> u64 {
    tokens(told(std::slice::from_ref(message)).len() as u64)
}

/// Messages as a text to be summarized, of at most about so many tokens.
pub(crate) fn transcript(messages: &[Message], most: u64) -> String {
    let mut text = told(messages);
    let mut end = usize::try_from(most.saturating_mul(4)).unwrap_or(usize::MAX);
    if end < text.len() {
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        text.truncate(end);
        text.push_str(" … (cut)");
    }
    text
}

fn told(messages: &[Message]) -> String {
    let mut text = String::new();
    for message in messages {
        for part in &message.parts {
            // Writing to a String cannot fail.
            let _ = match part {
                ContentPart::Text(said) => {
                    writeln!(text, "[{}] {}", message.role, cut(said))
                }
                ContentPart::ToolCall(call) => {
                    let arguments = json(&call.arguments);
                    writeln!(text, "[call of {}] {}", cut(&call.name), cut(&arguments))
                }
                ContentPart::ToolResult(result) => {
                    let sort = if result.is_error { "error" } else { "result" };
                    writeln!(text, "[{sort}] {}", cut(&json(&result.content)))
                }
                // What only the provider understands is nothing to tell.
                _ => Ok(()),
            };
        }
    }
    text
}

fn json(value: &Value) -> String {
    value.to_json().unwrap_or_default()
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(MAX_PART) {
        Some((at, _)) => format!("{} … (cut; {} octets in all)", &text[..at], text.len()),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests;
