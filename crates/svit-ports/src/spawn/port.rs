//! `SpawnPort`: judges a call, and has a child run within limits.

use std::fmt;
use std::time::Duration;

use svit_model::Reasoner;
use svit_value::{Map, Text, Value, value};

use super::{ChildRun, SpawnError};
use crate::error::cut;
use crate::limits::{BESIDE_TEXT, MOST_BYTES, check, millis};
use crate::{
    BoxFuture, Effect, Port, PortContext, PortDescriptor, PortError, PortFailure, PortLimits, Ports,
};

/// How large one child's turn may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpawnLimits {
    /// The largest prompt in bytes. Default 256 KiB, at most 32 MiB.
    pub max_prompt_bytes: u64,
    /// The largest answer in bytes. Default 1 MiB, at most 32 MiB.
    pub max_answer_bytes: u64,
    /// The most tokens of the turn, requests and answers together. Default 200,000.
    pub max_turn_tokens: u64,
    /// The time for the turn. Default 10 minutes.
    pub timeout: Duration,
}

impl Default for SpawnLimits {
    fn default() -> Self {
        Self {
            max_prompt_bytes: 256 << 10,
            max_answer_bytes: 1 << 20,
            max_turn_tokens: 200_000,
            timeout: Duration::from_secs(600),
        }
    }
}

/// A child of the process answers one message.
///
/// Its input is a map: `prompt`. Its output is a map of `text`, `address`, `version`, `input_tokens` and
/// `output_tokens`. The failures are those of [`SpawnError`] and those of the child's turn, by their
/// codes. It is idempotent. Its effect is the strongest of the ports that children have: without any,
/// `read`, since what a child does then stays with the child.
pub struct SpawnPort {
    name: Text,
    reasoner: Reasoner,
    ports: Ports,
    limits: SpawnLimits,
}

impl SpawnPort {
    /// The port `spawn`, with the default limits. Children have no ports.
    pub fn new(reasoner: Reasoner) -> Self {
        Self {
            name: "spawn".into(),
            reasoner,
            ports: Ports::new(),
            limits: SpawnLimits::default(),
        }
    }

    /// The same under another name.
    #[must_use]
    pub fn named(mut self, name: impl Into<Text>) -> Self {
        self.name = name.into();
        self
    }

    /// What children may call, in place of what they might before. A child whose ports have no
    /// `spawn` has no children, so how deep they go is what the host writes here.
    ///
    /// # Errors
    /// Those of [`Ports::check`].
    pub fn grant(mut self, ports: Ports) -> Result<Self, PortError> {
        ports.check()?;
        self.ports = ports;
        Ok(self)
    }

    /// The same with other limits.
    ///
    /// # Errors
    /// [`PortError::BadDescriptor`] if one is 0, or more than it may be.
    pub fn limits(mut self, limits: SpawnLimits) -> Result<Self, PortError> {
        let rows = [
            ("max_prompt_bytes", limits.max_prompt_bytes, MOST_BYTES),
            ("max_answer_bytes", limits.max_answer_bytes, MOST_BYTES),
            ("max_turn_tokens", limits.max_turn_tokens, u64::MAX),
            ("timeout", millis(limits.timeout), u64::MAX),
        ];
        check(&self.name, rows)?;
        self.limits = limits;
        Ok(self)
    }

