//! Anthropic's Messages API.

mod reader;
mod request;
#[cfg(test)]
mod tests;

use std::fmt;
use std::time::Duration;

use secrecy::SecretString;

use crate::error::ModelError;
use crate::event::ModelStream;
use crate::http::endpoint::Form;
use crate::http::frames::Cut;
use crate::http::remote::{Post, Remote, Variables};
use crate::provider::{BoxFuture, ModelLimits, ModelRequest, Provider};
use request::Thinking;

const VARIABLES: Variables = Variables {
    key: Some("ANTHROPIC_API_KEY"),
    url: "ANTHROPIC_BASE_URL",
};
const FORM: Form = Form {
    standard: "https://api.anthropic.com/v1/",
    example: "http://127.0.0.1:8080",
    version: Some("v1"),
    surplus: &["/messages"],
};

/// Anthropic, or a server that speaks its Messages API.
///
/// Thinking blocks, and every other block that only the provider understands, are kept with their signatures
/// as [`ContentPart::Opaque`](crate::ContentPart::Opaque), and given back word for word and in their places.
///
/// A stream that ends before `message_stop` is a [`Transient`](ModelError::Transient) error, however complete
/// it looks. The key is in no error, no log and no `Debug`. There is no retry in here: wrap it in
/// [`Retry`](crate::Retry). Calls must be made within a tokio runtime with time and I/O, or fail with
/// [`ModelError::NoRuntime`].
///
/// ```no_run
/// use svit_model::{Anthropic, Message, Reasoner, Retry, collect};
///
/// # async fn run() -> Result<(), svit_model::ModelError> {
/// let reasoner = Reasoner::new("claude-sonnet-4-5", Retry::new(Anthropic::from_env()?));
/// let stream = reasoner.respond(None, vec![Message::user("Hello?")], vec![]).await?;
/// let answer = collect(stream, |_| {}).await?;
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct Anthropic {
    remote: Remote,
    thinking: Option<Thinking>,
    max_output_tokens: Option<u32>,
    context_tokens: u64,
}

impl Anthropic {
    /// With a key, at Anthropic's endpoint.
    pub fn new(key: impl Into<SecretString>) -> Self {
        Self::at(Remote::new(&FORM, Some(key.into())))
    }

    /// With the key in `ANTHROPIC_API_KEY`, and the base URL in `ANTHROPIC_BASE_URL` if it is set. The usual
    /// proxy variables are followed too, which no other constructor does.
    ///
    /// # Errors
    /// [`ModelError::MissingKey`] if the key is not set or empty; [`ModelError::Invalid`] for a base URL that
    /// is none.
    pub fn from_env() -> Result<Self, ModelError> {
        Self::from_variables(|name| std::env::var(name).ok())
    }

    fn from_variables(variable: impl Fn(&str) -> Option<String>) -> Result<Self, ModelError> {
        Remote::from_variables(&FORM, &VARIABLES, variable).map(Self::at)
    }

    fn at(remote: Remote) -> Self {
        Self {
            remote,
            thinking: None,
            max_output_tokens: None,
            context_tokens: 200_000,
        }
    }

    /// Another server: its URL with everything before `/messages`. Where no version stands in it, `/v1` is
    /// added. A URL that is none shows as [`ModelError::Invalid`] when the model is asked.
    #[must_use]
    pub fn base_url(mut self, url: impl AsRef<str>) -> Self {
        self.remote.base_url(url.as_ref());
        self
    }

    /// Whether answers are streamed (the default) or come as one document.
    #[must_use]
    pub fn streaming(mut self, streaming: bool) -> Self {
        self.remote.streaming(streaming);
        self
    }

    /// Asks the model to think first, with at most so many tokens (at least 1,024), which count as output.
    /// The bound on output is raised where it leaves no room for an answer.
    #[must_use]
    pub fn thinking_tokens(mut self, tokens: u32) -> Self {
        self.thinking = Some(Thinking::Tokens(tokens.max(1024)));
        self
    }

    /// Lets the model decide how much it thinks, for models that can.
    #[must_use]
    pub fn adaptive_thinking(mut self) -> Self {
        self.thinking = Some(Thinking::Adaptive);
        self
    }

    /// The bound on tokens of an answer where a request names none. The API demands one; unless it is set
    /// here, the model's name decides: 4,096 for `claude-3`, 8,192 for `claude-3-5`, 32,000 for all others.
    #[must_use]
    pub fn max_output_tokens(mut self, tokens: u32) -> Self {
        self.max_output_tokens = Some(tokens);
        self
    }

    /// How long nothing may come, from the request on, before a call fails (5 minutes).
    #[must_use]
    pub fn idle_timeout(mut self, timeout: Duration) -> Self {
        self.remote.idle_timeout(timeout);
        self
    }

    /// The window to plan for (200,000 tokens), for [`Provider::limits`].
    #[must_use]
    pub fn context_tokens(mut self, tokens: u64) -> Self {
        self.context_tokens = tokens;
        self
    }

    async fn ask(&self, request: ModelRequest) -> Result<ModelStream, ModelError> {
        let bound = request.max_output_tokens.or(self.max_output_tokens);
        let post = Post {
            path: "messages".into(),
            query: None,
            headers: &[("anthropic-version", "2023-06-01")],
            key_header: "x-api-key",
            body: request::body(&request, bound, self.thinking, self.remote.is_streaming())?,
        };
        let reader = Box::new(reader::MessagesReader::default());
        self.remote
            .ask(&request.model, post, Cut::Events, reader)
            .await
    }
}

impl Provider for Anthropic {
    fn respond(&self, request: ModelRequest) -> BoxFuture<'_, Result<ModelStream, ModelError>> {
        Box::pin(async move { self.ask(request).await })
    }

    fn limits(&self, _model: &str) -> ModelLimits {
        ModelLimits::new(self.context_tokens)
    }
}

impl fmt::Debug for Anthropic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Anthropic")
            .field("endpoint", &self.remote.shown())
            .finish_non_exhaustive()
    }
}
