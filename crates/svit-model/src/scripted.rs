//! A model that says what it was told to, for tests and for running everything without a key.

#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::Arc;

use futures_util::stream;
use svit_value::Value;

use crate::error::ModelError;
use crate::event::{FinishReason, ModelEvent, ModelStream, Usage};
use crate::message::{ContentPart, Role};
use crate::provider::{BoxFuture, ModelLimits, ModelRequest, Provider};
use crate::tool::ToolCall;

/// A provider that answers from a list or from a closure.
///
/// It holds no state: the number of the answer is the number of assistant messages in the request. So a
/// program that was killed and started again goes on at the right place, the same request gets the same
/// answer, and clones share nothing but the script. (A conversation whose older part was cut or compacted
/// holds fewer; use [`from_fn`](Self::from_fn) there.)
///
/// ```
/// use svit_model::{Message, Reasoner, Scripted, ScriptedReply, collect};
/// use svit_value::value;
///
/// # futures_util::FutureExt::now_or_never(async {
/// let reasoner = Reasoner::new("scripted", Scripted::new([
///     ScriptedReply::call("read", value!({"path": "/memory/x"})),
///     ScriptedReply::text("It is 1."),
/// ]));
/// let first = reasoner.respond(None, vec![Message::user("What is x?")], vec![]).await?;
/// let first = collect(first, |_| {}).await?;
/// assert_eq!(first.message.tool_calls().next().unwrap().name, "read");
/// # Ok::<(), svit_model::ModelError>(())
/// # }).unwrap().unwrap();
/// ```
#[derive(Clone)]
pub struct Scripted {
    answer: Arc<Answer>,
    limits: ModelLimits,
}

type Answer = dyn Fn(&ModelRequest) -> ScriptedReply + Send + Sync;

/// One answer of a [`Scripted`] model.
#[derive(Clone, Debug, Default)]
pub struct ScriptedReply {
    parts: Vec<Part>,
    usage: Option<Usage>,
    finish: Option<FinishReason>,
    error: Option<ModelError>,
}

#[derive(Clone, Debug)]
enum Part {
    Text(String),
    Reasoning(String),
    Call { name: String, arguments: Value },
    Opaque(ContentPart),
}

impl Scripted {
    /// Answers from a list. A request past its end is [`ModelError::ScriptExhausted`].
    pub fn new(replies: impl IntoIterator<Item = ScriptedReply>) -> Self {
        let replies: Vec<ScriptedReply> = replies.into_iter().collect();
        Self::from_fn(move |request| {
            let asked = answer_number(request);
            replies.get(asked).cloned().unwrap_or_else(|| {
                ScriptedReply::error(ModelError::ScriptExhausted {
                    answers: replies.len(),
                    asked,
                })
            })
        })
    }

    /// Answers from a closure, which must give the same reply to the same request.
    pub fn from_fn(
        answer: impl Fn(&ModelRequest) -> ScriptedReply + Send + Sync + 'static,
    ) -> Self {
        Self {
            answer: Arc::new(answer),
            limits: ModelLimits::new(128_000),
        }
    }

    /// Sets the window that the model claims to have, instead of 128,000 tokens.
    #[must_use]
    pub fn context_tokens(mut self, tokens: u64) -> Self {
        self.limits = ModelLimits::new(tokens);
        self
    }
}

impl ScriptedReply {
    /// An answer in words.
    pub fn text(text: impl Into<String>) -> Self {
        Self::default().and_text(text)
    }

    /// A tool call.
    pub fn call(name: impl Into<String>, arguments: impl Into<Value>) -> Self {
        Self::default().and_call(name, arguments)
    }

    /// No answer: the provider fails like this.
    pub fn error(error: ModelError) -> Self {
        Self {
            error: Some(error),
            ..Self::default()
        }
    }

    /// Goes on with text.
    #[must_use]
    pub fn and_text(mut self, text: impl Into<String>) -> Self {
        self.parts.push(Part::Text(text.into()));
        self
    }

    /// Goes on with a tool call.
    #[must_use]
    pub fn and_call(mut self, name: impl Into<String>, arguments: impl Into<Value>) -> Self {
        self.parts.push(Part::Call {
            name: name.into(),
            arguments: arguments.into(),
        });
        self
    }