    fn prompt<'a>(&self, input: &'a Value) -> Result<&'a str, SpawnError> {
        let bad_input = |field, why: String| SpawnError::BadInput { field, why };
        let Some(input) = input.as_map() else {
            return Err(bad_input("input", "give a map with prompt".to_owned()));
        };
        if let Some(key) = input.keys().find(|key| key.as_str() != "prompt") {
            let why = format!("there is no field {:?}; there is prompt", cut(key, 60));
            return Err(bad_input("input", why));
        }
        let prompt = match input.get("prompt") {
            None | Some(Value::Null) => "",
            Some(Value::Text(text)) => text.as_str(),
            Some(other) => {
                let why = format!("it is a text, not {}", other.kind());
                return Err(bad_input("prompt", why));
            }
        };
        if prompt.trim().is_empty() {
            return Err(bad_input("prompt", "it is missing or empty".to_owned()));
        }
        let (allowed, actual) = (self.limits.max_prompt_bytes, prompt.len() as u64);
        if actual > allowed {
            return Err(SpawnError::PromptTooLarge { allowed, actual });
        }
        Ok(prompt)
    }

    // THREAT[TM-PORT-4]: what a child may call is what is given to it here.
    async fn answer(&self, ctx: &PortContext, input: &Value) -> Result<Value, PortFailure> {
        let prompt = self.prompt(input)?.to_owned();
        let children = ctx.children().ok_or(SpawnError::NoLoop)?;
        let child = ChildRun {
            key: ctx.idempotency_key().into(),
            prompt,
            reasoner: self.reasoner.clone(),
            ports: self.ports.clone(),
            max_turn_tokens: self.limits.max_turn_tokens,
            timeout: self.limits.timeout,
        };
        let answer = children.run(child).await?;
        let (allowed, actual) = (self.limits.max_answer_bytes, answer.text.len() as u64);
        if actual > allowed {
            let address = answer.address;
            return Err(SpawnError::AnswerTooLarge {
                address,
                allowed,
                actual,
            }
            .into());
        }
        let count = |n: u64| Value::Int(i64::try_from(n).unwrap_or(i64::MAX));
        let entries = [
            ("text", Value::from(answer.text)),
            ("address", answer.address.into()),
            ("version", count(answer.version)),
            ("input_tokens", count(answer.input_tokens)),
            ("output_tokens", count(answer.output_tokens)),
        ];
        Ok(Map::from_entries(entries)?.into())
    }
}

impl Port for SpawnPort {
    fn descriptor(&self) -> PortDescriptor {
        let mut effect = Effect::Read;
        let mut granted = Vec::new();
        for port in self.ports.descriptors() {
            granted.push(port.name.as_str());
            // A class that is not known here is taken for the worst.
            if !matches!(port.effect, Effect::Pure | Effect::Read) {
                effect = Effect::Write;
            }
        }
        let granted = match &granted[..] {
            [] => "no ports".to_owned(),
            names => format!("the ports {}", cut(&names.join(", "), 1_000)),
        };
        let description = format!(
            "Has a child of this process answer a prompt with the model {}. The child is a fork: it knows what this process knows, and changes nothing here. It has {granted} and no mounts. Each call costs tokens.",
            self.reasoner.model()
        );
        PortDescriptor::new(self.name.clone(), "1", description)
            .input(value!({
                "type": "object",
                "required": ["prompt"],
                "additionalProperties": false,
                "properties": {
                    "prompt": {"type": "string", "description": "the message that the child answers"}
                }
            }))
            .output(value!({
                "type": "object",
                "required": ["text", "address", "version", "input_tokens", "output_tokens"],
                "properties": {
                    "text": {"type": "string"},
                    "address": {"type": "string", "description": "of the child, which stays in the store"},
                    "version": {"type": "integer", "description": "of the child, once it had answered"},
                    "input_tokens": {"type": "integer", "description": "0 if the provider did not say"},
                    "output_tokens": {"type": "integer", "description": "0 if the provider did not say"}
                }
            }))
            .effect(effect)
            .idempotent(true)
            .limits(PortLimits {
                max_input_bytes: self.limits.max_prompt_bytes + BESIDE_TEXT,
                max_output_bytes: self.limits.max_answer_bytes + BESIDE_TEXT,
            })
    }

    fn call<'a>(
        &'a self,
        ctx: &'a PortContext,
        input: Value,
    ) -> BoxFuture<'a, Result<Value, PortFailure>> {
        Box::pin(async move { self.answer(ctx, &input).await })
    }
}

impl fmt::Debug for SpawnPort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SpawnPort")
            .field("name", &self.name)
            .field("reasoner", &self.reasoner)
            .field("ports", &self.ports)
            .field("limits", &self.limits)
            .finish()
    }
}

impl Ports {
    /// With the port `spawn`: children without ports answer prompts with this model. To grant ports
    /// to children, or for other limits or another name, add a [`SpawnPort`] with [`port`](Self::port).
    ///
    /// It needs a process in a loop: without one, a call fails with `no_loop`.
    ///
    /// ```
    /// use svit_model::{Reasoner, Scripted};
    /// use svit_ports::{Effect, Ports};
    ///
    /// let ports = Ports::new().spawn(Reasoner::new("small-model", Scripted::new([])));
    /// ports.check()?;
    /// assert_eq!(ports.descriptor("spawn").map(|port| port.effect), Some(Effect::Read));
    /// # Ok::<(), svit_ports::PortError>(())
    /// ```
    pub fn spawn(self, reasoner: Reasoner) -> Self {
        self.port(SpawnPort::new(reasoner))
    }
}

#[cfg(test)]
mod tests;
