//! Which of our errors an HTTP status, an error body or a broken connection is.

use std::error::Error;
use std::time::Duration;

use reqwest::header::HeaderMap;
use serde_json::Value;

use super::redact::Redact;
use super::retry_after::retry_after;
use crate::error::{ModelError, TransientCause};

/// What a provider said about a failure, in either format.
#[derive(Clone, Debug, Default)]
pub(crate) struct Report {
    pub(crate) status: Option<u16>,
    pub(crate) code: String,
    pub(crate) kind: String,
    pub(crate) message: String,
    pub(crate) retry_after: Option<Duration>,
}

impl Report {
    /// From an error object: `{"message": .., "type": .., "code": ..}`, or whatever else a server sends.
    pub(crate) fn from_json(error: &Value) -> Self {
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
        let mut report = Self {
            // In the middle of a stream Google's code is the status.
            status: error["code"]
                .as_u64()
                .and_then(|code| u16::try_from(code).ok())
                .filter(|code| (400..600).contains(code)),
            code: text("code"),
            kind: text("type"),
            message,
            ..Self::default()
        };
        for detail in error["details"].as_array().into_iter().flatten() {
            report.google(detail);
        }
        report
    }

    /// A detail in the form of Google's services.
    fn google(&mut self, detail: &Value) {
        if let Some(reason) = detail["reason"].as_str() {
            self.code = reason.to_owned();
        }
        let seconds = detail["retryDelay"].as_str();
        let seconds = seconds.and_then(|delay| delay.strip_suffix('s')?.parse().ok());
        if let Some(delay) = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok()) {
            self.retry_after = Some(delay);
        }
        let violations = detail["violations"].as_array().into_iter().flatten();
        let ids = violations.filter_map(|violation| violation["quotaId"].as_str());
        // A quota of the day is not there again within any wait that makes sense here.
        if ids.into_iter().any(|id| id.contains("PerDay")) {
            self.code = "insufficient_quota".into();
        }
    }

    pub(crate) fn from_http(status: u16, body: &str, headers: &HeaderMap) -> Self {
        let parsed = match serde_json::from_str::<Value>(body) {
            Ok(Value::Array(mut list)) if !list.is_empty() => Ok(list.swap_remove(0)),
            other => other,
        };
        let report = match parsed {
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
            retry_after: retry_after(headers).or(report.retry_after),
            message,
            ..report
        }
    }

    /// Our error. The code decides where it is known, then the status.
    pub(crate) fn error(self, redact: &Redact) -> ModelError {
        let detail = redact.text(&self.message);
        let retry_after = self.retry_after;
        let transient = |cause| ModelError::Transient {
            cause,
            retry_after,
            detail: detail.clone(),
            source: None,
        };
        let name = if self.code.is_empty() {
            &self.kind
        } else {
            &self.code
        };
        let known = match name.as_str() {
            "context_length_exceeded" | "request_too_large" => Some(ModelError::ContextTooLong {
                detail: detail.clone(),
            }),
            "insufficient_quota" | "billing_hard_limit_reached" | "billing_error" => {
                Some(ModelError::QuotaExhausted {
                    detail: detail.clone(),
                })
            }
            "rate_limit_exceeded" | "rate_limit_error" => Some(ModelError::RateLimited {
                retry_after,
                detail: detail.clone(),
            }),
            "invalid_api_key" | "API_KEY_INVALID" | "authentication_error" | "permission_error" => {
                Some(ModelError::Authentication {
                    detail: detail.clone(),
                })
            }
            "content_filter" | "content_policy_violation" => Some(ModelError::Refused {
                detail: detail.clone(),
            }),
            _ => None,
        };
        if let Some(known) = known {
            return known;
        }
        match self.status {
            Some(400) if self.message.contains("credit balance is too low") => {
                ModelError::QuotaExhausted { detail }
            }
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
            None if matches!(
                self.kind.as_str(),
                "invalid_request_error" | "not_found_error"
            ) =>
            {
                ModelError::invalid(detail)
            }
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
        "maximum number of tokens",
    ]
    .iter()
    .any(|words| message.contains(words))
}

/// Our error for a connection that failed.
pub(crate) fn from_reqwest(error: reqwest::Error, redact: &Redact) -> ModelError {
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

/// An answer that cannot be read.
pub(crate) fn broken(what: &str, error: &(dyn Error + 'static), redact: &Redact) -> ModelError {
    ModelError::Transient {
        cause: TransientCause::BrokenStream,
        retry_after: None,
        detail: what.into(),
        source: Some(redact.source(error)),
    }
}
