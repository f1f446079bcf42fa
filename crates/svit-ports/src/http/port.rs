//! `HttpPort`: the port `http`. It judges a guest's request, adds what is the host's, and follows
//! redirects hop by hop, each judged as if it had been asked for.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use secrecy::SecretString;
use svit_value::{Bytes, Digest, Map, Text, Value};

use super::allowlist::{Entry, shown};
use super::header::{self, HttpHeader, Redaction};
use super::input::{Asked, input_schema, output_schema};
use super::{
    HttpAllowlist, HttpError, HttpHost, HttpMethod, HttpRequest, HttpResponse, HttpScheme,
    HttpTransport, HttpUrl,
};
use crate::error::cut;
use crate::{
    BoxFuture, Effect, Port, PortContext, PortDescriptor, PortError, PortFailure, PortLimits, Ports,
};

/// The most bytes of the headers of an answer, and the most of them.
const MAX_RESPONSE_HEADER_BYTES: usize = 64 << 10;
const MAX_RESPONSE_HEADERS: usize = 128;
/// What a call and an answer may have beside their bodies.
const BESIDE_BODY: u64 = 256 << 10;
const USER_AGENT: &str = concat!("svit/", env!("CARGO_PKG_VERSION"));

/// HTTP requests within an allowlist.
///
/// Its input is a map: `url`, and if need be `method`, `headers`, `body` (text or bytes) or `json`,
/// `timeout_ms`, `follow_redirects`. Its output is a map of `status`, `url`, `headers` and `body`. An
/// answer with any status is an answer, no failure. The failures are those of [`HttpError`].
///
/// Where all entries have only methods that ask to change nothing, its effect is `read` and it is
/// idempotent. Otherwise its effect is `write`, and it is idempotent only if each entry with other
/// methods has an [`idempotency_header`](HttpAllowlist::idempotency_header). So that reads stay
/// repeatable where writes are granted too, grant two: `http` for reading, and another,
/// [`named`](Self::named) as the host likes, for the rest.
pub struct HttpPort {
    name: Text,
    allowlist: HttpAllowlist,
    transport: Arc<dyn HttpTransport>,
}

impl HttpPort {
    /// The port `http`.
    ///
    /// # Errors
    /// Those of [`HttpAllowlist::check`].
    pub fn new(
        allowlist: HttpAllowlist,
        transport: impl HttpTransport + 'static,
    ) -> Result<Self, PortError> {
        allowlist.check()?;
        Ok(Self {
            name: "http".into(),
            allowlist,
            transport: Arc::new(transport),
        })
    }

    /// The same under another name.
    #[must_use]
    pub fn named(mut self, name: impl Into<Text>) -> Self {
        self.name = name.into();
        self
    }

    async fn answer(&self, ctx: &PortContext, input: &Value) -> Result<Value, HttpError> {
        let limits = &self.allowlist.limits;
        let started = Instant::now();
        let asked = Asked::parse(input, limits)?;
        let max_redirects = asked.max_redirects;
        let timeout = asked.timeout;
        let mut hop = Hop::from(asked);
        let mut redaction = Redaction::default();
        let mut entry = self.admitted(&hop)?;
        for followed in 0.. {
            let left = timeout
                .checked_sub(started.elapsed())
                .filter(|left| !left.is_zero())
                .ok_or(HttpError::Timeout(timeout))?;
            entry
                .secrets()
                .iter()
                .for_each(|secret| redaction.add(secret));
            let request = hop.request(entry, ctx, left, limits.max_response_bytes);
            let sent = self.transport.send(request).await;
            let response = sent.map_err(|error| match error {
                // The time that was given to the call, not what was left of it.
                HttpError::Timeout(_) => HttpError::Timeout(timeout),
                refused @ HttpError::AddressRefused { .. } => hop.refused(refused, &redaction),
                other => other,
            })?;
            self.check(entry, &hop, &response)?;
            let location = match max_redirects {
                Some(_) => location(&response),
                None => None,
            };
            let Some(location) = location else {
                return Ok(output(&hop.url, response, &redaction));
            };
            let allowed = max_redirects.unwrap_or(0);
            if followed == allowed {
                return Err(HttpError::TooManyRedirects { allowed });
            }
            hop = hop.redirected(response.status, &location, &redaction)?;
            entry = self
                .admitted(&hop)
                .map_err(|error| hop.refused(error, &redaction))?;
        }
        Err(HttpError::TooManyRedirects { allowed: 0 })
    }

