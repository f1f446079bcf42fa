//! `HttpError`: why a request was not made, or has no answer, in words with which a model can mend it.

use std::time::Duration;

use svit_value::Text;

use super::{AddressClass, HttpMethod, UrlProblem};
use crate::PortFailure;

/// Why a request was not made, or has no answer.
///
/// No variant holds the value of a header, a body, or an address that a name stands for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HttpError {
    /// The input is not what the manual says.
    #[error("{field}: {why}")]
    BadInput {
        /// The field, or `input` for the whole.
        field: &'static str,
        /// What is wrong with it.
        why: String,
    },
    /// The URL has no form, or more than one reading.
    #[error("url: {0}")]
    BadUrl(#[from] UrlProblem),
    /// No entry of the allowlist is for this URL.
    #[error("{url} is not allowed; allowed is what begins with: {allowed}")]
    UrlNotAllowed {
        /// The URL without its query, cut.
        url: String,
        /// The entries, cut.
        allowed: String,
    },
    /// The entry for this URL does not have the method.
    #[error("{method} is not allowed there; allowed: {allowed}")]
    MethodNotAllowed {
        /// The method.
        method: HttpMethod,
        /// The entry's methods.
        allowed: String,
    },
    /// A header may not be set.
    #[error("header {name:?}: {why}")]
    HeaderNotAllowed {
        /// Its name, cut.
        name: String,
        /// Why not.
        why: String,
    },
    /// The body is too large.
    #[error("the body has {actual} bytes, at most {allowed} are allowed")]
    RequestTooLarge {
        /// The limit.
        allowed: u64,
        /// The size.
        actual: u64,
    },
    /// The answer is too large; nothing of it is given. The request was made.
    #[error(
        "the answer is larger than {allowed} bytes; ask for a part of it, by the server's own pages or a range header"
    )]
    ResponseTooLarge {
        /// The limit, in bytes after decompression.
        allowed: u64,
    },
    /// The host has no address that may be connected to.
    #[error("{host} has only addresses that are not allowed ({class})")]
    AddressRefused {
        /// The host of the URL.
        host: String,
        /// What they are for.
        class: AddressClass,
    },
    /// A redirect leads to where a request is not allowed. The request that it answers was made.
    #[error("the server answered {status} and leads to {to}, which is refused: {why}")]
    RedirectRefused {
        /// The status.
        status: u16,
        /// The place, cut, without its query.
        to: String,
        /// Why.
        why: String,
    },
    /// More redirects than are followed.
    #[error("more than {allowed} redirects; set follow_redirects to false to see where they lead")]
    TooManyRedirects {
        /// The limit.
        allowed: u32,
    },
    /// It took too long. Whether the server did it is not known.
    #[error("no complete answer within {} ms; the server may have carried out the request", .0.as_millis())]
    Timeout(Duration),
    /// The name has no address.
    #[error("the host {host} is not known")]
    UnknownHost {
        /// The host of the URL.
        host: String,
    },
    /// No connection, or no trust in who answered it. Nothing was sent.
    #[error("no connection to {host} could be made; nothing was sent")]
    NotConnected {
        /// The host of the URL.
        host: String,
    },
    /// The connection broke, or what came was no HTTP. Whether the server did it is not known.
    #[error(
        "the answer of {host} broke off or was no HTTP; the server may have carried out the request"
    )]
    Broken {
        /// The host of the URL.
        host: String,
    },
    /// The transport cannot work here.
    #[error("HTTP is not available: {why}")]
    Unavailable {
        /// What is missing.
        why: &'static str,
    },
}

impl HttpError {
    /// A stable name for the sort of failure, in snake case.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::BadInput { .. } => "bad_input",
            Self::BadUrl(_) => "bad_url",
            Self::UrlNotAllowed { .. } => "url_not_allowed",
            Self::MethodNotAllowed { .. } => "method_not_allowed",
            Self::HeaderNotAllowed { .. } => "header_not_allowed",
            Self::RequestTooLarge { .. } => "request_too_large",
            Self::ResponseTooLarge { .. } => "response_too_large",
            Self::AddressRefused { .. } => "address_refused",
            Self::RedirectRefused { .. } => "redirect_refused",
            Self::TooManyRedirects { .. } => "too_many_redirects",
            Self::Timeout(_) => "timeout",
            Self::UnknownHost { .. } => "unknown_host",
            Self::NotConnected { .. } => "not_connected",
            Self::Broken { .. } => "broken_answer",
            Self::Unavailable { .. } => "http_unavailable",
        }
    }
}

impl From<HttpError> for PortFailure {
    fn from(error: HttpError) -> Self {
        Self::new(error.code(), error.to_string())
    }
}

pub(super) fn bad_input(field: &'static str, why: impl Into<Text>) -> HttpError {
    HttpError::BadInput {
        field,
        why: why.into().to_string(),
    }
}
