//! Children: forks of the process that answer one message each, for the port `spawn`.
//!
//! A child is named by the key of the call that wanted it, and what it is asked is sent under that key.
//! So a call that is made again, by a program that does not know how far the first one came, finds the
//! child there: forked or not, working or done.

use svit_model::{Message, MessageId, Usage};
use svit_ports::spawn::{ChildAnswer, ChildRun, ChildRunner};
use svit_ports::{BoxFuture, PortFailure};
use svit_txn::{Base, BaseKind, DurableProcess, EventQuery};
use svit_value::{Map, Value};

use crate::thread::{Body, count, kind};
use crate::tools::ToolPolicy;
use crate::{LoopError, Svit};

/// How many digits of a call's key name a child: 128 bits of a digest.
const NAME_DIGITS: usize = 32;

/// What a host says about its model, and about those of the children.
#[derive(Clone, Debug, Default)]
pub(crate) struct Guidance {
    pub(crate) instructions: Option<String>,
    pub(crate) policy: ToolPolicy,
}

/// The children of one process.
pub(crate) struct Children {
    pub(crate) parent: DurableProcess,
    pub(crate) guidance: Guidance,
}

impl ChildRunner for Children {
    fn run(&self, child: ChildRun) -> BoxFuture<'_, Result<ChildAnswer, PortFailure>> {
        Box::pin(async move {
            let name: String = child.key.chars().take(NAME_DIGITS).collect();
            let address = format!("{}/children/{name}", self.parent.address());
            let running = [("state", Value::from("running"))];
            self.record(&name, &address, running).await?;
            match self.answer(&address, child).await {
                Ok(answer) => {
                    let answered = [
                        ("state", Value::from("answered")),
                        ("version", count(answer.version)),
                    ];
                    self.record(&name, &address, answered).await?;
                    Ok(answer)
                }
                Err(error) => {
                    let failure = failure(error);
                    let failed = [
                        ("state", Value::from("failed")),
                        ("code", failure.code.clone().into()),
                    ];
                    self.record(&name, &address, failed).await?;
                    Err(failure)
                }
            }
        })
    }
}

impl Children {
    /// Says at `/children/<name>` of the parent how far a child is.
    async fn record<const N: usize>(
        &self,
        name: &str,
        address: &str,
        how_far: [(&str, Value); N],
    ) -> Result<(), PortFailure> {
        let mut entry = Map::from_entries(how_far)?;
        entry.insert("address", address)?;
        let recorded = self.parent.record_child(name, entry).await;
        recorded.map(drop).map_err(|error| failure(error.into()))
    }

    /// The answer of a child that is asked now, or was before.
    async fn answer(&self, address: &str, run: ChildRun) -> Result<ChildAnswer, LoopError> {
        let child = self.parent.child(address).await?;
        let first = first_event(&child.base());
        let mut builder = Svit::persisted(child.clone())?
            .reasoner(run.reasoner)
            .ports(run.ports)
            .tools(self.guidance.policy.clone())
            .max_turn_tokens(run.max_turn_tokens)
            .max_turn_wall(run.timeout);
        if let Some(instructions) = &self.guidance.instructions {
            builder = builder.instructions(instructions.clone());
        }
        let mut svit = builder.build().await?;
        svit.start()?;
        let message = Message::user(run.prompt);
        let asked = svit.inbox().send_keyed(&run.key, message).await?;
        let answered = answer_to(asked, &svit, first).await;
        // It has nothing left to do, so that what becomes of its loop changes nothing.
        let _ = svit.stop().await;
        let text = answered?.text().unwrap_or_default().to_owned();
        let usage = usage(&child, first).await?;
        Ok(ChildAnswer {
            text,
            address: address.to_owned(),
            version: child.version(),
            input_tokens: usage.input_tokens,
            output_tokens: usage.output_tokens,
        })
    }
}

/// The answer to a message, among those from an event on.
async fn answer_to(asked: MessageId, svit: &Svit, first: u64) -> Result<Message, LoopError> {
    let mut answers = svit.outbox_from(first);
    let mut is_denied = false;
    loop {
        let answer = tokio::select! {
            answer = answers.recv() => answer,
            // Nobody is there who could say yes.
            () = svit.waits_for_host(), if !is_denied => {
                is_denied = true;
                svit.cancel_turn();
                continue;
            }
        };
        match answer {
            Ok(answer) if answer.in_reply_to() == Some(asked) => return Ok(answer),
            Err(LoopError::TurnFailed { message, code, .. })
                if message == asked && is_denied && code == "cancelled" =>
            {
                return Err(LoopError::ChildAsks);
            }
            Err(LoopError::TurnFailed { message, .. }) if message != asked => {}
            Ok(_) => {}
            Err(error) => return Err(error),
        }
    }
}

/// The tokens that a child has used, from its own first event on.
async fn usage(child: &DurableProcess, first: u64) -> Result<Usage, LoopError> {
    const PAGE: usize = 256;
    let (mut usage, mut from) = (Usage::default(), first);
    loop {
        let query = EventQuery {
            from,
            limit: PAGE,
            newest_first: false,
        };
        let page = child.events(query).await?;
        for event in &page {
            from = event.seq + 1;
            if [kind::MODEL_RESPONDED, kind::CONTEXT_COMPACTED].contains(&&*event.kind) {
                usage += Body::of(event).usage()?;
            }
        }
        if page.len() < PAGE {
            return Ok(usage);
        }
    }
}

/// The first event that is a child's own, and not its parent's.
fn first_event(base: &Base) -> u64 {
    match &base.kind {
        BaseKind::Forked { events, .. } => *events,
        BaseKind::Checkpoint { thread, .. } => thread.as_ref().map_or(0, |thread| thread.events),
        _ => 0,
    }
}

/// What a script or a model is told: of a turn that failed, why it did.
fn failure(error: LoopError) -> PortFailure {
    match error {
        LoopError::TurnFailed { code, reason, .. } => PortFailure::new(code, reason),
        other => PortFailure::new(other.code(), other.to_string()),
    }
}
