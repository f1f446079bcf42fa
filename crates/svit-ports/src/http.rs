//! The port `http`: requests that a host grants by what their URLs begin with.
//!
//! A guest, or a model that writes for it, chooses the URL, and may have read it somewhere. So a
//! request passes these, each of which is enough to stop it:
//! 1. its URL has one reading ([`HttpUrl`]): whatever two programs may read as two is refused;
//! 2. an entry of the [`HttpAllowlist`] is for it, with its method and its headers;
//! 3. the address that is connected to is public, or was named by the host ([`AddressRule`]): what a
//!    name stands for is vetted in the look-up that the connection is made from;
//! 4. a redirect is a new request, and passes all of this again;
//! 5. sizes and the time are bounded ([`HttpLimits`]), those of an answer after decompression.
//!
//! What is the host's, [`header_secret`](HttpAllowlist::header_secret), is added behind all that, and
//! taken out of the answer.
//!
//! ```
//! use std::sync::Arc;
//! use svit_ports::http::{HttpAllowlist, HttpError, HttpRequest, HttpResponse, HttpTransport};
//! use svit_ports::{BoxFuture, PortContext, Ports};
//! use svit_tree::Tree;
//! use svit_value::value;
//!
//! /// Answers by itself, as in a test.
//! struct Canned;
//!
//! impl HttpTransport for Canned {
//!     fn send<'a>(&'a self, request: HttpRequest) -> BoxFuture<'a, Result<HttpResponse, HttpError>> {
//!         assert!(request.headers.iter().any(|header| header.name() == "authorization"));
//!         let (status, body) = (200, request.url.path().as_bytes().to_vec());
//!         Box::pin(async move { Ok(HttpResponse { status, body, ..HttpResponse::default() }) })
//!     }
//! }
//!
//! # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
//! let allowlist = HttpAllowlist::new()
//!     .allow("https://api.example.com/v1/")
//!     .header_secret("authorization", "Bearer not-a-real-key");
//! let ports = Ports::new().http_with(allowlist, Canned);
//! let ctx = PortContext::new(Arc::new(Tree::new()), "a key");
//!
//! let users = value!({"url": "https://api.example.com/v1/users"});
//! let answer = ports.dispatch("http", users, &ctx).await?;
//! assert_eq!(answer.get("body"), Some(&"/v1/users".into()));
//!
//! let elsewhere = value!({"url": "https://api.example.com/v1/../admin"});
//! assert!(ports.dispatch("http", elsewhere, &ctx).await.is_err());
//! # Ok::<(), Box<dyn std::error::Error>>(()) })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What it does not do
//! It knows no cookies, no proxies and no wildcards. It cannot know what a server does with a request:
//! a `GET` carries what is in its URL to the server, and may change something there.

mod address;
mod allowlist;
#[cfg(feature = "http")]
mod client;
mod error;
mod header;
mod input;
mod method;
mod port;
mod transport;
mod url;

pub use address::{AddressClass, AddressRule, Network};
pub use allowlist::{HttpAllowlist, HttpLimits};
#[cfg(feature = "http")]
pub use client::{HttpResolver, ReqwestHttpTransport};
pub use error::HttpError;
pub use header::{HttpHeader, MAX_HEADER_BYTES, MAX_REQUEST_HEADERS};
pub use method::HttpMethod;
pub use port::HttpPort;
pub use secrecy::SecretString;
pub use transport::{HttpRequest, HttpResponse, HttpTransport};
pub use url::{HttpHost, HttpScheme, HttpUrl, MAX_URL_BYTES, UrlProblem};