    /// Goes on with reasoning.
    #[must_use]
    pub fn and_reasoning(mut self, text: impl Into<String>) -> Self {
        self.parts.push(Part::Reasoning(text.into()));
        self
    }

    /// Goes on with an opaque part.
    #[must_use]
    pub fn and_opaque(mut self, kind: impl Into<String>, data: impl Into<Value>) -> Self {
        self.parts.push(Part::Opaque(ContentPart::Opaque {
            kind: kind.into(),
            data: data.into(),
        }));
        self
    }

    /// Breaks off with an error after what was said so far.
    #[must_use]
    pub fn and_error(mut self, error: ModelError) -> Self {
        self.error = Some(error);
        self
    }

    /// Reports these tokens, instead of a count made from the request's and the answer's length.
    #[must_use]
    pub fn usage(mut self, input_tokens: u64, output_tokens: u64) -> Self {
        self.usage = Some(Usage {
            input_tokens,
            output_tokens,
        });
        self
    }

    /// Ends for this reason, instead of the one that follows from the parts.
    #[must_use]
    pub fn finish(mut self, reason: FinishReason) -> Self {
        self.finish = Some(reason);
        self
    }

    fn events(self, request: &ModelRequest) -> Vec<Result<ModelEvent, ModelError>> {
        let answer = answer_number(request);
        let mut output_octets = 0;
        let mut calls = 0;
        let mut events = Vec::new();
        for part in self.parts {
            match part {
                Part::Text(text) => {
                    output_octets += text.len();
                    let words = text.split_inclusive(' ');
                    events.extend(words.map(|word| Ok(ModelEvent::TextDelta(word.to_owned()))));
                }
                Part::Reasoning(text) => events.push(Ok(ModelEvent::ReasoningDelta(text))),
                Part::Call { name, arguments } => {
                    output_octets += name.len() + octets(&arguments);
                    let id = format!("call_{answer}_{calls}");
                    calls += 1;
                    events.push(Ok(ModelEvent::ToolCall(ToolCall {
                        id,
                        name,
                        arguments,
                    })));
                }
                Part::Opaque(part) => events.push(Ok(ModelEvent::Opaque(part))),
            }
        }
        if let Some(error) = self.error {
            events.push(Err(error));
            return events;
        }
        let usage = self.usage.unwrap_or_else(|| Usage {
            input_tokens: tokens(request_octets(request)),
            output_tokens: tokens(output_octets),
        });
        let natural = if calls == 0 {
            FinishReason::Stop
        } else {
            FinishReason::ToolCalls
        };
        events.push(Ok(ModelEvent::Usage(usage)));
        events.push(Ok(ModelEvent::Finish(self.finish.unwrap_or(natural))));
        events
    }
}

impl Provider for Scripted {
    fn respond(&self, request: ModelRequest) -> BoxFuture<'_, Result<ModelStream, ModelError>> {
        Box::pin(async move {
            let events = (self.answer)(&request).events(&request);
            if let Some(Err(error)) = events.first() {
                return Err(error.clone());
            }
            Ok(Box::pin(stream::iter(events)) as ModelStream)
        })
    }

    fn limits(&self, _model: &str) -> ModelLimits {
        self.limits
    }
}

impl fmt::Debug for Scripted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scripted")
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}

fn answer_number(request: &ModelRequest) -> usize {
    request
        .messages
        .iter()
        .filter(|message| message.role == Role::Assistant)
        .count()
}

/// About four octets of text make a token.
fn tokens(octets: usize) -> u64 {
    u64::try_from(octets.div_ceil(4)).unwrap_or(u64::MAX)
}

fn request_octets(request: &ModelRequest) -> usize {
    let said = request
        .messages
        .iter()
        .flat_map(|message| &message.parts)
        .map(|part| match part {
            ContentPart::Text(text) => text.len(),
            ContentPart::ToolCall(call) => call.name.len() + octets(&call.arguments),
            ContentPart::ToolResult(result) => octets(&result.content),
            ContentPart::Opaque { data, .. } => octets(data),
        });
    said.sum::<usize>() + request.system.as_ref().map_or(0, String::len)
}

fn octets(value: &Value) -> usize {
    usize::try_from(value.measure().cbor_len).unwrap_or(usize::MAX)
}
