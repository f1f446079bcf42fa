//! Ollama, by its own format: lines of JSON.

mod reader;
mod request;
#[cfg(test)]
mod tests;

use std::fmt;
use std::time::Duration;

use crate::error::ModelError;
use crate::event::ModelStream;
use crate::http::endpoint::Form;
use crate::http::frames::Cut;
use crate::http::remote::{Post, Remote, Variables};
use crate::provider::{BoxFuture, ModelLimits, ModelRequest, Provider};

const VARIABLES: Variables = Variables {
    key: None,
    url: "OLLAMA_BASE_URL",
};
const FORM: Form = Form {
    standard: "http://localhost:11434/",
    example: "http://localhost:11434",
    version: None,
    surplus: &["/v1", "/api", "/api/chat"],
};

/// A server of Ollama, by its own format (`/api/chat`). It has no key.
///
/// A server that is asked for more than its window drops the oldest messages without a word, and its own
/// window is small. So the window to plan for is sent along with each request
/// ([`context_tokens`](Self::context_tokens)), with the wish to be told instead; servers older than that
/// wish still drop. What a model thought is kept as [`ContentPart::Opaque`](crate::ContentPart::Opaque) and
/// given back.
///
/// A stream that ends before the line that says `done` is a [`Transient`](ModelError::Transient) error. There
/// is no retry in here: wrap it in [`Retry`](crate::Retry). Calls must be made within a tokio runtime with
/// time and I/O, or fail with [`ModelError::NoRuntime`].
///
/// ```no_run
/// use svit_model::{Message, Ollama, Reasoner, collect};
///
/// # async fn run() -> Result<(), svit_model::ModelError> {
/// let reasoner = Reasoner::new("qwen3:8b", Ollama::new().context_tokens(16_384));
/// let stream = reasoner.respond(None, vec![Message::user("Hello?")], vec![]).await?;
/// let answer = collect(stream, |_| {}).await?;
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct Ollama {
    remote: Remote,
    think: Option<bool>,
    context_tokens: u64,
}

impl Ollama {
    /// At `http://localhost:11434`.
    pub fn new() -> Self {
        Self::at(Remote::new(&FORM, None))
    }

    /// At the base URL in `OLLAMA_BASE_URL` if it is set, else as [`new`](Self::new). The usual proxy variables
    /// are followed too, which no other constructor does.
    ///
    /// # Errors
    /// [`ModelError::Invalid`] for a base URL that is none.
    pub fn from_env() -> Result<Self, ModelError> {
        Self::from_variables(|name| std::env::var(name).ok())
    }

    fn from_variables(variable: impl Fn(&str) -> Option<String>) -> Result<Self, ModelError> {
        Remote::from_variables(&FORM, &VARIABLES, variable).map(Self::at)
    }

    fn at(remote: Remote) -> Self {
        Self {
            remote,
            think: None,
            context_tokens: 32_768,
        }
    }

    /// Another server: its URL with everything before `/api/chat`. (For `/v1`, the server's imitation of
    /// OpenAI, there is [`OpenAI`](crate::OpenAI).) A URL that is none shows as [`ModelError::Invalid`] when
    /// the model is asked.
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

    /// Whether the model is to think first. Unless it is set here the server decides; models that cannot
    /// refuse to be asked.
    #[must_use]
    pub fn think(mut self, think: bool) -> Self {
        self.think = Some(think);
        self
    }

    /// How long nothing may come, from the request on, before a call fails (5 minutes). A server that has to
    /// load a large model first is silent for long.
    #[must_use]
    pub fn idle_timeout(mut self, timeout: Duration) -> Self {
        self.remote.idle_timeout(timeout);
        self
    }

    /// The window (32,768 tokens): the server sets it up, in memory of its own, and
    /// [`Provider::limits`] plans for it.
    #[must_use]
    pub fn context_tokens(mut self, tokens: u64) -> Self {
        self.context_tokens = tokens;
        self
    }

    async fn ask(&self, request: ModelRequest) -> Result<ModelStream, ModelError> {
        let streaming = self.remote.is_streaming();
        let post = Post {
            path: "api/chat".into(),
            query: None,
            headers: &[],
            key_header: "authorization",
            body: request::body(&request, self.context_tokens, self.think, streaming)?,
        };
        let reader = Box::new(reader::OllamaReader::default());
        self.remote
            .ask(&request.model, post, Cut::Lines, reader)
            .await
    }
}

impl Default for Ollama {
    fn default() -> Self {
        Self::new()
    }
}

impl Provider for Ollama {
    fn respond(&self, request: ModelRequest) -> BoxFuture<'_, Result<ModelStream, ModelError>> {
        Box::pin(async move { self.ask(request).await })
    }

    fn limits(&self, _model: &str) -> ModelLimits {
        ModelLimits::new(self.context_tokens)
    }
}

impl fmt::Debug for Ollama {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ollama")
            .field("endpoint", &self.remote.shown())
            .finish_non_exhaustive()
    }
}
