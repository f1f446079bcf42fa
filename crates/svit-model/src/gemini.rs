//! Google's Gemini API.

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

const VARIABLES: Variables = Variables {
    key: Some("GEMINI_API_KEY"),
    url: "GEMINI_BASE_URL",
};
const FORM: Form = Form {
    standard: "https://generativelanguage.googleapis.com/v1beta/",
    example: "http://127.0.0.1:8080",
    version: Some("v1beta"),
    surplus: &["/models"],
};

/// Google's Gemini API, or a server that speaks it.
///
/// Thought signatures are kept as [`ContentPart::Opaque`](crate::ContentPart::Opaque) before the part that
/// they came with, and given back on it. Function calls of older models have no ids; they get some here.
///
/// The format has no end marker: an answer is complete with its finish reason, and a stream that ends before
/// it is a [`Transient`](ModelError::Transient) error. So is a call that the model could not form. The key is
/// in no error, no log, no URL and no `Debug`. There is no retry in here: wrap it in
/// [`Retry`](crate::Retry). Calls must be made within a tokio runtime with time and I/O, or fail with
/// [`ModelError::NoRuntime`].
///
/// ```no_run
/// use svit_model::{Gemini, Message, Reasoner, Retry, collect};
///
/// # async fn run() -> Result<(), svit_model::ModelError> {
/// let reasoner = Reasoner::new("gemini-2.5-flash", Retry::new(Gemini::from_env()?));
/// let stream = reasoner.respond(None, vec![Message::user("Hello?")], vec![]).await?;
/// let answer = collect(stream, |_| {}).await?;
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct Gemini {
    remote: Remote,
    thoughts: bool,
    context_tokens: u64,
}

impl Gemini {
    /// With a key, at Google's endpoint.
    pub fn new(key: impl Into<SecretString>) -> Self {
        Self::at(Remote::new(&FORM, Some(key.into())))
    }

    /// With the key in `GEMINI_API_KEY`, and the base URL in `GEMINI_BASE_URL` if it is set. The usual proxy
    /// variables are followed too, which no other constructor does.
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
            thoughts: false,
            context_tokens: 1_000_000,
        }
    }

    /// Another server: its URL with everything before `/models`. Where no version stands in it, `/v1beta` is
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

    /// Whether to ask for summaries of what the model thinks (no): models that do not think refuse that.
    #[must_use]
    pub fn thoughts(mut self, thoughts: bool) -> Self {
        self.thoughts = thoughts;
        self
    }

    /// How long nothing may come, from the request on, before a call fails (5 minutes).
    #[must_use]
    pub fn idle_timeout(mut self, timeout: Duration) -> Self {
        self.remote.idle_timeout(timeout);
        self
    }

    /// The window to plan for (1,000,000 tokens), for [`Provider::limits`].
    #[must_use]
    pub fn context_tokens(mut self, tokens: u64) -> Self {
        self.context_tokens = tokens;
        self
    }

    async fn ask(&self, request: ModelRequest) -> Result<ModelStream, ModelError> {
        let (method, query) = if self.remote.is_streaming() {
            ("streamGenerateContent", Some("alt=sse"))
        } else {
            ("generateContent", None)
        };
        let post = Post {
            path: format!("{}:{method}", request::model_path(&request.model)?),
            query,
            headers: &[],
            key_header: "x-goog-api-key",
            body: request::body(&request, self.thoughts)?,
        };
        let reader = Box::new(reader::GeminiReader::default());
        self.remote
            .ask(&request.model, post, Cut::Events, reader)
            .await
    }
}

impl Provider for Gemini {
    fn respond(&self, request: ModelRequest) -> BoxFuture<'_, Result<ModelStream, ModelError>> {
        Box::pin(async move { self.ask(request).await })
    }

    fn limits(&self, _model: &str) -> ModelLimits {
        ModelLimits::new(self.context_tokens)
    }
}

impl fmt::Debug for Gemini {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gemini")
            .field("endpoint", &self.remote.shown())
            .finish_non_exhaustive()
    }
}
