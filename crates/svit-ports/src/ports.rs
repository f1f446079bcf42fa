//! `Ports`: what one process is granted, and the one way to call it.

use std::collections::BTreeMap;
use std::fmt;
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::task::Poll;
use std::time::Instant;

use svit_value::{Map, Text, Value};

use crate::error::cut;
use crate::{Direction, Port, PortContext, PortDescriptor, PortError, PortFailure};

const MAX_CODE_BYTES: usize = 64;
const MAX_MESSAGE_BYTES: usize = 1_024;

/// The ports that a host grants. [`Ports::new`] grants nothing.
///
/// The first port that cannot be added makes the whole set an error, returned by
/// [`check`](Self::check) and whatever is asked of it: it never grants a part of what was meant.
/// Cloning costs O(ports); a clone grants the same ports. It is never stored: after a restart the
/// host grants anew.
#[derive(Clone, Default)]
#[must_use = "nothing is granted until it is given to a process"]
pub struct Ports {
    ports: BTreeMap<Text, Granted>,
    failure: Option<PortError>,
}

#[derive(Clone)]
struct Granted {
    port: Arc<dyn Port>,
    descriptor: PortDescriptor,
}

impl Ports {
    /// No port.
    pub fn new() -> Self {
        Self::default()
    }

    /// With one more port. A bad or duplicate one is kept as the error of the set.
    ///
    /// ```
    /// # use svit_ports::{BoxFuture, Port, PortContext, PortDescriptor, PortFailure, Ports};
    /// # use svit_value::Value;
    /// # struct Echo(&'static str);
    /// # impl Port for Echo {
    /// #     fn descriptor(&self) -> PortDescriptor { PortDescriptor::new(self.0, "1", "Gives back its input.") }
    /// #     fn call<'a>(&'a self, _: &'a PortContext, input: Value) -> BoxFuture<'a, Result<Value, PortFailure>> {
    /// #         Box::pin(async move { Ok(input) })
    /// #     }
    /// # }
    /// assert!(Ports::new().port(Echo("echo")).check().is_ok());
    /// let twice = Ports::new().port(Echo("echo")).port(Echo("echo"));
    /// assert_eq!(twice.check().unwrap_err().code(), "duplicate_port");
    /// assert!(twice.manuals().is_err());
    /// ```
    pub fn port(mut self, port: impl Port + 'static) -> Self {
        if self.failure.is_none() {
            self.failure = self.add(Arc::new(port)).err();
        }
        self
    }

    /// With one more port, or with the reason why there is none as the error of the set.
    pub(crate) fn port_or_failure(mut self, port: Result<impl Port + 'static, PortError>) -> Self {
        match port {
            Ok(port) => self.port(port),
            Err(error) => {
                self.failure.get_or_insert(error);
                self
            }
        }
    }

    fn add(&mut self, port: Arc<dyn Port>) -> Result<(), PortError> {
        let descriptor = port.descriptor();
        descriptor.check()?;
        let name = descriptor.name.clone();
        if self.ports.contains_key(&name) {
            return Err(PortError::Duplicate { port: name });
        }
        self.ports.insert(name, Granted { port, descriptor });
        Ok(())
    }

    /// Whether every port could be added.
    ///
    /// # Errors
    /// The first that could not: [`PortError::BadName`], [`PortError::Duplicate`],
    /// [`PortError::BadDescriptor`].
    pub fn check(&self) -> Result<(), PortError> {
        self.failure.clone().map_or(Ok(()), Err)
    }

    /// What the ports say about themselves, by name.
    pub fn descriptors(&self) -> impl Iterator<Item = &PortDescriptor> {
        self.ports.values().map(|granted| &granted.descriptor)
    }

    /// What the port of this name says about itself.
    pub fn descriptor(&self, name: &str) -> Option<&PortDescriptor> {
        Some(&self.ports.get(name)?.descriptor)
    }

