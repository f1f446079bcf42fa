//! `LlmPort`: asks a model, within limits of prompt, answer, tokens and time.

use std::fmt;
use std::time::Duration;

use futures_util::StreamExt;
use svit_model::{ModelError, ModelEvent, ModelStream, Reasoner, collect};
use svit_value::{Map, Text, Value};

use super::LlmError;
use super::input::{input_schema, output_schema, request};
use crate::limits::{BESIDE_TEXT, MOST_BYTES, check, millis};
use crate::{
    BoxFuture, Effect, Port, PortContext, PortDescriptor, PortError, PortFailure, PortLimits, Ports,
};

/// How large one call may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LlmLimits {
    /// The largest prompt, with its `system`, in bytes. Default 256 KiB, at most 32 MiB.
    pub max_prompt_bytes: u64,
    /// The most tokens of an answer, and what a guest gets that asks for more. Default 4,096.
    pub max_output_tokens: u32,
    /// The largest answer in bytes. Default 1 MiB, at most 32 MiB.
    pub max_answer_bytes: u64,
    /// The time for a call, with whatever the provider tries again. Default 2 minutes.
    pub timeout: Duration,
}

impl Default for LlmLimits {
    fn default() -> Self {
        Self {
            max_prompt_bytes: 256 << 10,
            max_output_tokens: 4_096,
            max_answer_bytes: 1 << 20,
            timeout: Duration::from_secs(120),
        }
    }
}

/// One call of a model: a prompt goes in, a text comes out.
///
/// Its input is a map: `prompt`, and if need be `system` and `max_output_tokens`. Its output is a map
/// of `text`, `finish`, `model`, `input_tokens` and `output_tokens`. The failures are those of
/// [`LlmError`]. Its effect is `read`, and it is idempotent: a call that is repeated changes nothing
/// but the bill, and may be answered otherwise.
pub struct LlmPort {
    name: Text,
    reasoner: Reasoner,
    limits: LlmLimits,
}

impl LlmPort {
    /// The port `llm`, with the default limits.
    pub fn new(reasoner: Reasoner) -> Self {
        Self {
            name: "llm".into(),
            reasoner,
            limits: LlmLimits::default(),
        }
    }

    /// The same under another name, as where several models are granted.
    #[must_use]
    pub fn named(mut self, name: impl Into<Text>) -> Self {
        self.name = name.into();
        self
    }

    /// The same with other limits.
    ///
    /// # Errors
    /// [`PortError::BadDescriptor`] if one is 0, or more than it may be.
    pub fn limits(mut self, limits: LlmLimits) -> Result<Self, PortError> {
        let rows = [
            ("max_prompt_bytes", limits.max_prompt_bytes, MOST_BYTES),
            (
                "max_output_tokens",
                limits.max_output_tokens.into(),
                u64::MAX,
            ),
            ("max_answer_bytes", limits.max_answer_bytes, MOST_BYTES),
            ("timeout", millis(limits.timeout), u64::MAX),
        ];
        check(&self.name, rows)?;
        self.limits = limits;
        Ok(self)
    }

