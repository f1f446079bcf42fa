//! Reads the answers of `/api/chat`: lines with some more of the message, until one says that it is done.

#[cfg(test)]
mod tests;

use std::collections::VecDeque;

use serde_json::Value as Json;

use super::request::THINKING;
use crate::error::ModelError;
use crate::event::{FinishReason, ModelEvent, Usage};
use crate::http::answer::Reader;
use crate::http::failure::Report;
use crate::http::redact::Redact;
use crate::message::ContentPart;
use crate::tool::ToolCall;

/// What was read so far.
#[derive(Debug, Default)]
pub(super) struct OllamaReader {
    thinking: String,
    calls: usize,
}

impl Reader for OllamaReader {
    fn frame(
        &mut self,
        data: &str,
        redact: &Redact,
        out: &mut VecDeque<ModelEvent>,
    ) -> Result<(), ModelError> {
        let line: Json =
            serde_json::from_str(data).map_err(|_| ModelError::broken("a line is not JSON"))?;
        self.take(&line, redact, out)
    }

    fn document(
        &mut self,
        body: &Json,
        redact: &Redact,
        out: &mut VecDeque<ModelEvent>,
    ) -> Result<(), ModelError> {
        self.take(body, redact, out)?;
        if body["done"] == true {
            Ok(())
        } else {
            Err(ModelError::broken("the answer is not done"))
        }
    }
}

impl OllamaReader {
    fn take(
        &mut self,
        line: &Json,
        redact: &Redact,
        out: &mut VecDeque<ModelEvent>,
    ) -> Result<(), ModelError> {
        if !line["error"].is_null() {
            return Err(Report::from_json(&line["error"]).error(redact));
        }
        let message = &line["message"];
        if let Some(text) = message["thinking"].as_str().filter(|text| !text.is_empty()) {
            self.thinking.push_str(text);
            out.push_back(ModelEvent::ReasoningDelta(text.to_owned()));
        }
        let text = message["content"].as_str().filter(|text| !text.is_empty());
        let calls = message["tool_calls"].as_array();
        if text.is_some() || calls.is_some_and(|calls| !calls.is_empty()) {
            self.thought(out);
        }
        if let Some(text) = text {
            out.push_back(ModelEvent::TextDelta(text.to_owned()));
        }
        for call in calls.into_iter().flatten() {
            self.call(&call["function"], out);
        }
        if line["done"] == true {
            self.end(line, out)?;
        }
        Ok(())
    }

    /// What was thought stands before what came of it.
    fn thought(&mut self, out: &mut VecDeque<ModelEvent>) {
        let thinking = std::mem::take(&mut self.thinking);
        if !thinking.is_empty() {
            out.push_back(ModelEvent::Opaque(ContentPart::Opaque {
                kind: THINKING.into(),
                data: thinking.into(),
            }));
        }
    }

    /// Calls have no ids that mean anything to the server.
    fn call(&mut self, function: &Json, out: &mut VecDeque<ModelEvent>) {
        let arguments = match &function["arguments"] {
            Json::Null => String::new(),
            Json::String(text) => text.clone(),
            arguments => arguments.to_string(),
        };
        let id = format!("call_{}", self.calls);
        self.calls += 1;
        let name = function["name"].as_str().unwrap_or_default();
        out.push_back(ModelEvent::ToolCall(ToolCall::from_json(
            id, name, &arguments,
        )));
    }

    fn end(&mut self, line: &Json, out: &mut VecDeque<ModelEvent>) -> Result<(), ModelError> {
        let finish = match line["done_reason"].as_str().unwrap_or("stop") {
            "length" => FinishReason::Length,
            // The model was loaded, or put away: nothing was asked.
            "load" | "unload" => return Err(ModelError::broken("the server gave no answer")),
            _ if self.calls > 0 => FinishReason::ToolCalls,
            "stop" => FinishReason::Stop,
            other => FinishReason::Other(other.to_owned()),
        };
        self.thought(out);
        let (input, output) = (
            line["prompt_eval_count"].as_u64(),
            line["eval_count"].as_u64(),
        );
        if input.is_some() || output.is_some() {
            out.push_back(ModelEvent::Usage(Usage {
                input_tokens: input.unwrap_or(0),
                output_tokens: output.unwrap_or(0),
            }));
        }
        out.push_back(ModelEvent::Finish(finish));
        Ok(())
    }
}
