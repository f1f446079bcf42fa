//! A request as a script sees it: checked, and counted.

use serde_json::Value;

/// The wire format that a request came in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Wire {
    /// `POST /v1/chat/completions`.
    ChatCompletions,
    /// `POST /v1/responses`.
    Responses,
    /// Anthropic's `POST /v1/messages`.
    Messages,
    /// Gemini's `POST /v1beta/models/MODEL:generateContent` and `:streamGenerateContent?alt=sse`.
    Gemini,
    /// Ollama's `POST /api/chat`.
    Ollama,
}

/// A request that passed all checks.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Request {
    /// The wire format.
    pub wire: Wire,
    /// How many requests were accepted before this one.
    pub number: usize,
    /// How many model turns the conversation already holds: the same after a restart of either side.
    pub turn: usize,
    /// How many times this turn was asked for before, since the server started.
    pub attempt: usize,
    /// The model's name.
    pub model: String,
    /// Whether a stream was asked for.
    pub streaming: bool,
    /// The whole body.
    pub body: Value,
}

/// How many model turns the conversation in a checked body holds.
pub(super) fn turns(wire: Wire, body: &Value) -> usize {
    match wire {
        Wire::ChatCompletions | Wire::Messages | Wire::Ollama => {
            of_role(items(body, "messages"), "assistant")
        }
        Wire::Gemini => of_role(items(body, "contents"), "model"),
        Wire::Responses => {
            let mut turns = 0;
            let mut inside = false;
            for item in items(body, "input") {
                let model = item["role"] == "assistant"
                    || item["type"] == "function_call"
                    || item["type"] == "reasoning";
                turns += usize::from(model && !inside);
                inside = model;
            }
            turns
        }
    }
}

fn of_role(items: &[Value], role: &str) -> usize {
    items.iter().filter(|item| item["role"] == role).count()
}

fn items<'a>(body: &'a Value, field: &str) -> &'a [Value] {
    body[field].as_array().map_or(&[], Vec::as_slice)
}
