//! Which of our errors it is that `genai` gives up with.

use genai::Error as GenaiError;
use genai::webc::Error as WebError;

use crate::error::ModelError;
use crate::http::failure::{Report, broken, from_reqwest};
use crate::http::redact::Redact;

/// Our error for what `genai` gives up with.
pub(crate) fn from_genai(error: GenaiError, redact: &Redact) -> ModelError {
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
