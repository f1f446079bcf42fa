//! Errors from outside may echo what was sent to them. The key must not get out that way.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

use secrecy::{ExposeSecret, SecretString};

use super::endpoint::Endpoint;
use crate::error::ErrorSource;

/// The longest text of a provider that is kept, in characters.
const LONGEST: usize = 600;

/// The shortest secret that is taken out of texts: below this there is nothing to hide, and words would go.
const SHORTEST: usize = 4;

/// Takes secrets out of texts from outside, and cuts them.
// THREAT[TM-MODEL-1]
#[derive(Clone)]
pub(crate) struct Redact {
    key: Option<SecretString>,
    endpoint: Endpoint,
}

impl Redact {
    pub(crate) fn new(key: Option<&SecretString>, endpoint: &Endpoint) -> Self {
        Self {
            key: key.cloned(),
            endpoint: endpoint.clone(),
        }
    }

    /// The base URL for errors.
    pub(crate) fn shown(&self) -> String {
        self.endpoint.shown().to_owned()
    }

    pub(crate) fn text(&self, text: &str) -> String {
        let mut text = text.to_owned();
        let key = self.key.as_ref().map(ExposeSecret::expose_secret);
        let secrets = [key, self.endpoint.query()];
        for secret in secrets
            .into_iter()
            .flatten()
            .filter(|secret| secret.len() >= SHORTEST)
        {
            text = text.replace(secret, "[redacted]");
        }
        match text.char_indices().nth(LONGEST) {
            Some((end, _)) => format!("{}..", &text[..end]),
            None => text,
        }
    }

    /// The error's whole chain as text.
    pub(crate) fn source(&self, error: &dyn Error) -> ErrorSource {
        Arc::new(self.cause(error, 0))
    }

    fn cause(&self, error: &dyn Error, depth: usize) -> Cause {
        let deeper = error.source().filter(|_| depth < 8);
        Cause {
            text: self.text(&error.to_string()),
            source: deeper.map(|source| Box::new(self.cause(source, depth + 1))),
        }
    }
}

/// An error of somebody else, as text.
#[derive(Debug)]
struct Cause {
    text: String,
    source: Option<Box<Cause>>,
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Error for Cause {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source
            .as_deref()
            .map(|source| source as &(dyn Error + 'static))
    }
}