    /// The entry that allows a request, with its headers and, where the host is one, its address.
    fn admitted(&self, hop: &Hop) -> Result<&Entry, HttpError> {
        let entry = self.allowlist.entry_for(hop.method, &hop.url)?;
        if entry.url.is_none() && hop.leaves_tls {
            let why = "it goes from https to http".to_owned();
            return Err(crate::http::error::bad_input("url", why));
        }
        for (name, _) in &hop.headers {
            entry.check_header(name)?;
        }
        let address: Option<IpAddr> = match hop.url.host() {
            HttpHost::V4(address) => Some((*address).into()),
            HttpHost::V6(address) => Some((*address).into()),
            HttpHost::Name(_) => None,
        };
        address.map_or(Ok(()), |address| check_address(entry, &hop.url, address))?;
        Ok(entry)
    }

    /// What a transport should have kept to.
    fn check(&self, entry: &Entry, hop: &Hop, response: &HttpResponse) -> Result<(), HttpError> {
        if let Some(address) = response.connected {
            check_address(entry, &hop.url, address)?;
        }
        let allowed = self.allowlist.limits.max_response_bytes;
        let size = |(name, value): &(String, Vec<u8>)| name.len() + value.len();
        let headers: usize = response.headers.iter().map(size).sum();
        if response.body.len() as u64 > allowed
            || headers > MAX_RESPONSE_HEADER_BYTES
            || response.headers.len() > MAX_RESPONSE_HEADERS
        {
            return Err(HttpError::ResponseTooLarge { allowed });
        }
        Ok(())
    }
}

fn check_address(entry: &Entry, url: &HttpUrl, address: IpAddr) -> Result<(), HttpError> {
    entry
        .addresses
        .check(address)
        .map_err(|class| HttpError::AddressRefused {
            host: url.host().to_string(),
            class,
        })
}

impl Port for HttpPort {
    fn descriptor(&self) -> PortDescriptor {
        let limits = &self.allowlist.limits;
        let is_read_only = self.allowlist.is_read_only();
        let description = format!(
            "Makes one HTTP request and gives its answer, whatever its status. Allowed: {}",
            self.allowlist.described()
        );
        PortDescriptor::new(self.name.clone(), "1", description)
            .input(input_schema(limits))
            .output(output_schema())
            .effect(if is_read_only {
                Effect::Read
            } else {
                Effect::Write
            })
            .idempotent(self.allowlist.is_idempotent())
            .limits(PortLimits {
                max_input_bytes: limits.max_request_bytes + BESIDE_BODY,
                max_output_bytes: limits.max_response_bytes + BESIDE_BODY,
            })
    }

    fn call<'a>(
        &'a self,
        ctx: &'a PortContext,
        input: Value,
    ) -> BoxFuture<'a, Result<Value, PortFailure>> {
        Box::pin(async move { Ok(self.answer(ctx, &input).await?) })
    }
}

impl fmt::Debug for HttpPort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpPort")
            .field("name", &self.name)
            .field("allowlist", &self.allowlist)
            .finish_non_exhaustive()
    }
}

/// One request of a call: the first, or one that a redirect asks for.
struct Hop {
    method: HttpMethod,
    url: HttpUrl,
    headers: Vec<(String, String)>,
    body: Option<Bytes>,
    /// The status of the redirect that led here.
    redirect: Option<u16>,
    leaves_tls: bool,
}

impl From<Asked> for Hop {
    fn from(asked: Asked) -> Self {
        Self {
            method: asked.method,
            url: asked.url,
            headers: asked.headers,
            body: asked.body,
            redirect: None,
            leaves_tls: false,
        }
    }
}

impl Hop {
    fn request(
        &self,
        entry: &Entry,
        ctx: &PortContext,
        timeout: Duration,
        max_response_bytes: u64,
    ) -> HttpRequest {
        let own = self.headers.iter();
        let own = own.map(|(name, value)| HttpHeader::new(name, value.as_str().into()));
        let mut headers: Vec<HttpHeader> = own.collect();
        if let Some(name) = entry.idempotency_header(self.method) {
            headers.push(HttpHeader::new(name, key_of(ctx)));
        }
        headers.extend_from_slice(entry.secrets());
        if !headers.iter().any(|header| header.name() == "user-agent") {
            headers.push(HttpHeader::new("user-agent", USER_AGENT.into()));
        }
        HttpRequest {
            method: self.method,
            url: self.url.clone(),
            headers,
            body: self.body.clone(),
            addresses: entry.addresses.clone(),
            timeout,
            max_response_bytes,
        }
    }

