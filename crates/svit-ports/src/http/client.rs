//! `ReqwestHttpTransport`: the transport that opens sockets, and only to addresses that were vetted.

use std::collections::HashMap;
use std::error::Error as StdError;
use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::header::{HeaderName, HeaderValue};
use reqwest::{Certificate, Client, Method, Response};

use super::{
    AddressClass, AddressRule, HttpError, HttpMethod, HttpRequest, HttpResponse, HttpTransport,
};
use crate::BoxFuture;

/// Finds the addresses of a name.
///
/// What it gives is vetted before anything connects to it, so it need not be trusted.
pub trait HttpResolver: Send + Sync {
    /// The addresses of a host, which is a name in lower-case ASCII.
    ///
    /// # Errors
    /// Why there are none.
    fn resolve<'a>(&'a self, host: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>>;
}

/// The resolver of the operating system.
struct SystemResolver;

impl HttpResolver for SystemResolver {
    fn resolve<'a>(&'a self, host: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>> {
        Box::pin(async move {
            let found = tokio::net::lookup_host((host, 0)).await?;
            Ok(found.map(|address| address.ip()).collect())
        })
    }
}

/// Sends requests with `reqwest`: HTTP/1.1, TLS by rustls with the roots of the operating system,
/// gzip. Needs a tokio runtime with `net` and `time` around its calls.
///
/// Each request has a connection of its own, so that its name is looked up and its addresses are
/// vetted for it alone, and nothing is sent twice because an old connection broke. It uses no proxy
/// and keeps no cookies. Cloning it costs nothing.
#[derive(Clone)]
pub struct ReqwestHttpTransport {
    inner: Arc<Inner>,
}

struct Inner {
    resolver: Arc<dyn HttpResolver>,
    roots: Option<Vec<Certificate>>,
    /// One for each rule about addresses: a client's resolver is not told which request it is for.
    clients: Mutex<HashMap<AddressRule, Client>>,
}

impl ReqwestHttpTransport {
    /// With the resolver and the roots of the operating system.
    pub fn new() -> Self {
        Self::build(Arc::new(SystemResolver), None)
    }

    /// With another resolver.
    #[must_use]
    pub fn resolver(self, resolver: impl HttpResolver + 'static) -> Self {
        Self::build(Arc::new(resolver), self.inner.roots.clone())
    }

    /// Trusting these root certificates in PEM form, and no others.
    ///
    /// # Errors
    /// [`HttpError::Unavailable`] if they cannot be read.
    pub fn trusting_only(self, pem: &[u8]) -> Result<Self, HttpError> {
        let roots = Certificate::from_pem_bundle(pem).map_err(|_| HttpError::Unavailable {
            why: "the root certificates cannot be read",
        })?;
        Ok(Self::build(self.inner.resolver.clone(), Some(roots)))
    }

    fn build(resolver: Arc<dyn HttpResolver>, roots: Option<Vec<Certificate>>) -> Self {
        Self {
            inner: Arc::new(Inner {
                resolver,
                roots,
                clients: Mutex::default(),
            }),
        }
    }

    fn client(&self, rule: &AddressRule) -> Result<Client, HttpError> {
        let clients = &self.inner.clients;
        let mut clients = clients.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(client) = clients.get(rule) {
            return Ok(client.clone());
        }
        let client = self.new_client(rule).map_err(|_| HttpError::Unavailable {
            why: "TLS could not be set up; are there root certificates on this machine?",
        })?;
        clients.insert(rule.clone(), client.clone());
        Ok(client)
    }

    fn new_client(&self, rule: &AddressRule) -> reqwest::Result<Client> {
        let vetted = Vetted {
            resolver: self.inner.resolver.clone(),
            rule: rule.clone(),
        };
        let builder = Client::builder()
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none())
            .retry(reqwest::retry::never())
            .referer(false)
            .http1_only()
            .pool_max_idle_per_host(0)
            // Said here, whatever features another crate turned on.
            .no_brotli()
            .no_deflate()
            .no_zstd()
            .gzip(true)
            .dns_resolver(vetted);
        match &self.inner.roots {
            None => builder.build(),
            Some(roots) => builder.tls_certs_only(roots.iter().cloned()).build(),
        }
    }

    async fn exchange(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        if tokio::runtime::Handle::try_current().is_err() {
            return Err(HttpError::Unavailable {
                why: "there is no tokio runtime around the call",
            });
        }
        let timeout = request.timeout;
        let exchange = self.exchange_in_time(request);
        match tokio::time::timeout(timeout, exchange).await {
            Ok(result) => result,
            Err(_) => Err(HttpError::Timeout(timeout)),
        }
    }

    async fn exchange_in_time(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let host = request.url.host().to_string();
        let client = self.client(&request.addresses)?;
        let sent = client.execute(outgoing(&request)?).await;
        let mut response = sent.map_err(|error| failure(&error, &host))?;
        let connected = response.remote_addr().map(|address| address.ip());
        if let Some(Err(class)) = connected.map(|address| request.addresses.check(address)) {
            return Err(HttpError::AddressRefused { host, class });
        }
        let headers = response.headers().iter();
        let headers = headers
            .map(|(name, value)| (name.as_str().to_owned(), value.as_bytes().to_vec()))
            .collect();
        let body = body(&mut response, request.max_response_bytes, &host).await?;
        Ok(HttpResponse {
            status: response.status().as_u16(),
            headers,
            body,
            connected,
        })
    }
}

