//! What a model streams, and how a stream becomes one answer.

#[cfg(test)]
mod tests;

use std::ops::AddAssign;
use std::pin::Pin;
use std::task::Poll;

use futures_util::{Stream, StreamExt};

use crate::error::ModelError;
use crate::message::{ContentPart, Message, Role};
use crate::tool::ToolCall;

/// The answer of a model while it comes in.
///
/// A good stream has exactly one [`ModelEvent::Finish`], as its last item. After an error nothing follows.
/// A stream that ends without either is broken, and [`collect`] says so. Dropping it cancels the call.
pub type ModelStream = Pin<Box<dyn Stream<Item = Result<ModelEvent, ModelError>> + Send>>;

/// A piece of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ModelEvent {
    /// More text.
    TextDelta(String),
    /// More of the reasoning that the provider shows. Not part of the answer.
    ReasoningDelta(String),
    /// A complete tool call.
    ToolCall(ToolCall),
    /// A part that must be given back unchanged: always [`ContentPart::Opaque`].
    Opaque(ContentPart),
    /// The tokens of this call.
    Usage(Usage),
    /// The answer is complete.
    Finish(FinishReason),
}

/// Why an answer ended.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FinishReason {
    /// The model has said what it had to say.
    Stop,
    /// The model waits for its tools.
    ToolCalls,
    /// The bound on output tokens cut the answer, maybe within a tool call.
    Length,
    /// Another reason, by the provider's name.
    Other(String),
}

impl FinishReason {
    /// The name: `stop`, `tool_calls`, `length`, or the provider's.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Stop => "stop",
            Self::ToolCalls => "tool_calls",
            Self::Length => "length",
            Self::Other(name) => name,
        }
    }
}

/// Reads what [`FinishReason::as_str`] wrote.
impl From<&str> for FinishReason {
    fn from(name: &str) -> Self {
        match name {
            "stop" => Self::Stop,
            "tool_calls" => Self::ToolCalls,
            "length" => Self::Length,
            other => Self::Other(other.to_owned()),
        }
    }
}

/// Tokens used. Cached input and hidden reasoning are included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Usage {
    /// Tokens of the request.
    pub input_tokens: u64,
    /// Tokens of the answer.
    pub output_tokens: u64,
}

impl Usage {
    /// Both together.
    pub fn total(&self) -> u64 {
        self.input_tokens.saturating_add(self.output_tokens)
    }
}

impl AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        self.input_tokens = self.input_tokens.saturating_add(other.input_tokens);
        self.output_tokens = self.output_tokens.saturating_add(other.output_tokens);
    }
}

/// A whole answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelResponse {
    /// What the model said, with its tool calls and opaque parts in order. An answer without tool calls
    /// has at most one text part.
    pub message: Message,
    /// The tokens of the call; zeros if the provider did not say.
    pub usage: Usage,
    /// Why it ended.
    pub finish: FinishReason,
}

/// Takes a stream to its end, showing each event to `on_event` as it comes.
///
/// # Errors
/// The stream's, and [`ModelError::Transient`] if it ends without [`ModelEvent::Finish`].
///
/// ```
/// use svit_model::{Message, ModelEvent, Reasoner, Scripted, ScriptedReply, collect};
///
/// # futures_util::FutureExt::now_or_never(async {
/// let reasoner = Reasoner::new("any", Scripted::new([ScriptedReply::text("Hello there.")]));
/// let stream = reasoner.respond(None, vec![Message::user("Hi")], vec![]).await?;
/// let mut shown = String::new();
/// let response = collect(stream, |event| {
///     if let ModelEvent::TextDelta(text) = event {
///         shown.push_str(text);
///     }
/// })
/// .await?;
/// assert_eq!(response.message.text(), Some("Hello there."));
/// assert_eq!(shown, "Hello there.");
/// # Ok::<(), svit_model::ModelError>(())
/// # }).unwrap().unwrap();
/// ```
pub async fn collect(
    mut stream: ModelStream,
    mut on_event: impl FnMut(&ModelEvent),
) -> Result<ModelResponse, ModelError> {
    let mut gathered = Gathered::default();
    let mut events = 0_u64;
    while let Some(event) = stream.next().await {
        let event = event?;
        on_event(&event);
        if let Some(response) = gathered.take(event) {
            return Ok(response);
        }
        events += 1;
        if events.is_multiple_of(EVENTS_BEFORE_OTHERS) {
            let_others_go().await;
        }
    }
    Err(ModelError::broken(
        "the stream ended before the answer was complete",
    ))
}

/// What has come of an answer so far.
#[derive(Debug, Default)]
pub(crate) struct Gathered {
    parts: Vec<ContentPart>,
    usage: Usage,
}

impl Gathered {
    /// Takes the next event; gives the answer if that was the last.
    pub(crate) fn take(&mut self, event: ModelEvent) -> Option<ModelResponse> {
        match event {
            ModelEvent::TextDelta(delta) => match self.parts.last_mut() {
                Some(ContentPart::Text(text)) => text.push_str(&delta),
                _ => self.parts.push(ContentPart::Text(delta)),
            },
            ModelEvent::ReasoningDelta(_) => {}
            ModelEvent::ToolCall(call) => self.parts.push(ContentPart::ToolCall(call)),
            ModelEvent::Opaque(part) => self.parts.push(part),
            ModelEvent::Usage(tokens) => self.usage = tokens,
            ModelEvent::Finish(finish) => {
                let parts = std::mem::take(&mut self.parts);
                return Some(ModelResponse {
                    message: Message::new(Role::Assistant, one_text(parts)),
                    usage: self.usage,
                    finish,
                });
            }
        }
        None
    }
}

/// After so many events others get a turn: a stream that always has one ready would leave no moment at which
/// a deadline is looked at, or the call is cancelled.
const EVENTS_BEFORE_OTHERS: u64 = 64;

/// Waits once, for as long as it takes to be asked again.
async fn let_others_go() {
    let mut asked = false;
    std::future::poll_fn(|context| {
        if std::mem::replace(&mut asked, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

/// An answer for people is one text. Next to tool calls the order matters more: it is replayed.
fn one_text(parts: Vec<ContentPart>) -> Vec<ContentPart> {
    if parts
        .iter()
        .any(|part| matches!(part, ContentPart::ToolCall(_)))
    {
        return parts;
    }
    let mut whole = String::new();
    let mut rest: Vec<ContentPart> = Vec::with_capacity(parts.len());
    for part in parts {
        match part {
            ContentPart::Text(text) => whole.push_str(&text),
            other => rest.push(other),
        }
    }
    if !whole.is_empty() {
        rest.push(ContentPart::Text(whole));
    }
    rest
}
