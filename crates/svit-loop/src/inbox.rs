//! `Inbox`: where messages come in, durably.

use std::sync::Arc;

use svit_model::{Message, MessageId, Role};
use svit_txn::{DurableProcess, Extras, Operation, Outcome, ReceiptKey, RequestKey, Submission};
use svit_value::{Text, Value};

use crate::LoopError;
use crate::outbox::Outbox;
use crate::shared::Shared;
use crate::thread::count;

/// Whose receipts those of keyed messages are.
const CLIENT: &str = "inbox";

/// Sends messages to a process. Clone it for more senders; while one is held,
/// [`Svit::block`](crate::Svit::block) waits for more.
#[derive(Debug)]
pub struct Inbox {
    process: DurableProcess,
    shared: Arc<Shared>,
}

impl Clone for Inbox {
    fn clone(&self) -> Self {
        Self::new(self.process.clone(), self.shared.clone())
    }
}

impl Drop for Inbox {
    fn drop(&mut self) {
        self.shared.inbox_closed();
    }
}

impl Inbox {
    pub(crate) fn new(process: DurableProcess, shared: Arc<Shared>) -> Self {
        shared.inbox_opened();
        Self { process, shared }
    }

    /// Commits a message to `/inbox`, and wakes the loop. When this returns, the message survives
    /// a crash. It does not wait for a script that runs.
    ///
    /// # Errors
    /// The message is not the user's, is past the limits, or the inbox is full;
    /// [`LoopError::Closed`] after [`Svit::stop`](crate::Svit::stop); those of the store.
    pub async fn send(&self, message: Message) -> Result<MessageId, LoopError> {
        self.enqueue(message, None).await
    }

    /// Sends a message once, however often this is called with the same key, also after a restart.
    /// The key is 1 to 128 of `A-Z a-z 0-9 - _ .`.
    ///
    /// # Errors
    /// As [`send`](Self::send), and if the key was used for another message.
    pub async fn send_keyed(
        &self,
        key: impl AsRef<str>,
        message: Message,
    ) -> Result<MessageId, LoopError> {
        self.enqueue(message, Some(Text::from(key.as_ref()))).await
    }

    /// Sends a message and waits for its answer.
    ///
    /// # Errors
    /// As [`send`](Self::send), and [`LoopError::TurnFailed`].
    pub async fn ask(&self, message: Message) -> Result<Message, LoopError> {
        let mut answers = Outbox::new(
            self.process.clone(),
            &self.shared,
            self.process.events_end(),
        );
        let id = self.send(message).await?;
        loop {
            match answers.recv().await {
                Ok(answer) if answer.in_reply_to() == Some(id) => return Ok(answer),
                Err(LoopError::TurnFailed { message, .. }) if message != id => {}
                Ok(_) => {}
                Err(error) => return Err(error),
            }
        }
    }

    async fn enqueue(&self, message: Message, key: Option<Text>) -> Result<MessageId, LoopError> {
        if self.shared.is_sealed() {
            return Err(LoopError::Closed);
        }
        if message.role != Role::User {
            return Err(LoopError::NotFromUser {
                role: message.role.as_str(),
            });
        }
        let value = message.to_value()?;
        let content = value.digest();
        let mut submission = Submission::plain(Operation::Enqueue { message: value });
        if let Some(request) = key {
            let client = Text::from(CLIENT);
            submission = submission
                .keyed(RequestKey {
                    key: ReceiptKey { client, request },
                    content,
                })
                .recording(|outcome| Extras {
                    outcome: sequence_of(outcome.ok()),
                    events: Vec::new(),
                });
        }
        let sequence = match self.process.submit(submission).await? {
            Outcome::Enqueued { sequence } => sequence,
            Outcome::Replayed(receipt) => receipt.outcome.as_int().map_or(0, i64::unsigned_abs),
            _ => 0,
        };
        self.shared.wake.notify_one();
        self.shared.tell();
        Ok(MessageId::new(sequence))
    }
}

fn sequence_of(outcome: Option<&Outcome>) -> Value {
    match outcome {
        Some(Outcome::Enqueued { sequence }) => count(*sequence),
        _ => Value::Null,
    }
}