impl HttpTransport for ReqwestHttpTransport {
    fn send<'a>(&'a self, request: HttpRequest) -> BoxFuture<'a, Result<HttpResponse, HttpError>> {
        Box::pin(self.exchange(request))
    }
}

impl Default for ReqwestHttpTransport {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for ReqwestHttpTransport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReqwestHttpTransport")
            .finish_non_exhaustive()
    }
}

fn outgoing(request: &HttpRequest) -> Result<reqwest::Request, HttpError> {
    let text = request.url.to_string();
    let url = reqwest::Url::parse(&text).ok();
    // Two readers of one URL that disagree are refused, whichever of them is wrong.
    // THREAT[TM-HTTP-1]
    let url = url
        .filter(|url| url.as_str() == text)
        .ok_or_else(|| HttpError::BadInput {
            field: "url",
            why: "its host is no name of the domain name system".to_owned(),
        })?;
    let mut outgoing = reqwest::Request::new(method(request.method), url);
    for header in &request.headers {
        let refused = |_| HttpError::HeaderNotAllowed {
            name: header.name().to_owned(),
            why: "it cannot be sent".to_owned(),
        };
        let name = HeaderName::from_bytes(header.name().as_bytes());
        let name = name.map_err(|_| refused(()))?;
        let value = HeaderValue::from_str(header.expose());
        let mut value = value.map_err(|_| refused(()))?;
        value.set_sensitive(true);
        outgoing.headers_mut().insert(name, value);
    }
    let body = request.body.as_ref();
    *outgoing.body_mut() = body.map(|body| body.as_slice().to_vec().into());
    Ok(outgoing)
}

fn method(method: HttpMethod) -> Method {
    match method {
        HttpMethod::Get => Method::GET,
        HttpMethod::Head => Method::HEAD,
        HttpMethod::Options => Method::OPTIONS,
        HttpMethod::Post => Method::POST,
        HttpMethod::Put => Method::PUT,
        HttpMethod::Patch => Method::PATCH,
        HttpMethod::Delete => Method::DELETE,
    }
}

/// Reads a body piece by piece, after decompression, and stops where it is too large: what a few
/// bytes may become when they are unpacked is never held.
// THREAT[TM-HTTP-5]
async fn body(response: &mut Response, allowed: u64, host: &str) -> Result<Vec<u8>, HttpError> {
    let mut body = Vec::new();
    while let Some(piece) = response
        .chunk()
        .await
        .map_err(|error| failure(&error, host))?
    {
        if (body.len() + piece.len()) as u64 > allowed {
            return Err(HttpError::ResponseTooLarge { allowed });
        }
        body.extend_from_slice(&piece);
    }
    Ok(body)
}

/// What went wrong, without the words of the client, which may quote what it sent or got.
fn failure(error: &reqwest::Error, host: &str) -> HttpError {
    let host = host.to_owned();
    let mut source: Option<&(dyn StdError + 'static)> = Some(error);
    while let Some(inner) = source {
        if let Some(Refused(class)) = inner.downcast_ref() {
            return HttpError::AddressRefused {
                host,
                class: *class,
            };
        }
        source = inner.source();
    }
    if error.is_dns() {
        HttpError::UnknownHost { host }
    } else if error.is_connect() {
        HttpError::NotConnected { host }
    } else {
        HttpError::Broken { host }
    }
}

/// Gives a client those addresses of a name that it may connect to. It has no others, so what a name
/// stands for a moment later does not matter.
// THREAT[TM-HTTP-2]
struct Vetted {
    resolver: Arc<dyn HttpResolver>,
    rule: AddressRule,
}

impl Resolve for Vetted {
    fn resolve(&self, name: Name) -> Resolving {
        let (resolver, rule) = (self.resolver.clone(), self.rule.clone());
        Box::pin(async move {
            let found = resolver.resolve(name.as_str()).await?;
            let mut good = Vec::new();
            let mut refused = None;
            for address in found {
                match rule.check(address) {
                    Ok(()) => good.push(SocketAddr::new(address, 0)),
                    Err(class) => refused = Some(class),
                }
            }
            match refused {
                Some(class) if good.is_empty() => Err(Refused(class).into()),
                _ if good.is_empty() => Err(io::Error::from(io::ErrorKind::NotFound).into()),
                _ => Ok(Box::new(good.into_iter()) as Addrs),
            }
        })
    }
}

/// All addresses of a name are refused.
#[derive(Debug, thiserror::Error)]
#[error("only {0} addresses")]
struct Refused(AddressClass);
