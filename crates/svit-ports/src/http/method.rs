//! `HttpMethod`: what a request may ask for.

use std::fmt;

/// A method. `CONNECT` and `TRACE` are not among them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
#[allow(missing_docs, reason = "each is the method of its name")]
pub enum HttpMethod {
    Get,
    Head,
    Options,
    Post,
    Put,
    Patch,
    Delete,
}

impl HttpMethod {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Get,
        Self::Head,
        Self::Options,
        Self::Post,
        Self::Put,
        Self::Patch,
        Self::Delete,
    ];

    /// As it is sent.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Head => "HEAD",
            Self::Options => "OPTIONS",
            Self::Post => "POST",
            Self::Put => "PUT",
            Self::Patch => "PATCH",
            Self::Delete => "DELETE",
        }
    }

    /// Whether it asks to change nothing: `GET`, `HEAD` and `OPTIONS`. A server may do otherwise.
    pub const fn is_safe(self) -> bool {
        matches!(self, Self::Get | Self::Head | Self::Options)
    }

    pub(super) fn parse(text: &str) -> Option<Self> {
        let named = |method: &Self| method.as_str().eq_ignore_ascii_case(text);
        Self::ALL.into_iter().find(named)
    }

    pub(super) fn list(methods: &[Self]) -> String {
        let names: Vec<&str> = methods.iter().map(|method| method.as_str()).collect();
        names.join(", ")
    }
}

impl fmt::Display for HttpMethod {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
