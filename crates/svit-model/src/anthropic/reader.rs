//! Reads the answers of the Messages API: blocks that are opened, filled and closed, each under its number.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, VecDeque};

use serde_json::{Value as Json, json};

use super::request::BLOCK;
use crate::error::ModelError;
use crate::event::{FinishReason, ModelEvent, Usage};
use crate::http::answer::Reader;
use crate::http::content::sealed;
use crate::http::failure::Report;
use crate::http::redact::Redact;
use crate::message::ContentPart;
use crate::tool::ToolCall;

/// What was read so far.
#[derive(Debug, Default)]
pub(super) struct MessagesReader {
    begun: bool,
    /// The blocks that are open, by their number.
    open: BTreeMap<u64, Block>,
    /// The number that the next block has at least.
    next: u64,
    /// The ids of the calls so far.
    calls: Vec<String>,
    counted: Counted,
    stop: Option<String>,
}

/// Token counts; a later one of a kind replaces an earlier one.
#[derive(Debug, Default)]
struct Counted {
    input: Option<u64>,
    created: u64,
    read: u64,
    output: Option<u64>,
}

/// A block as its beginning said it, and what was added.
#[derive(Debug)]
struct Block {
    first: Json,
    added: String,
    signature: String,
}

impl Reader for MessagesReader {
    fn frame(
        &mut self,
        data: &str,
        redact: &Redact,
        out: &mut VecDeque<ModelEvent>,
    ) -> Result<(), ModelError> {
        let event: Json =
            serde_json::from_str(data).map_err(|_| ModelError::broken("an event is not JSON"))?;
        match event["type"].as_str().unwrap_or_default() {
            "message_start" => {
                if self.begun {
                    return Err(ModelError::broken("the message begins twice"));
                }
                self.begun = true;
                self.counted.take(&event["message"]["usage"]);
            }
            "content_block_start" => self.start(&event, out)?,
            "content_block_delta" => self.delta(&event, out)?,
            "content_block_stop" => {
                let index = number(&event)?;
                let block = self.open.remove(&index);
                let block =
                    block.ok_or_else(|| ModelError::broken("a block ends that is not open"))?;
                self.block(block, out);
            }
            "message_delta" => {
                self.counted.take(&event["usage"]);
                if let Some(reason) = event["delta"]["stop_reason"].as_str() {
                    self.stop = Some(reason.to_owned());
                }
            }
            "message_stop" => return self.end(redact, out),
            "error" => return Err(Report::from_json(&event["error"]).error(redact)),
            // `ping`, and what later versions bring.
            _ => {}
        }
        Ok(())
    }

    fn document(
        &mut self,
        body: &Json,
        redact: &Redact,
        out: &mut VecDeque<ModelEvent>,
    ) -> Result<(), ModelError> {
        if !body["error"].is_null() {
            return Err(Report::from_json(&body["error"]).error(redact));
        }
        self.begun = body["content"].is_array();
        self.counted.take(&body["usage"]);
        for first in body["content"].as_array().into_iter().flatten() {
            let block = Block::new(first.clone());
            if let Some(text) = first["text"].as_str() {
                text_delta(text, out);
            }
            if let Some(text) = first["thinking"].as_str().filter(|text| !text.is_empty()) {
                out.push_back(ModelEvent::ReasoningDelta(text.to_owned()));
            }
            self.block(block, out);
        }
        self.stop = body["stop_reason"].as_str().map(str::to_owned);
        self.end(redact, out)
    }
}

impl MessagesReader {
    fn start(&mut self, event: &Json, out: &mut VecDeque<ModelEvent>) -> Result<(), ModelError> {
        let index = number(event)?;
        if !self.begun || self.stop.is_some() || index < self.next {
            return Err(ModelError::broken("a block begins out of order"));
        }
        self.next = index.saturating_add(1);
        let block = Block::new(event["content_block"].clone());
        match block.kind() {
            "text" => text_delta(block.first["text"].as_str().unwrap_or_default(), out),
            "thinking" => {
                if let Some(text) = block.first["thinking"]
                    .as_str()
                    .filter(|text| !text.is_empty())
                {
                    out.push_back(ModelEvent::ReasoningDelta(text.to_owned()));
                }
            }
            _ => {}
        }
        self.open.insert(index, block);
        Ok(())
    }

    fn delta(&mut self, event: &Json, out: &mut VecDeque<ModelEvent>) -> Result<(), ModelError> {
        let index = number(event)?;
        let block = self
            .open
            .get_mut(&index)
            .ok_or_else(|| ModelError::broken("a delta is for a block that is not open"))?;
        let delta = &event["delta"];
        let kind = delta["type"].as_str().unwrap_or_default();
        let text = |field: &str| delta[field].as_str().unwrap_or_default();
        match (kind, block.kind()) {
            ("text_delta", "text") => text_delta(text("text"), out),
            ("thinking_delta", "thinking") => {
                block.added.push_str(text("thinking"));
                if !text("thinking").is_empty() {
                    out.push_back(ModelEvent::ReasoningDelta(text("thinking").to_owned()));
                }
            }
            ("signature_delta", "thinking") => block.signature.push_str(text("signature")),
            // Calls of the server's own tools are filled in the same way.
            ("input_json_delta", _) => block.added.push_str(text("partial_json")),
            ("text_delta" | "thinking_delta" | "signature_delta", _) => {
                return Err(ModelError::broken(
                    "a delta is of another kind than its block",
                ));
            }
            // Citations, and what later versions bring.
            _ => {}
        }
        Ok(())
    }

