//! The one seam to a model: a request goes in, a stream of events comes out.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use crate::error::ModelError;
use crate::event::ModelStream;
use crate::message::Message;
use crate::tool::ToolSpec;

/// A boxed future that may move between threads.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Talks to one kind of model. It knows nothing of processes.
///
/// An implementation resolves [`respond`](Self::respond) once the answer has begun, or with the error that
/// kept it from beginning. It must end a good stream with [`ModelEvent::Finish`](crate::ModelEvent::Finish),
/// never a broken one, and must stop the call when the future or the stream is dropped.
///
/// ```
/// use futures_util::stream;
/// use svit_model::{
///     BoxFuture, FinishReason, Message, ModelError, ModelEvent, ModelLimits, ModelRequest, ModelStream,
///     Provider, Reasoner, collect,
/// };
///
/// /// Repeats what was said last.
/// struct Echo;
///
/// impl Provider for Echo {
///     fn respond(&self, request: ModelRequest) -> BoxFuture<'_, Result<ModelStream, ModelError>> {
///         Box::pin(async move {
///             let said = request.messages.last().and_then(Message::text).unwrap_or_default();
///             let events = [
///                 Ok(ModelEvent::TextDelta(said.to_owned())),
///                 Ok(ModelEvent::Finish(FinishReason::Stop)),
///             ];
///             Ok(Box::pin(stream::iter(events)) as ModelStream)
///         })
///     }
///
///     fn limits(&self, _model: &str) -> ModelLimits {
///         ModelLimits::new(8_000)
///     }
/// }
///
/// # futures_util::FutureExt::now_or_never(async {
/// let echo = Reasoner::new("echo-1", Echo);
/// let stream = echo.respond(None, vec![Message::user("Teal.")], vec![]).await?;
/// assert_eq!(collect(stream, |_| {}).await?.message.text(), Some("Teal."));
/// # Ok::<(), ModelError>(())
/// # }).unwrap().unwrap();
/// ```
pub trait Provider: Send + Sync {
    /// Asks the model. Cost: one call of it.
    ///
    /// # Errors
    /// Why no answer began. The kind says what helps: what is [retryable](ModelError::is_retryable) is
    /// tried again.
    fn respond(&self, request: ModelRequest) -> BoxFuture<'_, Result<ModelStream, ModelError>>;

    /// What the model can take.
    fn limits(&self, model: &str) -> ModelLimits;
}

impl<P: Provider + ?Sized> Provider for Arc<P> {
    fn respond(&self, request: ModelRequest) -> BoxFuture<'_, Result<ModelStream, ModelError>> {
        (**self).respond(request)
    }

    fn limits(&self, model: &str) -> ModelLimits {
        (**self).limits(model)
    }
}

impl<P: Provider + ?Sized> Provider for Box<P> {
    fn respond(&self, request: ModelRequest) -> BoxFuture<'_, Result<ModelStream, ModelError>> {
        (**self).respond(request)
    }

    fn limits(&self, model: &str) -> ModelLimits {
        (**self).limits(model)
    }
}

/// What a model is asked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModelRequest {
    /// The model's id, sent as it is.
    pub model: String,
    /// Instructions that stand above the conversation.
    pub system: Option<String>,
    /// The conversation; the last message is the user's or holds tool results.
    pub messages: Vec<Message>,
    /// The tools it may call.
    pub tools: Vec<ToolSpec>,
    /// The bound on tokens of the answer, if other than the provider's.
    pub max_output_tokens: Option<u32>,
}

/// What a model can take.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct ModelLimits {
    /// The window: tokens of request and answer together.
    pub context_tokens: u64,
}

impl ModelLimits {
    /// Limits with this window.
    pub const fn new(context_tokens: u64) -> Self {
        Self { context_tokens }
    }
}

/// A model and the provider that runs it. Cheap to clone.
#[derive(Clone)]
pub struct Reasoner {
    model: Arc<str>,
    provider: Arc<dyn Provider>,
}

impl Reasoner {
    /// Pairs a model with its provider.
    pub fn new(model: impl Into<String>, provider: impl Provider + 'static) -> Self {
        Self {
            model: model.into().into(),
            provider: Arc::new(provider),
        }
    }

    /// The model's id.
    pub fn model(&self) -> &str {
        &self.model
    }

    /// What the model can take.
    pub fn limits(&self) -> ModelLimits {
        self.provider.limits(&self.model)
    }

    /// Asks the model.
    ///
    /// # Errors
    /// The provider's.
    pub async fn respond(
        &self,
        system: Option<String>,
        messages: Vec<Message>,
        tools: Vec<ToolSpec>,
    ) -> Result<ModelStream, ModelError> {
        self.ask(ModelRequest {
            system,
            messages,
            tools,
            ..ModelRequest::default()
        })
        .await
    }

    /// Asks the model with all of a request; its `model` is replaced by this one's.
    ///
    /// # Errors
    /// The provider's.
    pub async fn ask(&self, mut request: ModelRequest) -> Result<ModelStream, ModelError> {
        request.model = self.model.to_string();
        self.provider.respond(request).await
    }
}

impl fmt::Debug for Reasoner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reasoner")
            .field("model", &self.model)
            .finish_non_exhaustive()
    }
}
