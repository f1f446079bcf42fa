//! Reads the answers of Chat Completions.

#[cfg(test)]
mod tests;

use std::collections::VecDeque;

use serde_json::Value as Json;

use super::request::CHAT_REASONING;
use super::responses::tokens;
use crate::error::ModelError;
use crate::event::{FinishReason, ModelEvent, Usage};
use crate::http::failure::Report;
use crate::http::redact::Redact;
use crate::message::ContentPart;
use crate::tool::ToolCall;

/// What was read so far.
#[derive(Debug, Default)]
pub(super) struct ChatReader {
    reasoning: String,
    refusal: String,
    calls: Vec<PartialCall>,
    usage: Option<Usage>,
    finish: Option<String>,
}

#[derive(Debug, Default)]
struct PartialCall {
    index: Option<u64>,
    id: String,
    name: String,
    arguments: String,
}

impl ChatReader {
    /// One event of a stream.
    pub(super) fn frame(
        &mut self,
        data: &str,
        redact: &Redact,
        out: &mut VecDeque<ModelEvent>,
    ) -> Result<(), ModelError> {
        if data == "[DONE]" {
            return self.end(redact, out);
        }
        let chunk: Json =
            serde_json::from_str(data).map_err(|_| ModelError::broken("an event is not JSON"))?;
        self.take(&chunk, "delta", redact, out)
    }

    /// A whole answer.
    pub(super) fn document(
        &mut self,
        body: &Json,
        redact: &Redact,
        out: &mut VecDeque<ModelEvent>,
    ) -> Result<(), ModelError> {
        self.take(body, "message", redact, out)?;
        self.end(redact, out)
    }

    fn take(
        &mut self,
        chunk: &Json,
        field: &str,
        redact: &Redact,
        out: &mut VecDeque<ModelEvent>,
    ) -> Result<(), ModelError> {
        if !chunk["error"].is_null() {
            return Err(Report::from_json(&chunk["error"]).error(redact));
        }
        if let Some(usage) = tokens(&chunk["usage"], "prompt_tokens", "completion_tokens") {
            self.usage = Some(usage);
        }
        let choice = &chunk["choices"][0];
        let said = &choice[field];
        if let Some(text) = said["reasoning_content"]
            .as_str()
            .or(said["reasoning"].as_str())
            .filter(|text| !text.is_empty())
        {
            self.reasoning.push_str(text);
            out.push_back(ModelEvent::ReasoningDelta(text.to_owned()));
        }
        if let Some(text) = said["content"].as_str().filter(|text| !text.is_empty()) {
            out.push_back(ModelEvent::TextDelta(text.to_owned()));
        }
        if let Some(text) = said["refusal"].as_str() {
            self.refusal.push_str(text);
        }
        for call in said["tool_calls"].as_array().into_iter().flatten() {
            self.call(call);
        }
        if let Some(reason) = choice["finish_reason"].as_str() {
            self.finish = Some(reason.to_owned());
        }
        Ok(())
    }

    /// Calls come in pieces. Most servers number them; some leave the index out, or give all the same
    /// one, and tell them apart by id.
    fn call(&mut self, piece: &Json) {
        let index = piece["index"].as_u64();
        let id = piece["id"].as_str().unwrap_or_default();
        let place = self.calls.iter().rposition(|call| match index {
            Some(_) => call.index == index,
            None => true,
        });
        let place = place.filter(|place| id.is_empty() || self.calls[*place].id == id);
        let place = place.unwrap_or_else(|| {
            self.calls.push(PartialCall {
                index,
                id: id.to_owned(),
                ..PartialCall::default()
            });
            self.calls.len() - 1
        });
        let call = &mut self.calls[place];
        let function = &piece["function"];
        if let Some(name) = function["name"].as_str().filter(|name| !name.is_empty()) {
            call.name = name.to_owned();
        }
        match &function["arguments"] {
            Json::String(text) => call.arguments.push_str(text),
            Json::Null => {}
            other => call.arguments = other.to_string(),
        }
    }

    /// At the end marker: everything that may be acted on only in a complete answer.
    fn end(&mut self, redact: &Redact, out: &mut VecDeque<ModelEvent>) -> Result<(), ModelError> {
        let Some(finish) = self.finish.take() else {
            return Err(ModelError::broken("the answer has no finish reason"));
        };
        if !self.refusal.is_empty() {
            return Err(ModelError::Refused {
                detail: redact.text(&self.refusal),
            });
        }
        if finish == "content_filter" {
            return Err(ModelError::Refused {
                detail: "the provider's filter stopped the answer".into(),
            });
        }
        if matches!(finish.as_str(), "tool_calls" | "function_call") && self.calls.is_empty() {
            return Err(ModelError::broken(
                "the answer ends in tool calls, and there are none",
            ));
        }
        if !self.reasoning.is_empty() {
            let data = std::mem::take(&mut self.reasoning).into();
            out.push_back(ModelEvent::Opaque(ContentPart::Opaque {
                kind: CHAT_REASONING.into(),
                data,
            }));
        }
        let calls = std::mem::take(&mut self.calls);
        let called = !calls.is_empty();
        let mut ids: Vec<String> = Vec::with_capacity(calls.len());
        for (number, call) in calls.into_iter().enumerate() {
            let id = if call.id.is_empty() || ids.contains(&call.id) {
                format!("call_{number}")
            } else {
                call.id
            };
            ids.push(id.clone());
            out.push_back(ModelEvent::ToolCall(ToolCall::from_json(
                id,
                call.name,
                &call.arguments,
            )));
        }
        out.extend(self.usage.take().map(ModelEvent::Usage));
        out.push_back(ModelEvent::Finish(match finish.as_str() {
            "length" | "max_tokens" => FinishReason::Length,
            _ if called => FinishReason::ToolCalls,
            "stop" => FinishReason::Stop,
            _ => FinishReason::Other(finish),
        }));
        Ok(())
    }
}
