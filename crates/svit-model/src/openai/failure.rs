//! Which of our errors an HTTP status, an error body or a broken connection is.

use std::error::Error;
use std::time::Duration;

use genai::Error as GenaiError;
use genai::webc::Error as WebError;
use reqwest::header::HeaderMap;
use serde_json::Value;

use super::redact::Redact;
use super::retry_after::retry_after;
use crate::error::{ModelError, TransientCause};

/// What a provider said about a failure, in either format.
#[derive(Clone, Debug, Default)]
pub(super) struct Report {
    pub(super) status: Option<u16>,
    pub(super) code: String,
    pub(super) kind: String,
    pub(super) message: String,
    pub(super) retry_after: Option<Duration>,
}

impl Report {
    /// From an error object: `{"message": .., "type": .., "code": ..}`, or whatever else a server sends.
    pub(super) fn from_json(error: &Value) -> Self {
        let text = |field: &str| match &error[field] {
            Value::String(text) => text.clone(),
            Value::Number(number) => number.to_string(),
            _ => String::new(),
        };
        let message = match error {
            Value::String(text) => text.clone(),
            _ => Some(text("message"))
                .filter(|text| !text.is_empty())
                .unwrap_or_else(|| error.to_string()),
        };
        Self {
            code: text("code"),
            kind: text("type"),
            message,
            ..Self::default()
        }
    }

    fn from_http(status: u16, body: &str, headers: &HeaderMap) -> Self {
        let report = match serde_json::from_str::<Value>(body) {
            Ok(body) if !body["error"].is_null() => Self::from_json(&body["error"]),
            Ok(body) if !body["detail"].is_null() => Self::from_json(&body["detail"]),
            Ok(body) => Self::from_json(&body),
            Err(_) => Self {
                message: body.trim().to_owned(),
                ..Self::default()
            },
        };
        let message = if report.message.is_empty() {
            format!("status {status}")
        } else {
            report.message
        };
        Self {
            status: Some(status),
            retry_after: retry_after(headers),
            message,
            ..report
        }
    }

    /// Our error. The code decides where it is known, then the status.
    pub(super) fn error(self, redact: &Redact) -> ModelError {
        let detail = redact.text(&self.message);
        let retry_after = self.retry_after;
        let transient = |cause| ModelError::Transient {
            cause,
            retry_after,
            detail: detail.clone(),
            source: None,
        };
        let known = match self.code.as_str() {
            "context_length_exceeded" => Some(ModelError::ContextTooLong {
                detail: detail.clone(),
            }),
            "insufficient_quota" | "billing_hard_limit_reached" => {
                Some(ModelError::QuotaExhausted {
                    detail: detail.clone(),
                })
            }
            "rate_limit_exceeded" => Some(ModelError::RateLimited {
                retry_after,
                detail: detail.clone(),
            }),
            "invalid_api_key" => Some(ModelError::Authentication {
                detail: detail.clone(),
            }),
            "content_filter" | "content_policy_violation" => Some(ModelError::Refused {
                detail: detail.clone(),
            }),
            _ => None,
        };
        if let Some(known) = known {
            return known;
        }
        match self.status {
            Some(400 | 413 | 422) if speaks_of_length(&self.message) => {
                ModelError::ContextTooLong { detail }
            }
            Some(401 | 403) => ModelError::Authentication { detail },
            Some(402) => ModelError::QuotaExhausted { detail },
            Some(413) => ModelError::ContextTooLong { detail },
            Some(429) => ModelError::RateLimited {
                retry_after,
                detail,
            },
            Some(status @ (408 | 409 | 500..=599)) => transient(TransientCause::Status(status)),
            Some(status) => ModelError::invalid(format!("status {status}: {detail}")),
            None if speaks_of_length(&self.message) => ModelError::ContextTooLong { detail },
            None if self.kind == "invalid_request_error" => ModelError::invalid(detail),
            None => transient(TransientCause::Reported),
        }
    }
}

/// Compatible servers have no code for it, but all say it like this.
fn speaks_of_length(message: &str) -> bool {
    let message = message.to_ascii_lowercase();
    [
        "context length",
        "context window",
        "context size",
        "maximum context",
        "prompt is too long",
    ]
    .iter()
    .any(|words| message.contains(words))
}

/// Our error for what `genai` gives up with.
pub(super) fn from_genai(error: GenaiError, redact: &Redact) -> ModelError {
    match error {
        GenaiError::HttpError {
            status,
            body,
            headers,
            ..
        } => Report::from_http(status.as_u16(), &body, &headers).error(redact),
        GenaiError::WebStream { error, .. } => match error.downcast::<GenaiError>() {
            Ok(inner) => from_genai(*inner, redact),
            Err(error) => match error.downcast::<reqwest::Error>() {
                Ok(error) => from_reqwest(*error, redact),
                Err(error) => broken("the answer cannot be read", &*error, redact),
            },
        },
        GenaiError::WebModelCall { webc_error, .. }
        | GenaiError::WebAdapterCall { webc_error, .. } => match webc_error {
            WebError::ResponseFailedStatus {
                status,
                body,
                headers,
            } => Report::from_http(status.as_u16(), &body, &headers).error(redact),
            WebError::Reqwest(error) => from_reqwest(error, redact),
            other => broken("the answer is not JSON", &other, redact),
        },
        error @ GenaiError::StreamParse { .. } => broken("an event is not JSON", &error, redact),
        GenaiError::ChatResponse { body, .. } => Report::from_json(&body).error(redact),
        other => ModelError::invalid(redact.text(&other.to_string())),
    }
}

fn from_reqwest(error: reqwest::Error, redact: &Redact) -> ModelError {
    let error = error.without_url();
    if error.is_connect() {
        return ModelError::Unreachable {
            endpoint: redact.shown(),
            source: Some(redact.source(&error)),
        };
    }
    if error.is_builder() {
        return ModelError::invalid(redact.text(&error.to_string()));
    }
    if error.is_timeout() {
        return ModelError::Transient {
            cause: TransientCause::Timeout,
            retry_after: None,
            detail: "nothing came for too long".into(),
            source: Some(redact.source(&error)),
        };
    }
    broken("the connection broke", &error, redact)
}

fn broken(what: &str, error: &(dyn Error + 'static), redact: &Redact) -> ModelError {
    ModelError::Transient {
        cause: TransientCause::BrokenStream,
        retry_after: None,
        detail: what.into(),
        source: Some(redact.source(error)),
    }
}
