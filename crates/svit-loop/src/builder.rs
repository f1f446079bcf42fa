//! `SvitBuilder`: describes a process with a loop around it.

use std::sync::Arc;
use std::time::Duration;

use svit_model::Reasoner;
use svit_ports::Ports;
use svit_tree::guest::Guest;
use svit_tree::mount::MountProvider;
use svit_txn::{DurableProcess, Hook, Limits, MemoryStore, ProcessBuilder};
use svit_value::Value;

use crate::budget::Budget;
use crate::children::Guidance;
use crate::grants::Grants;
use crate::{LoopError, Svit, ToolPolicy};

/// Describes a [`Svit`]. The first bad input is kept and returned by [`build`](Self::build).
#[derive(Debug)]
#[must_use = "a builder does nothing until `build`"]
pub struct SvitBuilder {
    origin: Origin,
    reasoner: Option<Reasoner>,
    instructions: Option<String>,
    policy: ToolPolicy,
    budget: Budget,
    grants: Grants,
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
            budget: Budget::default(),
            grants: Grants::default(),
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

    /// A hook, behind those that are there: asked before a script or port of the model runs, and told
    /// of each commit. A refusal is a result that the model sees. For new processes; a process from a
    /// store gets its hooks where it is resumed, with [`Attachments`](svit_txn::Attachments).
    pub fn hook(self, hook: Arc<dyn Hook>) -> Self {
        self.on_new("hook", |process| process.hook(hook))
    }

    /// What the host instructs the model. It is part of the system prompt, not of the process.
    pub fn instructions(mut self, text: impl Into<String>) -> Self {
        self.instructions = Some(text.into());
        self
    }

    /// What the model may do with its tools; everything if this is not called.
    pub fn tools(mut self, policy: ToolPolicy) -> Self {
        self.failure = self.failure.or(policy.check().err());
        self.policy = policy;
        self
    }

    /// How many tokens one turn may use, as the provider counts them: requests and answers of all its
    /// model calls together, also of those that were made before a restart. 2,000,000 by default.
    ///
    /// Looked at before each model call and each tool call: a turn that has used so many, and has not
    /// answered, ends with the code `max_turn_tokens`. So the last call may go past it, and a provider
    /// that counts nothing is not bounded by it. It is the host's, and no part of the process.
    pub const fn max_turn_tokens(mut self, tokens: u64) -> Self {
        self.budget.tokens = tokens;
        self
    }

    /// How long one turn may be worked on, by the clock of this program: its model calls and tool
    /// calls, and the waits between its attempts. 30 minutes by default; [`Duration::MAX`] is no bound.
    ///
    /// A turn that has taken so long ends at once with the code `max_turn_wall`, whatever it waits for;
    /// what it has committed stays. The time is not stored: after a restart it is counted from 0.
    pub const fn max_turn_wall(mut self, wall: Duration) -> Self {
        self.budget.wall = wall;
        self
    }

    /// What scripts and the model may call: `(port-call name input)`, and `exec` on `/ports/<name>`.
    /// Their manuals are committed at `/ports`. Without this none can be called, whatever stands there.
    /// Called again, it replaces the ports.
    ///
    /// A call is recorded in the thread before it is made and after it has answered. If the program
    /// ends in between, it is made again only if its descriptor says that it is idempotent; else the
    /// model is told that it was interrupted.
    pub fn ports(mut self, ports: Ports) -> Self {
        let refused = ports.check().err();
        self.failure = self.failure.or(refused.map(LoopError::from));
        self.grants.ports = Some(ports);
        self
    }

    /// A resource at `/mounts/<name>`: read by the model and by scripts, and written where its
    /// descriptor grants it, once the step that writes is committed.
    ///
    /// ```
    /// use svit_loop::Svit;
    /// use svit_ports::ValueMount;
    /// use svit_value::value;
    ///
    /// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
    /// let svit = Svit::builder("svit://local/shop")?
    ///     .mount("prices", ValueMount::read_only(value!({"tea": 3})))
    ///     .build()
    ///     .await?;
    /// assert_eq!(svit.read("/mounts/prices/tea")?, Some(3.into()));
    /// # Ok::<(), svit_loop::LoopError>(())
    /// # }).unwrap();
    /// ```
    pub fn mount(
        mut self,
        name: impl Into<String>,
        provider: impl MountProvider + 'static,
    ) -> Self {
        let mount = (name.into(), Arc::new(provider) as Arc<dyn MountProvider>);
        self.grants.mounts.push(mount);
        self
    }

    /// The model that answers messages. Without one the process can be read and forked, and
    /// messages can be sent, but not answered.
    pub fn reasoner(mut self, reasoner: Reasoner) -> Self {
        self.reasoner = Some(reasoner);
        self
    }

    /// The process with its loop, which is not started yet. Reads the whole thread: O(events).
    /// Attaching ports and mounts is a transition each, unless they are described there already.
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
        let guidance = Guidance {
            instructions: self.instructions.clone(),
            policy: self.policy.clone(),
        };
        let ports = self.grants.attach(&process, guidance).await?;
        let mut svit = Svit::new(process, self.reasoner, self.instructions, self.policy).await?;
        svit.ports = ports;
        svit.budget = self.budget;
        Ok(svit)
    }
}
