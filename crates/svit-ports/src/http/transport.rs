//! `HttpTransport`: what sends one request. Everything that is decided was decided before.

use std::net::IpAddr;
use std::time::Duration;

use svit_value::Bytes;

use super::{AddressRule, HttpError, HttpHeader, HttpMethod, HttpUrl};
use crate::BoxFuture;

/// Sends one request and brings its answer.
///
/// Ours is `ReqwestHttpTransport`, with the feature `http`. A host may bring its own: to go through a
/// proxy of its own, or to answer from a recording.
pub trait HttpTransport: Send + Sync {
    /// Sends it once: no redirect is followed, nothing is sent again, no environment is read.
    /// Connects to no address that [`HttpRequest::addresses`] refuses, gives up after
    /// [`HttpRequest::timeout`], and reads no more than [`HttpRequest::max_response_bytes`] of a body
    /// after decompression. Dropping the future ends it.
    ///
    /// # Errors
    /// Why there is no answer. No error may hold the value of a header.
    fn send<'a>(&'a self, request: HttpRequest) -> BoxFuture<'a, Result<HttpResponse, HttpError>>;
}

impl<T: HttpTransport + ?Sized> HttpTransport for std::sync::Arc<T> {
    fn send<'a>(&'a self, request: HttpRequest) -> BoxFuture<'a, Result<HttpResponse, HttpError>> {
        (**self).send(request)
    }
}

/// A request that was checked.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct HttpRequest {
    /// The method.
    pub method: HttpMethod,
    /// Where to.
    pub url: HttpUrl,
    /// Its headers, no name twice. There are none that frame a message; those are the transport's.
    pub headers: Vec<HttpHeader>,
    /// The body, if it has one.
    pub body: Option<Bytes>,
    /// What may be connected to.
    pub addresses: AddressRule,
    /// How long the whole may take, from the look-up of the name to the last byte.
    pub timeout: Duration,
    /// How large the body of the answer may be, in bytes after decompression.
    pub max_response_bytes: u64,
}

/// What came back.
#[derive(Clone, Debug, Default)]
pub struct HttpResponse {
    /// The status.
    pub status: u16,
    /// Names in lower case, and values, in the order in which they came.
    pub headers: Vec<(String, Vec<u8>)>,
    /// The body, decompressed if there is no `content-encoding` among the headers.
    pub body: Vec<u8>,
    /// The address that answered, if it is known. It is checked once more.
    pub connected: Option<IpAddr>,
}
