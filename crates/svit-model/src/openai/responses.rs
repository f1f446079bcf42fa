//! Reads the answers of the Responses API.

#[cfg(test)]
mod tests;

use std::collections::{BTreeSet, VecDeque};

use serde_json::Value as Json;

use super::request::RESPONSES_ITEM;
use crate::error::ModelError;
use crate::event::{FinishReason, ModelEvent, Usage};
use crate::http::content::sealed;
use crate::http::failure::Report;
use crate::http::redact::Redact;
use crate::message::ContentPart;
use crate::tool::ToolCall;

/// What was read so far.
#[derive(Debug, Default)]
pub(super) struct ResponsesReader {
    /// Message items whose text came as deltas.
    streamed: BTreeSet<u64>,
    /// The message item that text was last given out of.
    speaking: Option<u64>,
    items: u64,
    /// The ids of the calls so far.
    calls: Vec<String>,
    refusal: String,
}

impl ResponsesReader {
    /// One event of a stream.
    pub(super) fn frame(
        &mut self,
        data: &str,
        redact: &Redact,
        out: &mut VecDeque<ModelEvent>,
    ) -> Result<(), ModelError> {
        if data == "[DONE]" {
            return Ok(());
        }
        let event: Json =
            serde_json::from_str(data).map_err(|_| ModelError::broken("an event is not JSON"))?;
        let index = event["output_index"].as_u64().unwrap_or(0);
        match event["type"].as_str().unwrap_or_default() {
            "response.output_text.delta" => {
                self.streamed.insert(index);
                self.text(index, event["delta"].as_str().unwrap_or_default(), out);
            }
            "response.refusal.delta" => {
                self.streamed.insert(index);
                self.refusal
                    .push_str(event["delta"].as_str().unwrap_or_default());
            }
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
                if let Some(delta) = event["delta"].as_str() {
                    out.push_back(ModelEvent::ReasoningDelta(delta.to_owned()));
                }
            }
            "response.output_item.done" => self.item(index, &event["item"], out),
            "response.completed" | "response.incomplete" | "response.failed" => {
                return self.document(&event["response"], redact, out);
            }
            "error" => {
                let error = if event["error"].is_object() {
                    &event["error"]
                } else {
                    &event
                };
                return Err(Report::from_json(error).error(redact));
            }
            "" if !event["error"].is_null() => {
                return Err(Report::from_json(&event["error"]).error(redact));
            }
            _ => {}
        }
        Ok(())
    }

    /// The response object: a whole answer, or the end of a stream.
    pub(super) fn document(
        &mut self,
        response: &Json,
        redact: &Redact,
        out: &mut VecDeque<ModelEvent>,
    ) -> Result<(), ModelError> {
        if !response["error"].is_null() {
            return Err(Report::from_json(&response["error"]).error(redact));
        }
        let finish = match response["status"].as_str().unwrap_or_default() {
            "completed" => None,
            "incomplete" => match response["incomplete_details"]["reason"]
                .as_str()
                .unwrap_or_default()
            {
                "max_output_tokens" => Some(FinishReason::Length),
                "content_filter" => {
                    return Err(ModelError::Refused {
                        detail: "the provider's filter stopped the answer".into(),
                    });
                }
                other => Some(FinishReason::Other(other.to_owned())),
            },
            other => {
                return Err(ModelError::broken(format!(
                    "the response ended with status {:?}",
                    redact.text(other)
                )));
            }
        };
        // Some servers send the items here only.
        if self.items == 0 {
            for (index, item) in response["output"]
                .as_array()
                .into_iter()
                .flatten()
                .enumerate()
            {
                self.item(index as u64, item, out);
            }
        }
        if !self.refusal.is_empty() {
            return Err(ModelError::Refused {
                detail: redact.text(&self.refusal),
            });
        }
        out.extend(
            tokens(&response["usage"], "input_tokens", "output_tokens").map(ModelEvent::Usage),
        );
        let natural = if self.calls.is_empty() {
            FinishReason::Stop
        } else {
            FinishReason::ToolCalls
        };
        out.push_back(ModelEvent::Finish(finish.unwrap_or(natural)));
        Ok(())
    }

    /// A finished item of the output, in the order in which the model made them.
    fn item(&mut self, index: u64, item: &Json, out: &mut VecDeque<ModelEvent>) {
        self.items += 1;
        match item["type"].as_str().unwrap_or_default() {
            "message" => {
                if self.streamed.contains(&index) {
                    return;
                }
                for part in item["content"].as_array().into_iter().flatten() {
                    self.text(index, part["text"].as_str().unwrap_or_default(), out);
                    self.refusal
                        .push_str(part["refusal"].as_str().unwrap_or_default());
                }
            }
            "function_call" => {
                let text = |field: &str| item[field].as_str().unwrap_or_default();
                let mut id = Some(text("call_id"))
                    .filter(|id| !id.is_empty())
                    .unwrap_or(text("id"))
                    .to_owned();
                // A result finds its call by this.
                if id.is_empty() || self.calls.contains(&id) {
                    id = format!("call_{}", self.calls.len());
                }
                self.calls.push(id.clone());
                let call = ToolCall::from_json(id, text("name"), text("arguments"));
                out.push_back(ModelEvent::ToolCall(call));
            }
            // Nothing is stored with the provider, so reasoning without its seal cannot be given back.
            "reasoning" if item["encrypted_content"].as_str().is_none_or(str::is_empty) => {}
            "" => {}
            _ => out.push_back(ModelEvent::Opaque(ContentPart::Opaque {
                kind: RESPONSES_ITEM.into(),
                data: sealed(item),
            })),
        }
    }

    fn text(&mut self, index: u64, text: &str, out: &mut VecDeque<ModelEvent>) {
        if text.is_empty() {
            return;
        }
        // Each message item is a paragraph of its own.
        let between = if self.speaking.is_some_and(|last| last != index) {
            "\n\n"
        } else {
            ""
        };
        self.speaking = Some(index);
        out.push_back(ModelEvent::TextDelta(format!("{between}{text}")));
    }
}

/// Token counts, if there are any.
pub(super) fn tokens(usage: &Json, input: &str, output: &str) -> Option<Usage> {
    let (input, output) = (usage[input].as_u64(), usage[output].as_u64());
    (input.is_some() || output.is_some()).then(|| Usage {
        input_tokens: input.unwrap_or(0),
        output_tokens: output.unwrap_or(0),
    })
}