    /// The request that a redirect asks for, not yet judged.
    fn redirected(
        mut self,
        status: u16,
        location: &str,
        redaction: &Redaction,
    ) -> Result<Self, HttpError> {
        let url = self
            .url
            .join(location)
            .map_err(|problem| HttpError::RedirectRefused {
                status,
                to: without_query(&redaction.apply_text(location)),
                why: problem.to_string(),
            })?;
        let becomes_get = match status {
            303 => self.method != HttpMethod::Head,
            301 | 302 => self.method == HttpMethod::Post,
            _ => false,
        };
        if becomes_get {
            self.method = HttpMethod::Get;
            self.body = None;
            self.headers
                .retain(|(name, _)| !name.starts_with("content-"));
        }
        // What a guest says to one server in confidence is not for another.
        // THREAT[TM-HTTP-4]
        if !url.has_origin_of(&self.url) {
            let is_private = |name: &str| matches!(name, "authorization" | "cookie");
            self.headers.retain(|(name, _)| !is_private(name));
        }
        self.leaves_tls =
            self.url.scheme() == HttpScheme::Https && url.scheme() == HttpScheme::Http;
        self.url = url;
        self.redirect = Some(status);
        Ok(self)
    }

    /// The refusal of this request, which is that of the redirect if one led here.
    fn refused(&self, error: HttpError, redaction: &Redaction) -> HttpError {
        match self.redirect {
            None => error,
            Some(status) => HttpError::RedirectRefused {
                status,
                to: redaction.apply_text(&shown(&self.url)),
                why: redaction.apply_text(&error.to_string()),
            },
        }
    }
}

/// The key of a call, or its digest where a header cannot hold it.
fn key_of(ctx: &PortContext) -> SecretString {
    let key = ctx.idempotency_key();
    match header::check_value(key) {
        Ok(()) if !key.is_empty() => key.into(),
        _ => Digest::of(key.as_bytes()).to_string().into(),
    }
}

/// Where a redirect leads.
fn location(response: &HttpResponse) -> Option<String> {
    if !matches!(response.status, 301 | 302 | 303 | 307 | 308) {
        return None;
    }
    let mut named = response
        .headers
        .iter()
        .filter(|(name, _)| name == "location");
    let (_, value) = named.next()?;
    Some(
        String::from_utf8_lossy(value)
            .trim_matches([' ', '\t'])
            .to_owned(),
    )
}

fn without_query(location: &str) -> String {
    let end = location.find(['?', '#']).unwrap_or(location.len());
    cut(&location[..end], 200).to_owned()
}

fn output(url: &HttpUrl, response: HttpResponse, redaction: &Redaction) -> Value {
    let mut joined: Vec<(String, String)> = Vec::new();
    for (name, value) in response.headers {
        let value = String::from_utf8_lossy(&redaction.apply(value)).into_owned();
        match joined.iter_mut().find(|(known, _)| *known == name) {
            None => joined.push((redaction.apply_text(&name), value)),
            Some((_, all)) => {
                all.push_str(if name == "set-cookie" { "\n" } else { ", " });
                all.push_str(&value);
            }
        }
    }
    let body = match String::from_utf8(redaction.apply(response.body)) {
        Ok(text) => Value::from(text),
        Err(error) => Value::from(Bytes::from(error.into_bytes())),
    };
    let entries = [
        ("status", Value::from(i64::from(response.status))),
        ("url", Value::from(redaction.apply_text(&url.to_string()))),
        (
            "headers",
            Map::from_entries(joined).map_or(Value::Null, Value::from),
        ),
        ("body", body),
    ];
    Map::from_entries(entries).map_or(Value::Null, Value::from)
}

impl Ports {
    /// With the port `http` for these requests, sent by a transport of the host's own.
    pub fn http_with(
        self,
        allowlist: HttpAllowlist,
        transport: impl HttpTransport + 'static,
    ) -> Self {
        self.port_or_failure(HttpPort::new(allowlist, transport))
    }

    /// With the port `http` for these requests.
    ///
    /// ```
    /// use svit_ports::{Effect, Ports, http::HttpAllowlist};
    ///
    /// let allowlist = HttpAllowlist::new()
    ///     .allow("https://api.example.com/v1/")
    ///     .header_secret("authorization", "Bearer not-a-real-key");
    /// let ports = Ports::new().http(allowlist);
    /// ports.check()?;
    /// assert_eq!(ports.descriptor("http").map(|port| port.effect), Some(Effect::Read));
    /// # Ok::<(), svit_ports::PortError>(())
    /// ```
    #[cfg(feature = "http")]
    pub fn http(self, allowlist: HttpAllowlist) -> Self {
        self.http_with(allowlist, super::ReqwestHttpTransport::new())
    }

    /// With the port `http` for any request; see [`HttpAllowlist::unrestricted`].
    #[cfg(feature = "http")]
    pub fn http_unrestricted(self) -> Self {
        self.http(HttpAllowlist::unrestricted())
    }
}

#[cfg(test)]
mod tests;
