//! The base URL: parsed once, joined right, shown without what may be secret in it.

#[cfg(test)]
mod tests;

use reqwest::Url;

use crate::error::ModelError;

/// What the base URLs of one service look like.
#[derive(Debug)]
pub(crate) struct Form {
    /// The service's own, ending in a slash.
    pub(crate) standard: &'static str,
    /// For the text of errors.
    pub(crate) example: &'static str,
    /// The version, added to a path in which none stands.
    pub(crate) version: Option<&'static str>,
    /// Ends of paths that people copy by mistake.
    pub(crate) surplus: &'static [&'static str],
}

/// An `http` or `https` URL without user, password or fragment, whose path ends in a slash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Endpoint {
    /// With its query, which some gateways need.
    url: String,
    query: Option<String>,
    shown: String,
    is_standard: bool,
}

impl Endpoint {
    pub(crate) fn standard(form: &Form) -> Self {
        Self {
            url: form.standard.into(),
            query: None,
            shown: form.standard.into(),
            is_standard: true,
        }
    }

    pub(crate) fn parse(text: &str, form: &Form) -> Result<Self, ModelError> {
        let wrong = |problem: &str| Err(ModelError::invalid(format!("base URL: {problem}")));
        let Ok(mut url) = Url::parse(text.trim()) else {
            return wrong(&format!("not a URL; it should look like {}", form.example));
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
        let path = url.path().trim_end_matches('/').to_owned();
        for surplus in form.surplus {
            if path.ends_with(surplus) {
                return wrong(&format!("leave {surplus} off; it is added"));
            }
        }
        let version = form.version.filter(|_| !path.split('/').any(is_version));
        let version = version.map_or(String::new(), |version| format!("{version}/"));
        url.set_path(&format!("{path}/{version}"));
        let query = url
            .query()
            .filter(|query| !query.is_empty())
            .map(str::to_owned);
        let whole = url.to_string();
        url.set_query(None);
        let shown = url.to_string();
        Ok(Self {
            url: whole,
            query,
            is_standard: shown == form.standard,
            shown,
        })
    }

    pub(crate) fn is_standard(&self) -> bool {
        self.is_standard
    }

    /// The form that a relative path can be joined to.
    pub(crate) fn joinable(&self) -> String {
        self.url.clone()
    }

    /// The URL of a path below it, with its query and another.
    pub(crate) fn at(&self, path: &str, query: Option<&str>) -> String {
        let queries: Vec<&str> = [self.query.as_deref(), query]
            .into_iter()
            .flatten()
            .collect();
        let mark = if queries.is_empty() { "" } else { "?" };
        format!("{}{path}{mark}{}", self.shown, queries.join("&"))
    }

    pub(crate) fn shown(&self) -> &str {
        &self.shown
    }

    pub(crate) fn query(&self) -> Option<&str> {
        self.query.as_deref()
    }
}

/// `v1`, `v1beta` and the like.
fn is_version(segment: &str) -> bool {
    let digits = segment.strip_prefix('v').unwrap_or_default();
    digits.starts_with(|first: char| first.is_ascii_digit())
}
