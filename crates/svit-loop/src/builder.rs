//! `SvitBuilder`: describes a process with a loop around it.

use std::sync::Arc;

use svit_model::Reasoner;
use svit_tree::guest::Guest;
use svit_txn::{DurableProcess, Limits, MemoryStore, ProcessBuilder};
use svit_value::Value;

use crate::{LoopError, Svit, ToolPolicy};

/// Describes a [`Svit`]. The first bad input is kept and returned by [`build`](Self::build).
#[derive(Debug)]
#[must_use = "a builder does nothing until `build`"]
pub struct SvitBuilder {
    origin: Origin,
    reasoner: Option<Reasoner>,
    instructions: Option<String>,
    policy: ToolPolicy,
    failure: Option<LoopError>,
}

/// Where the process comes from.
#[derive(Debug)]
enum Origin {
    /// It is new, and lives in memory.
    New(Box<ProcessBuilder>),
    /// It is in a store.
    Persisted(DurableProcess),
}

impl SvitBuilder {
    pub(crate) fn new(process: ProcessBuilder) -> Self {
        Self::with(Origin::New(Box::new(process)))
    }

    pub(crate) fn persisted(process: DurableProcess) -> Self {
        Self::with(Origin::Persisted(process))
    }

    fn with(origin: Origin) -> Self {
        Self {
            origin,
            reasoner: None,
            instructions: None,
            policy: ToolPolicy::default(),
            failure: None,
        }
    }

    fn on_new(
        mut self,
        setter: &'static str,
        set: impl FnOnce(ProcessBuilder) -> ProcessBuilder,
    ) -> Self {
        self.origin = match self.origin {
            Origin::New(process) => Origin::New(Box::new(set(*process))),
            persisted @ Origin::Persisted(_) => {
                let refused = LoopError::NotForPersisted { setter };
                self.failure = self.failure.or(Some(refused));
                persisted
            }
        };
        self
    }

    /// An application value, at `/memory/<name>`. For new processes.
    pub fn memory(self, name: &str, value: impl Into<Value>) -> Self {
        self.on_new("memory", |process| process.memory(name, value))
    }

    /// A script, at `/lib/<name>`. For new processes.
    pub fn library(self, name: &str, script: impl Into<Value>) -> Self {
        self.on_new("library", |process| process.library(name, script))
    }

    /// The limits. For new processes.
    pub fn limits(self, limits: Limits) -> Self {
        self.on_new("limits", |process| process.limits(limits))
    }

    /// A guest for another language. For new processes.
    pub fn guest(self, language: impl Into<String>, guest: Arc<dyn Guest>) -> Self {
        self.on_new("guest", |process| process.guest(language, guest))
    }

    /// What the host instructs the model. It is part of the system prompt, not of the process.
    pub fn instructions(mut self, text: impl Into<String>) -> Self {
        self.instructions = Some(text.into());
        self
    }

    /// What the model may do with its tools; everything if this is not called.
    pub fn tools(mut self, policy: ToolPolicy) -> Self {
        self.policy = policy;
        self
    }

    /// The model that answers messages. Without one the process can be read and forked, and
    /// messages can be sent, but not answered.
    pub fn reasoner(mut self, reasoner: Reasoner) -> Self {
        self.reasoner = Some(reasoner);
        self
    }

    /// The process with its loop, which is not started yet. Reads the whole thread: O(events).
    ///
    /// # Errors
    /// The first bad input; a value past the limits; a script that does not compile;
    /// [`LoopError::BadEvent`] and those of the store, where a thread cannot be read.
    pub async fn build(self) -> Result<Svit, LoopError> {
        if let Some(failure) = self.failure {
            return Err(failure);
        }
        let process = match self.origin {
            Origin::Persisted(process) => process,
            Origin::New(process) => {
                let store = Arc::new(MemoryStore::new());
                DurableProcess::create(store, process.build()?).await?
            }
        };
        Svit::new(process, self.reasoner, self.instructions, self.policy).await
    }
}
