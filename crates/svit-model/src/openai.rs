//! OpenAI and every server that speaks one of its two formats.
//!
//! `genai` builds the requests, sends them and cuts the streams into events. The events' contents are read
//! here, from the frames that it shows to a sink, because what it makes of them loses things that matter:
//! it takes a Responses stream that was cut for a finished answer, skips events that are not JSON, drops
//! tool calls without an index and doubles those whose index jumps, forgets error codes, refusals, and the
//! ids and the order of sealed reasoning. It also reads `-high`, `-max` and the like at the end of a
//! model's name as settings and takes them off; the name is put back. Its log lines, which hold what was said,
//! are not let through.

mod chat;
mod failure;
mod request;
mod responses;
#[cfg(test)]
mod tests;
mod transport;

use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use genai::adapter::AdapterKind;
use genai::resolver::{AuthData, Endpoint as GenaiEndpoint};
use genai::{ModelIden, ServiceTarget};
use secrecy::{ExposeSecret, SecretString};

use crate::error::ModelError;
use crate::event::ModelStream;
use crate::http::answer::begin;
use crate::http::endpoint::{Endpoint, Form};
use crate::http::redact::Redact;
use crate::http::remote::{check_key, client, key_from, set};
use crate::provider::{BoxFuture, ModelLimits, ModelRequest, Provider};
use transport::{Call, Reader};

const KEY_VARIABLE: &str = "OPENAI_API_KEY";
const URL_VARIABLE: &str = "OPENAI_BASE_URL";
const FORM: Form = Form {
    standard: "https://api.openai.com/v1/",
    example: "http://127.0.0.1:8080/v1",
    // Compatible servers have no common one.
    version: None,
    surplus: &["/chat/completions", "/responses"],
};

/// OpenAI, or a server compatible with it.
///
/// With OpenAI's own endpoint it uses the Responses API, with another base URL Chat Completions;
/// [`responses`](Self::responses) and [`chat_completions`](Self::chat_completions) choose. Nothing is stored
/// with the provider. The sealed reasoning of reasoning models is asked for, kept as
/// [`ContentPart::Opaque`](crate::ContentPart::Opaque), and given back word for word.
///
/// A stream that ends without its end marker (`[DONE]`, `response.completed`) is a
/// [`Transient`](ModelError::Transient) error, however complete it looks. The key is in no error, no log and
/// no `Debug`. There is no retry in here: wrap it in [`Retry`](crate::Retry). Calls must be made within a
/// tokio runtime with time and I/O, or fail with [`ModelError::NoRuntime`].
///
/// ```no_run
/// use svit_model::{Message, OpenAI, Reasoner, Retry, collect};
///
/// # async fn run() -> Result<(), svit_model::ModelError> {
/// let reasoner = Reasoner::new("gpt-5-mini", Retry::new(OpenAI::from_env()?));
/// let local = Reasoner::new("qwen3", OpenAI::new("no-key").base_url("http://127.0.0.1:8080/v1"));
/// # let _ = local;
/// let stream = reasoner.respond(None, vec![Message::user("Hello?")], vec![]).await?;
/// let answer = collect(stream, |_| {}).await?;
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct OpenAI {
    key: SecretString,
    endpoint: Result<Endpoint, ModelError>,
    wire: Option<Wire>,
    streaming: bool,
    keep_reasoning: Option<bool>,
    idle_timeout: Duration,
    context_tokens: u64,
    environment_proxies: bool,
    client: Arc<OnceLock<Result<genai::Client, ModelError>>>,
}

/// The two formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wire {
    Chat,
    Responses,
}

impl OpenAI {
    /// With a key, at OpenAI's endpoint.
    pub fn new(key: impl Into<SecretString>) -> Self {
        Self {
            key: key.into(),
            endpoint: Ok(Endpoint::standard(&FORM)),
            wire: None,
            streaming: true,
            keep_reasoning: None,
            idle_timeout: Duration::from_secs(300),
            context_tokens: 128_000,
            environment_proxies: false,
            client: Arc::default(),
        }
    }

    /// With the key in `OPENAI_API_KEY`, and the base URL in `OPENAI_BASE_URL` if it is set (with its `/v1`).
    /// The usual proxy variables are followed too, which no other constructor does.
    ///
    /// # Errors
    /// [`ModelError::MissingKey`] if the key is not set or empty (a local server takes any text);
    /// [`ModelError::Invalid`] for a base URL that is none.
    pub fn from_env() -> Result<Self, ModelError> {
        Self::from_variables(|name| std::env::var(name).ok())
    }

    fn from_variables(variable: impl Fn(&str) -> Option<String>) -> Result<Self, ModelError> {
        let mut openai = Self::new(key_from(KEY_VARIABLE, &variable)?);
        openai.environment_proxies = true;
        if let Some(url) = set(URL_VARIABLE, &variable) {
            openai = openai.base_url(url);
        }
        match &openai.endpoint {
            Ok(_) => Ok(openai),
            Err(error) => Err(error.clone()),
        }
    }

