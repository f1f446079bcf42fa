//! The base URL: parsed once, joined right, shown without what may be secret in it.

use reqwest::Url;

use crate::error::ModelError;

const STANDARD: &str = "https://api.openai.com/v1/";

/// An `http` or `https` URL without user, password or fragment, whose path ends in a slash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Endpoint {
    /// With its query, which some gateways need.
    url: String,
    query: Option<String>,
    shown: String,
}

impl Endpoint {
    pub(super) fn standard() -> Self {
        Self {
            url: STANDARD.into(),
            query: None,
            shown: STANDARD.into(),
        }
    }

    pub(super) fn parse(text: &str) -> Result<Self, ModelError> {
        let wrong = |problem: &str| Err(ModelError::invalid(format!("base URL: {problem}")));
        let Ok(mut url) = Url::parse(text.trim()) else {
            return wrong("not a URL; it should look like http://127.0.0.1:8080/v1");
        };
        if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
            return wrong("must begin with http:// or https:// and name a host");
        }
        if !url.username().is_empty() || url.password().is_some() {
            return wrong("must not hold a user or a password");
        }
        if url.fragment().is_some() {
            return wrong("must not hold a fragment (#)");
        }
        for ending in ["/chat/completions", "/responses"] {
            if url.path().trim_end_matches('/').ends_with(ending) {
                return wrong(&format!("leave {ending} off; it is added"));
            }
        }
        let path = format!("{}/", url.path().trim_end_matches('/'));
        url.set_path(&path);
        let query = url
            .query()
            .filter(|query| !query.is_empty())
            .map(str::to_owned);
        let whole = url.to_string();
        url.set_query(None);
        Ok(Self {
            url: whole,
            query,
            shown: url.to_string(),
        })
    }

    pub(super) fn is_standard(&self) -> bool {
        self.shown == STANDARD
    }

    /// The form that a relative path can be joined to.
    pub(super) fn joinable(&self) -> String {
        self.url.clone()
    }

    pub(super) fn shown(&self) -> &str {
        &self.shown
    }

    pub(super) fn query(&self) -> Option<&str> {
        self.query.as_deref()
    }
}
