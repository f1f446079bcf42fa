//! A model service at a URL: its settings, and one request to it.

use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use reqwest::header::{HeaderName, HeaderValue};
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value as Json;

use super::answer::{Reader, begin, body, document, in_runtime, streamed};
use super::endpoint::{Endpoint, Form};
use super::failure::{Report, from_reqwest};
use super::frames::Cut;
use super::redact::Redact;
use crate::error::ModelError;
use crate::event::ModelStream;

/// The most that is read of an error's body, in octets.
const LARGEST_ERROR: u64 = 1 << 20;

/// Where a service is and how to talk to it. Clones share the HTTP client.
#[derive(Clone)]
pub(crate) struct Remote {
    form: &'static Form,
    pub(crate) key: Option<SecretString>,
    pub(crate) endpoint: Result<Endpoint, ModelError>,
    streaming: bool,
    idle_timeout: Duration,
    environment_proxies: bool,
    client: Arc<OnceLock<Result<reqwest::Client, ModelError>>>,
}

/// The variables that settings come from.
pub(crate) struct Variables {
    pub(crate) key: Option<&'static str>,
    pub(crate) url: &'static str,
}

/// A request, but for the key and the base URL.
pub(crate) struct Post {
    /// Below the base URL.
    pub(crate) path: String,
    pub(crate) query: Option<&'static str>,
    pub(crate) headers: &'static [(&'static str, &'static str)],
    /// The header that the key goes into, as it is.
    pub(crate) key_header: &'static str,
    pub(crate) body: Json,
}

impl Remote {
    pub(crate) fn new(form: &'static Form, key: Option<SecretString>) -> Self {
        Self {
            form,
            key,
            endpoint: Ok(Endpoint::standard(form)),
            streaming: true,
            idle_timeout: Duration::from_secs(300),
            environment_proxies: false,
            client: Arc::default(),
        }
    }

    pub(crate) fn from_variables(
        form: &'static Form,
        variables: &Variables,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, ModelError> {
        let key = variables.key.map(|name| key_from(name, &variable));
        let mut remote = Self::new(form, key.transpose()?);
        remote.environment_proxies = true;
        if let Some(url) = set(variables.url, &variable) {
            remote.base_url(&url);
        }
        match &remote.endpoint {
            Ok(_) => Ok(remote),
            Err(error) => Err(error.clone()),
        }
    }

    pub(crate) fn base_url(&mut self, url: &str) {
        self.endpoint = Endpoint::parse(url, self.form);
    }

    pub(crate) fn streaming(&mut self, streaming: bool) {
        self.streaming = streaming;
    }

    pub(crate) fn is_streaming(&self) -> bool {
        self.streaming
    }

    pub(crate) fn idle_timeout(&mut self, timeout: Duration) {
        self.idle_timeout = timeout;
        // The client holds the timeout: a clone with another one needs another client.
        self.client = Arc::default();
    }

    /// The base URL, for `Debug`.
    pub(crate) fn shown(&self) -> Result<&str, &ModelError> {
        self.endpoint.as_ref().map(Endpoint::shown)
    }

    /// Asks. The stream's first event is there when this returns.
    pub(crate) async fn ask(
        &self,
        model: &str,
        post: Post,
        cut: Cut,
        reader: Box<dyn Reader>,
    ) -> Result<ModelStream, ModelError> {
        tracing::debug!(%model, path = %post.path, "model call");
        let begun = Instant::now();
        let answer = self.answer(post, cut, reader).await;
        tracing::debug!(
            %model,
            first_event_ms = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX),
            code = answer.as_ref().err().map(ModelError::code),
            "model answers"
        );
        answer
    }

    async fn answer(
        &self,
        post: Post,
        cut: Cut,
        reader: Box<dyn Reader>,
    ) -> Result<ModelStream, ModelError> {
        if tokio::runtime::Handle::try_current().is_err() {
            return Err(ModelError::NoRuntime);
        }
        let endpoint = self.endpoint.clone()?;
        let redact = Redact::new(self.key.as_ref(), &endpoint);
        let request = self.request(post, &endpoint)?;
        let response = in_runtime(request.send())
            .await?
            .map_err(|error| from_reqwest(error, &redact))?;
        let status = response.status();
        if !status.is_success() {
            let headers = response.headers().clone();
            // If it cannot be read, the status says enough.
            let body = body(response, LARGEST_ERROR, &redact)
                .await
                .unwrap_or_default();
            let body = String::from_utf8_lossy(&body);
            return Err(Report::from_http(status.as_u16(), &body, &headers).error(&redact));
        }
        if self.streaming {
            begin(streamed(response, cut, reader, redact)).await
        } else {
            document(response, reader, &redact).await
        }
    }

    fn request(
        &self,
        post: Post,
        endpoint: &Endpoint,
    ) -> Result<reqwest::RequestBuilder, ModelError> {
        let url = endpoint.at(&post.path, post.query);
        let mut request = self
            .client()?
            .post(url)
            .header("content-type", "application/json")
            .body(post.body.to_string());
        for (name, value) in post.headers {
            request = request.header(*name, *value);
        }
        if let Some(key) = &self.key {
            let name = HeaderName::from_static(post.key_header);
            request = request.header(name, header_value(key)?);
        }
        Ok(request)
    }

    /// The HTTP client is made once, and shared by clones.
    fn client(&self) -> Result<reqwest::Client, ModelError> {
        let make = || client(self.idle_timeout, self.environment_proxies);
        self.client.get_or_init(make).clone()
    }
}

/// What a variable is set to, unless that is blank.
pub(crate) fn set(name: &'static str, variable: impl Fn(&str) -> Option<String>) -> Option<String> {
    variable(name)
        .map(|text| text.trim().to_owned())
        .filter(|text| !text.is_empty())
}

/// The key that a variable holds.
pub(crate) fn key_from(
    name: &'static str,
    variable: impl Fn(&str) -> Option<String>,
) -> Result<SecretString, ModelError> {
    let key = set(name, variable).ok_or(ModelError::MissingKey { variable: name })?;
    Ok(SecretString::from(key))
}

/// A client that waits so long and no longer.
pub(crate) fn client(
    idle_timeout: Duration,
    environment_proxies: bool,
) -> Result<reqwest::Client, ModelError> {
    let mut builder = reqwest::Client::builder()
        .connect_timeout(idle_timeout.min(Duration::from_secs(30)))
        .read_timeout(idle_timeout)
        // A redirect would turn the POST into a GET, or carry the conversation elsewhere.
        .redirect(reqwest::redirect::Policy::none());
    if !environment_proxies {
        builder = builder.no_proxy();
    }
    builder
        .build()
        .map_err(|error| ModelError::invalid(format!("no HTTP client: {error}")))
}

/// Whether a header can hold the key.
pub(crate) fn check_key(key: &SecretString) -> Result<(), ModelError> {
    let key = key.expose_secret();
    if key.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Ok(());
    }
    Err(ModelError::Authentication {
        detail: "a key holds visible ASCII characters only; this one holds others".into(),
    })
}

fn header_value(key: &SecretString) -> Result<HeaderValue, ModelError> {
    check_key(key)?;
    let mut value = HeaderValue::from_str(key.expose_secret())
        .map_err(|_| ModelError::invalid("the key does not fit a header"))?;
    value.set_sensitive(true);
    Ok(value)
}