    /// A block that is complete.
    fn block(&mut self, block: Block, out: &mut VecDeque<ModelEvent>) {
        let Block {
            mut first,
            added,
            signature,
        } = block;
        match first["type"].as_str().unwrap_or_default() {
            "text" | "" => {}
            "tool_use" => {
                let written = if added.is_empty() && first["input"].is_object() {
                    first["input"].to_string()
                } else {
                    added
                };
                let text = |field: &str| first[field].as_str().unwrap_or_default();
                let mut id = text("id").to_owned();
                // A result finds its call by this.
                if id.is_empty() || self.calls.contains(&id) {
                    id = format!("call_{}", self.calls.len());
                }
                self.calls.push(id.clone());
                let call = ToolCall::from_json(id, text("name"), &written);
                out.push_back(ModelEvent::ToolCall(call));
            }
            kind => {
                if kind == "thinking" {
                    for (field, more) in [("thinking", added), ("signature", signature)] {
                        let whole = first[field].as_str().unwrap_or_default().to_owned() + &more;
                        first[field] = json!(whole);
                    }
                    // Without its signature it is refused when it comes back.
                    if first["signature"] == "" {
                        return;
                    }
                } else if !added.is_empty() {
                    let Ok(input) = serde_json::from_str(&added) else {
                        return;
                    };
                    first["input"] = input;
                }
                out.push_back(ModelEvent::Opaque(ContentPart::Opaque {
                    kind: BLOCK.into(),
                    data: sealed(&first),
                }));
            }
        }
    }

    /// At the end marker.
    fn end(&mut self, redact: &Redact, out: &mut VecDeque<ModelEvent>) -> Result<(), ModelError> {
        let Some(stop) = self.stop.take().filter(|_| self.begun) else {
            return Err(ModelError::broken("the answer has no stop reason"));
        };
        let is_cut = matches!(
            stop.as_str(),
            "max_tokens" | "model_context_window_exceeded"
        );
        let open = std::mem::take(&mut self.open);
        if !open.is_empty() && !is_cut {
            return Err(ModelError::broken("the message ends within a block"));
        }
        for block in open.into_values() {
            // A call that was cut is malformed, and the model is told so. Cut thinking has no signature.
            if block.kind() == "tool_use" {
                self.block(block, out);
            }
        }
        if stop == "refusal" {
            return Err(ModelError::Refused {
                detail: redact.text("the provider stopped the answer: refusal"),
            });
        }
        if stop == "tool_use" && self.calls.is_empty() {
            return Err(ModelError::broken(
                "the answer ends in tool calls, and there are none",
            ));
        }
        out.extend(self.counted.usage().map(ModelEvent::Usage));
        out.push_back(ModelEvent::Finish(match stop.as_str() {
            _ if is_cut => FinishReason::Length,
            _ if !self.calls.is_empty() => FinishReason::ToolCalls,
            "end_turn" | "stop_sequence" => FinishReason::Stop,
            _ => FinishReason::Other(stop),
        }));
        Ok(())
    }
}

impl Block {
    fn new(first: Json) -> Self {
        Self {
            first,
            added: String::new(),
            signature: String::new(),
        }
    }

    fn kind(&self) -> &str {
        self.first["type"].as_str().unwrap_or_default()
    }
}

impl Counted {
    fn take(&mut self, usage: &Json) {
        let count = |field: &str| usage[field].as_u64();
        self.input = count("input_tokens").or(self.input);
        self.output = count("output_tokens").or(self.output);
        self.created = count("cache_creation_input_tokens").unwrap_or(self.created);
        self.read = count("cache_read_input_tokens").unwrap_or(self.read);
    }

    /// Input that was written to a cache, or read from one, is counted apart on the wire.
    fn usage(&self) -> Option<Usage> {
        (self.input.is_some() || self.output.is_some()).then(|| Usage {
            input_tokens: self
                .input
                .unwrap_or(0)
                .saturating_add(self.created)
                .saturating_add(self.read),
            output_tokens: self.output.unwrap_or(0),
        })
    }
}

fn text_delta(text: &str, out: &mut VecDeque<ModelEvent>) {
    if !text.is_empty() {
        out.push_back(ModelEvent::TextDelta(text.to_owned()));
    }
}

fn number(event: &Json) -> Result<u64, ModelError> {
    event["index"]
        .as_u64()
        .ok_or_else(|| ModelError::broken("a block has no number"))
}
