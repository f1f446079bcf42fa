//! `Recording` keeps what a provider answered; `Recorded` answers it again.

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::{StreamExt, stream};

use crate::error::ModelError;
use crate::event::{Gathered, ModelEvent, ModelResponse, ModelStream};
use crate::message::ContentPart;
use crate::provider::{BoxFuture, ModelLimits, ModelRequest, Provider};

/// Answers with responses that were recorded, one call after the other, whatever is asked. No key and no
/// network is needed. Clones share the place.
///
/// ```
/// use svit_model::{Message, ModelResponse, Reasoner, Recorded, Recording, Scripted, ScriptedReply, collect};
///
/// # futures_util::FutureExt::now_or_never(async {
/// let recording = Recording::new(Scripted::new([ScriptedReply::text("Teal.")]));
/// let model = Reasoner::new("any", recording.clone());
/// let stream = model.respond(None, vec![Message::user("Which color?")], vec![]).await?;
/// let first = collect(stream, |_| {}).await?;
///
/// let again = Reasoner::new("any", Recorded::new(recording.responses()));
/// let stream = again.respond(None, vec![Message::user("Which color?")], vec![]).await?;
/// assert_eq!(collect(stream, |_| {}).await?, first);
/// # Ok::<(), svit_model::ModelError>(())
/// # }).unwrap().unwrap();
/// ```
#[derive(Clone)]
pub struct Recorded {
    responses: Arc<[ModelResponse]>,
    asked: Arc<AtomicUsize>,
    limits: ModelLimits,
}

impl Recorded {
    /// Answers with these, in this order. A call past the last is [`ModelError::ScriptExhausted`].
    pub fn new(responses: impl IntoIterator<Item = ModelResponse>) -> Self {
        Self {
            responses: responses.into_iter().collect(),
            asked: Arc::default(),
            limits: ModelLimits::new(u64::MAX),
        }
    }

    /// Sets the window that the model claims to have. By default there is no end to it, so that
    /// nothing is compacted that was not when it was recorded.
    #[must_use]
    pub const fn context_tokens(mut self, tokens: u64) -> Self {
        self.limits = ModelLimits::new(tokens);
        self
    }
}

impl Provider for Recorded {
    fn respond(&self, _: ModelRequest) -> BoxFuture<'_, Result<ModelStream, ModelError>> {
        Box::pin(async move {
            let asked = self.asked.fetch_add(1, Ordering::Relaxed);
            let answers = self.responses.len();
            let Some(response) = self.responses.get(asked) else {
                return Err(ModelError::ScriptExhausted { answers, asked });
            };
            let parts = response.message.parts.iter().cloned();
            let mut events: Vec<_> = parts.filter_map(event).map(Ok).collect();
            events.push(Ok(ModelEvent::Usage(response.usage)));
            events.push(Ok(ModelEvent::Finish(response.finish.clone())));
            Ok(Box::pin(stream::iter(events)) as ModelStream)
        })
    }

    fn limits(&self, _: &str) -> ModelLimits {
        self.limits
    }
}

impl fmt::Debug for Recorded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recorded")
            .field("responses", &self.responses.len())
            .field("asked", &self.asked)
            .finish_non_exhaustive()
    }
}

/// The event that brings a part of an answer; none for what no answer has.
fn event(part: ContentPart) -> Option<ModelEvent> {
    match part {
        ContentPart::Text(text) => Some(ModelEvent::TextDelta(text)),
        ContentPart::ToolCall(call) => Some(ModelEvent::ToolCall(call)),
        opaque @ ContentPart::Opaque { .. } => Some(ModelEvent::Opaque(opaque)),
        ContentPart::ToolResult(_) => None,
    }
}

/// Keeps every complete answer of a provider, in the order in which they ended. Clones share what is
/// kept, which grows with each answer.
///
/// An answer that fails or is dropped half-way is not kept. See [`Recorded`] for an example.
pub struct Recording<P> {
    provider: Arc<P>,
    kept: Arc<Mutex<Vec<ModelResponse>>>,
}

impl<P> Clone for Recording<P> {
    fn clone(&self) -> Self {
        Self {
            provider: self.provider.clone(),
            kept: self.kept.clone(),
        }
    }
}

impl<P: Provider> Recording<P> {
    /// Keeps what this provider answers.
    pub fn new(provider: P) -> Self {
        Self {
            provider: Arc::new(provider),
            kept: Arc::default(),
        }
    }

    /// The answers so far.
    pub fn responses(&self) -> Vec<ModelResponse> {
        kept(&self.kept).clone()
    }
}

fn kept(kept: &Mutex<Vec<ModelResponse>>) -> MutexGuard<'_, Vec<ModelResponse>> {
    // An answer is added in one push, so a panic elsewhere cannot leave half of one.
    kept.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<P: Provider> Provider for Recording<P> {
    fn respond(&self, request: ModelRequest) -> BoxFuture<'_, Result<ModelStream, ModelError>> {
        Box::pin(async move {
            let stream = self.provider.respond(request).await?;
            let (all, mut gathered) = (self.kept.clone(), Some(Gathered::default()));
            let seen = stream.inspect(move |event| {
                let Ok(event) = event else {
                    gathered = None;
                    return;
                };
                if let Some(response) = gathered.as_mut().and_then(|it| it.take(event.clone())) {
                    gathered = None;
                    kept(&all).push(response);
                }
            });
            Ok(Box::pin(seen) as ModelStream)
        })
    }

    fn limits(&self, model: &str) -> ModelLimits {
        self.provider.limits(model)
    }
}

impl<P> fmt::Debug for Recording<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recording")
            .field("kept", &kept(&self.kept).len())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