    /// Another server: its URL with everything before `/chat/completions`, such as `http://127.0.0.1:8080/v1`.
    /// A URL that is none shows as [`ModelError::Invalid`] when the model is asked.
    #[must_use]
    pub fn base_url(mut self, url: impl AsRef<str>) -> Self {
        self.endpoint = Endpoint::parse(url.as_ref(), &FORM);
        self
    }

    /// Uses the Responses API, wherever the server is.
    #[must_use]
    pub fn responses(mut self) -> Self {
        self.wire = Some(Wire::Responses);
        self
    }

    /// Uses Chat Completions, wherever the server is.
    #[must_use]
    pub fn chat_completions(mut self) -> Self {
        self.wire = Some(Wire::Chat);
        self
    }

    /// Whether answers are streamed (the default) or come as one document: for servers that cannot stream.
    #[must_use]
    pub fn streaming(mut self, streaming: bool) -> Self {
        self.streaming = streaming;
        self
    }

    /// Whether to ask the Responses API for sealed reasoning. Unless it is set here, the model's name
    /// decides: `o` and a digit, `gpt-5` and later (but no `-chat`), `codex`. Other models refuse the question.
    #[must_use]
    pub fn keep_reasoning(mut self, keep: bool) -> Self {
        self.keep_reasoning = Some(keep);
        self
    }

    /// How long nothing may come, from the request on, before a call fails (5 minutes).
    #[must_use]
    pub fn idle_timeout(mut self, timeout: Duration) -> Self {
        self.idle_timeout = timeout;
        // The client holds the timeout: a clone with another one needs another client.
        self.client = Arc::default();
        self
    }

    /// The window to plan for (128,000 tokens), for [`Provider::limits`].
    #[must_use]
    pub fn context_tokens(mut self, tokens: u64) -> Self {
        self.context_tokens = tokens;
        self
    }

    fn wire(&self, endpoint: &Endpoint) -> Wire {
        let natural = if endpoint.is_standard() {
            Wire::Responses
        } else {
            Wire::Chat
        };
        self.wire.unwrap_or(natural)
    }

    /// The HTTP client is made once, and shared by clones.
    fn client(&self) -> Result<genai::Client, ModelError> {
        self.client.get_or_init(|| self.make_client()).clone()
    }

    fn make_client(&self) -> Result<genai::Client, ModelError> {
        let client = client(self.idle_timeout, self.environment_proxies)?;
        genai::Client::builder()
            .with_reqwest(client)
            .build()
            .map_err(|error| ModelError::invalid(format!("no HTTP client: {error}")))
    }

    async fn ask(&self, request: ModelRequest) -> Result<ModelStream, ModelError> {
        if tokio::runtime::Handle::try_current().is_err() {
            return Err(ModelError::NoRuntime);
        }
        let endpoint = self.endpoint.clone()?;
        check_key(&self.key)?;
        let wire = self.wire(&endpoint);
        let sealed = wire == Wire::Responses
            && self
                .keep_reasoning
                .unwrap_or_else(|| request::is_reasoning_model(&request.model));
        let (chat, options) = request::build(&request, wire, sealed)?;
        let kind = match wire {
            Wire::Chat => AdapterKind::OpenAI,
            Wire::Responses => AdapterKind::OpenAIResp,
        };
        let call = Call {
            client: self.client()?,
            target: ServiceTarget {
                endpoint: GenaiEndpoint::from_owned(endpoint.joinable()),
                auth: AuthData::Key(self.key.expose_secret().to_owned()),
                model: ModelIden::new(kind, request.model.as_str()),
            },
            chat,
            options,
            reader: match wire {
                Wire::Chat => Reader::Chat(chat::ChatReader::default()),
                Wire::Responses => Reader::Responses(responses::ResponsesReader::default()),
            },
            redact: Redact::new(Some(&self.key), &endpoint),
        };
        tracing::debug!(
            model = %request.model,
            wire = ?wire,
            messages = request.messages.len(),
            tools = request.tools.len(),
            "model call"
        );
        let begun = Instant::now();
        let answer = if self.streaming {
            begin(call.stream().await?).await
        } else {
            call.document().await
        };
        tracing::debug!(
            model = %request.model,
            first_event_ms = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX),
            code = answer.as_ref().err().map(ModelError::code),
            "model answers"
        );
        answer
    }
}

impl Provider for OpenAI {
    fn respond(&self, request: ModelRequest) -> BoxFuture<'_, Result<ModelStream, ModelError>> {
        Box::pin(self.ask(request))
    }

    fn limits(&self, _model: &str) -> ModelLimits {
        ModelLimits::new(self.context_tokens)
    }
}

impl fmt::Debug for OpenAI {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenAI")
            .field("endpoint", &self.endpoint.as_ref().map(Endpoint::shown))
            .field("wire", &self.wire)
            .finish_non_exhaustive()
    }
}