    /// The manuals, as they stand at `/ports`: for each name a map of `version`, `description`,
    /// `input` and `output` (JSON Schemas), `effect`, `idempotent` and `limits`. Equal sets of ports
    /// make equal manuals. A manual grants nothing.
    ///
    /// # Errors
    /// Those of [`check`](Self::check).
    pub fn manuals(&self) -> Result<Map, PortError> {
        self.check()?;
        let mut manuals = Map::new();
        for (name, granted) in &self.ports {
            manuals.insert(name.clone(), granted.descriptor.manual()?)?;
        }
        Ok(manuals)
    }

    /// Calls the port `name`, and gives its output. Dropping the future cancels the call.
    ///
    /// A `tracing` event with the port, the sizes, the time and the code of the outcome is made when
    /// the call ends; it holds neither input nor output.
    ///
    /// # Errors
    /// [`PortError::NoSuchPort`], [`PortError::TooLarge`], [`PortError::Failed`],
    /// [`PortError::Panicked`]; those of [`check`](Self::check).
    pub async fn dispatch(
        &self,
        name: &str,
        input: Value,
        ctx: &PortContext,
    ) -> Result<Value, PortError> {
        self.check()?;
        let Some(granted) = self.ports.get(name) else {
            return Err(PortError::NoSuchPort {
                name: cut(name, 200).to_owned(),
            });
        };
        let input_bytes = input.measure().cbor_len;
        let started = Instant::now();
        let result = granted.call(input, ctx).await;
        tracing::debug!(
            port = name,
            input_bytes,
            output_bytes = result
                .as_ref()
                .map_or(0, |output| output.measure().cbor_len),
            outcome = result.as_ref().map_or_else(PortError::code, |_| "ok"),
            wall_us = started.elapsed().as_micros() as u64,
            "port called"
        );
        result
    }
}

impl Granted {
    async fn call(&self, input: Value, ctx: &PortContext) -> Result<Value, PortError> {
        let limits = self.descriptor.limits;
        self.check_size(Direction::Input, limits.max_input_bytes, &input)?;
        let output = match caught(&*self.port, input, ctx).await {
            Some(Ok(output)) => output,
            Some(Err(failure)) => {
                return Err(PortError::Failed {
                    port: self.descriptor.name.clone(),
                    reason: cut(&failure.code, MAX_CODE_BYTES).into(),
                    message: cut(&failure.message, MAX_MESSAGE_BYTES).into(),
                });
            }
            None => {
                return Err(PortError::Panicked {
                    port: self.descriptor.name.clone(),
                });
            }
        };
        self.check_size(Direction::Output, limits.max_output_bytes, &output)?;
        Ok(output)
    }

    fn check_size(
        &self,
        direction: Direction,
        allowed: u64,
        value: &Value,
    ) -> Result<(), PortError> {
        let actual = value.measure().cbor_len;
        if actual <= allowed {
            return Ok(());
        }
        Err(PortError::TooLarge {
            port: self.descriptor.name.clone(),
            direction,
            allowed,
            actual,
        })
    }
}

/// Runs a call; none if it panicked, whether at its start, in between or while it was put away. A
/// port keeps its own state in order; see [`Port::call`].
async fn caught(
    port: &dyn Port,
    input: Value,
    ctx: &PortContext,
) -> Option<Result<Value, PortFailure>> {
    let mut call = catch_unwind(AssertUnwindSafe(|| port.call(ctx, input))).ok()?;
    let result = poll_fn(
        |cx| match catch_unwind(AssertUnwindSafe(|| call.as_mut().poll(cx))) {
            Ok(Poll::Ready(result)) => Poll::Ready(Some(result)),
            Ok(Poll::Pending) => Poll::Pending,
            Err(_) => Poll::Ready(None),
        },
    )
    .await;
    catch_unwind(AssertUnwindSafe(|| drop(call))).ok()?;
    result
}

impl fmt::Debug for Ports {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.ports.keys().map(|name| name.as_str()).collect();
        f.debug_struct("Ports")
            .field("ports", &names)
            .field("failure", &self.failure)
            .finish()
    }
}

#[cfg(test)]
mod tests;
