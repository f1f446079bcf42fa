//! Reads the answers of `generateContent`: each frame of a stream is a whole answer with some more parts.

#[cfg(test)]
mod tests;

use std::collections::VecDeque;

use serde_json::Value as Json;
use svit_value::{Map, Value};

use super::request::{OWN_ID, PART, SIGNATURE};
use crate::error::{ModelError, TransientCause};
use crate::event::{FinishReason, ModelEvent, Usage};
use crate::http::answer::Reader;
use crate::http::content::sealed;
use crate::http::failure::Report;
use crate::http::redact::Redact;
use crate::message::ContentPart;
use crate::tool::ToolCall;

/// What was read so far.
#[derive(Debug, Default)]
pub(super) struct GeminiReader {
    /// The ids of the calls so far.
    calls: Vec<String>,
    usage: Option<Usage>,
    finished: bool,
}

impl Reader for GeminiReader {
    fn frame(
        &mut self,
        data: &str,
        redact: &Redact,
        out: &mut VecDeque<ModelEvent>,
    ) -> Result<(), ModelError> {
        let chunk: Json =
            serde_json::from_str(data).map_err(|_| ModelError::broken("an event is not JSON"))?;
        self.take(&chunk, redact, out)
    }

    fn document(
        &mut self,
        body: &Json,
        redact: &Redact,
        out: &mut VecDeque<ModelEvent>,
    ) -> Result<(), ModelError> {
        self.take(body, redact, out)?;
        if self.finished {
            Ok(())
        } else {
            Err(ModelError::broken("the answer has no finish reason"))
        }
    }
}

impl GeminiReader {
    fn take(
        &mut self,
        chunk: &Json,
        redact: &Redact,
        out: &mut VecDeque<ModelEvent>,
    ) -> Result<(), ModelError> {
        if !chunk["error"].is_null() {
            return Err(Report::from_json(&chunk["error"]).error(redact));
        }
        if let Some(reason) = chunk["promptFeedback"]["blockReason"].as_str() {
            return Err(ModelError::Refused {
                detail: redact.text(&format!(
                    "the provider's filter stopped the request: {reason}"
                )),
            });
        }
        self.count(&chunk["usageMetadata"]);
        let candidate = &chunk["candidates"][0];
        for part in candidate["content"]["parts"]
            .as_array()
            .into_iter()
            .flatten()
        {
            self.part(part, out)?;
        }
        match candidate["finishReason"].as_str() {
            Some(reason) => self.finish(reason, candidate, redact, out),
            None => Ok(()),
        }
    }

    fn count(&mut self, usage: &Json) {
        let sum = |fields: [&str; 2]| {
            let counts = fields.map(|field| usage[field].as_u64());
            let total = counts
                .iter()
                .flatten()
                .fold(0_u64, |sum, n| sum.saturating_add(*n));
            counts.iter().any(Option::is_some).then_some(total)
        };
        let input = sum(["promptTokenCount", "toolUsePromptTokenCount"]);
        let output = sum(["candidatesTokenCount", "thoughtsTokenCount"]);
        if input.is_some() || output.is_some() {
            let before = self.usage.unwrap_or_default();
            self.usage = Some(Usage {
                input_tokens: input.unwrap_or(before.input_tokens),
                output_tokens: output.unwrap_or(before.output_tokens),
            });
        }
    }

    fn part(&mut self, part: &Json, out: &mut VecDeque<ModelEvent>) -> Result<(), ModelError> {
        let text = part["text"].as_str();
        let call = &part["functionCall"];
        let signature = part["thoughtSignature"].as_str();
        if part["thought"] == true {
            if let Some(text) = text.filter(|text| !text.is_empty()) {
                out.push_back(ModelEvent::ReasoningDelta(text.to_owned()));
            }
            return Ok(());
        }
        if let Some(signature) = signature {
            let on = match text {
                _ if call.is_object() => Some("call"),
                Some("") => Some("nothing"),
                Some(_) => Some("text"),
                // Parts that are kept whole keep their own.
                None => None,
            };
            if let Some(on) = on {
                let fields = [
                    ("on", Value::from(on)),
                    ("signature", Value::from(signature)),
                ];
                out.push_back(ModelEvent::Opaque(ContentPart::Opaque {
                    kind: SIGNATURE.into(),
                    data: Map::from_entries(fields)?.into(),
                }));
            }
        }
        if call.is_object() {
            self.call(call, out);
        } else if let Some(text) = text {
            if !text.is_empty() {
                out.push_back(ModelEvent::TextDelta(text.to_owned()));
            }
        } else if part.as_object().is_some_and(|part| !part.is_empty()) {
            out.push_back(ModelEvent::Opaque(ContentPart::Opaque {
                kind: PART.into(),
                data: sealed(part),
            }));
        }
        Ok(())
    }

    fn call(&mut self, call: &Json, out: &mut VecDeque<ModelEvent>) {
        let text = |field: &str| call[field].as_str().unwrap_or_default();
        let mut id = text("id").to_owned();
        // A result finds its call by this.
        if id.is_empty() || self.calls.contains(&id) {
            id = format!("{OWN_ID}{}", self.calls.len());
        }
        self.calls.push(id.clone());
        let arguments = match &call["args"] {
            Json::Null => String::new(),
            Json::String(text) => text.clone(),
            args => args.to_string(),
        };
        out.push_back(ModelEvent::ToolCall(ToolCall::from_json(
            id,
            text("name"),
            &arguments,
        )));
    }

    fn finish(
        &mut self,
        reason: &str,
        candidate: &Json,
        redact: &Redact,
        out: &mut VecDeque<ModelEvent>,
    ) -> Result<(), ModelError> {
        let said = candidate["finishMessage"].as_str().unwrap_or_default();
        let detail = redact.text(format!("{reason} {said}").trim());
        let finish = match reason {
            "STOP" if self.calls.is_empty() => FinishReason::Stop,
            // Some servers of this format have a name of their own for it.
            "STOP" | "FUNCTION_CALL" if !self.calls.is_empty() => FinishReason::ToolCalls,
            "MAX_TOKENS" => FinishReason::Length,
            "SAFETY" | "RECITATION" | "BLOCKLIST" | "PROHIBITED_CONTENT" | "SPII" => {
                return Err(ModelError::Refused { detail });
            }
            // The model failed at the form of a call, and nothing of it is shown. It may do better.
            "MALFORMED_FUNCTION_CALL" | "UNEXPECTED_TOOL_CALL" | "MALFORMED_RESPONSE" => {
                return Err(ModelError::Transient {
                    cause: TransientCause::Reported,
                    retry_after: None,
                    detail,
                    source: None,
                });
            }
            "MISSING_THOUGHT_SIGNATURE" => return Err(ModelError::invalid(detail)),
            other => FinishReason::Other(other.to_owned()),
        };
        self.finished = true;
        out.extend(self.usage.take().map(ModelEvent::Usage));
        out.push_back(ModelEvent::Finish(finish));
        Ok(())
    }
}
