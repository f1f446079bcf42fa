//! What happens in the process, as far as a console shows it.

use svit::{Message, Path, SvitEvent, ToolCall, Value};

use crate::excerpt::preview;

/// Something that happened.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum News {
    Committed {
        version: u64,
        changed: Vec<Path>,
    },
    /// A turn has begun.
    Started,
    /// A piece of an answer.
    Piece(String),
    /// The model uses tools, after it said something or nothing.
    Step {
        text: String,
        calls: Vec<String>,
    },
    Answer(String),
    /// A turn has ended, answered or not.
    Ended,
    Failed(String),
    /// Some news were lost.
    Lost,
}

impl News {
    /// What an event says to a console; none if it says nothing.
    pub(crate) fn of(event: SvitEvent) -> Option<Self> {
        Some(match event {
            SvitEvent::Committed(change) => Self::Committed {
                version: change.version,
                changed: change
                    .paths
                    .into_iter()
                    .map(|changed| changed.path)
                    .collect(),
            },
            SvitEvent::Delta(delta) => Self::Piece(delta.text),
            SvitEvent::Message(message) => Self::Answer(texts(&message)),
            SvitEvent::Failed { reason, .. } => Self::Failed(reason),
            SvitEvent::CanonicalEvent(event) => match &*event.kind {
                "turn.started" => Self::Started,
                "turn.finished" => Self::Ended,
                // Else it is tried again.
                "turn.failed" if event.body.get("final") == Some(&true.into()) => Self::Ended,
                "model.responded" => step(event.body.get("message")?)?,
                _ => return None,
            },
            _ => return None,
        })
    }
}

/// The text of a message.
pub(crate) fn texts(message: &Message) -> String {
    message.texts().collect::<Vec<_>>().join("\n")
}

fn step(message: &Value) -> Option<News> {
    let message = Message::from_value(message).ok()?;
    let calls: Vec<String> = message.tool_calls().map(call).collect();
    (!calls.is_empty()).then(|| News::Step {
        text: texts(&message),
        calls,
    })
}

/// A tool call in one line, with the beginning of each argument.
fn call(call: &ToolCall) -> String {
    let Some(arguments) = call.arguments.as_map() else {
        return format!("{} {}", call.name, preview(&call.arguments));
    };
    let words = arguments
        .iter()
        .map(|(name, value)| format!(" {name}={}", preview(value)));
    call.name.clone() + &words.collect::<String>()
}