    // THREAT[TM-PORT-3]: what is asked, answered and waited for is bounded here.
    async fn answer(&self, input: &Value) -> Result<Value, LlmError> {
        let request = request(input, &self.limits)?;
        if !has_time() {
            return Err(LlmError::NoRuntime);
        }
        let allowed = self.limits.max_answer_bytes;
        let answer = async {
            let stream = self.reasoner.ask(request).await?;
            collect(only_text(stream, allowed), |_| {}).await
        };
        let timeout = self.limits.timeout;
        let answer = tokio::time::timeout(timeout, answer)
            .await
            .map_err(|_| LlmError::Timeout(timeout))?
            .map_err(|error| match error {
                ModelError::AnswerTooLarge { limit } if limit == allowed => {
                    LlmError::AnswerTooLarge { allowed }
                }
                other => LlmError::Model(other),
            })?;
        tracing::info!(
            model = self.reasoner.model(),
            input_tokens = answer.usage.input_tokens,
            output_tokens = answer.usage.output_tokens,
            finish = answer.finish.as_str(),
            "a port asked a model"
        );
        let Some(text) = answer.message.text() else {
            let finish = answer.finish;
            return Err(LlmError::NoText { finish });
        };
        let count = |tokens: u64| Value::Int(i64::try_from(tokens).unwrap_or(i64::MAX));
        let entries = [
            ("text", Value::from(text)),
            ("finish", answer.finish.as_str().into()),
            ("model", self.reasoner.model().into()),
            ("input_tokens", count(answer.usage.input_tokens)),
            ("output_tokens", count(answer.usage.output_tokens)),
        ];
        Map::from_entries(entries)
            .map(Value::from)
            .map_err(|error| ModelError::from(error).into())
    }
}

/// Whether there is a runtime that can measure time.
fn has_time() -> bool {
    tokio::runtime::Handle::try_current().is_ok()
        && std::panic::catch_unwind(|| drop(tokio::time::sleep(Duration::ZERO))).is_ok()
}

/// The text of an answer and how it ends, up to so many bytes. A model that calls tools which it was
/// not given, or thinks aloud, is not heard.
fn only_text(stream: ModelStream, allowed: u64) -> ModelStream {
    let mut bytes = 0_u64;
    Box::pin(stream.map(move |event| match event? {
        ModelEvent::TextDelta(delta) => {
            bytes = bytes.saturating_add(delta.len() as u64);
            if bytes > allowed {
                return Err(ModelError::AnswerTooLarge { limit: allowed });
            }
            Ok(ModelEvent::TextDelta(delta))
        }
        // Something still comes for each, so that whoever collects them sees the time pass.
        ModelEvent::ReasoningDelta(_) | ModelEvent::ToolCall(_) | ModelEvent::Opaque(_) => {
            Ok(ModelEvent::ReasoningDelta(String::new()))
        }
        other => Ok(other),
    }))
}

impl Port for LlmPort {
    fn descriptor(&self) -> PortDescriptor {
        let limits = &self.limits;
        let description = format!(
            "Asks the model {} and gives its text. It sees the prompt and nothing else, and has no tools. Each call costs tokens.",
            self.reasoner.model()
        );
        PortDescriptor::new(self.name.clone(), "1", description)
            .input(input_schema(limits))
            .output(output_schema())
            .effect(Effect::Read)
            .idempotent(true)
            .limits(PortLimits {
                max_input_bytes: limits.max_prompt_bytes + BESIDE_TEXT,
                max_output_bytes: limits.max_answer_bytes + BESIDE_TEXT,
            })
    }

    fn call<'a>(
        &'a self,
        _ctx: &'a PortContext,
        input: Value,
    ) -> BoxFuture<'a, Result<Value, PortFailure>> {
        Box::pin(async move { Ok(self.answer(&input).await?) })
    }
}

impl fmt::Debug for LlmPort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LlmPort")
            .field("name", &self.name)
            .field("reasoner", &self.reasoner)
            .field("limits", &self.limits)
            .finish()
    }
}

impl Ports {
    /// With the port `llm`: one bounded call of this model at a time. For other limits or another
    /// name, add an [`LlmPort`] with [`port`](Self::port).
    ///
    /// ```
    /// use svit_model::{Reasoner, Scripted};
    /// use svit_ports::{Effect, Ports};
    ///
    /// let ports = Ports::new().llm(Reasoner::new("small-model", Scripted::new([])));
    /// ports.check()?;
    /// assert_eq!(ports.descriptor("llm").map(|port| port.effect), Some(Effect::Read));
    /// # Ok::<(), svit_ports::PortError>(())
    /// ```
    pub fn llm(self, reasoner: Reasoner) -> Self {
        self.port(LlmPort::new(reasoner))
    }
}

#[cfg(test)]
mod tests;
