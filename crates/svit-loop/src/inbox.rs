//! `Inbox`: where messages come in, durably.

use std::sync::Arc;

use svit_model::{ContentPart, Message, MessageId, Role};
use svit_txn::{DurableProcess, Extras, Operation, Outcome, ReceiptKey, RequestKey, Submission};
use svit_value::{Map, Text, Value};

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
    /// a crash. It does not wait for a script that runs. If the future is dropped, the message may
    /// have been accepted; [`send_keyed`](Self::send_keyed) makes it harmless to send it again.
    ///
    /// # Errors
    /// The message is not the user's, holds anything but text, is past the limits, or the inbox is
    /// full; [`LoopError::Closed`] after [`Svit::stop`](crate::Svit::stop) and after the `Svit` was
    /// dropped; those of the store.
    pub async fn send(&self, message: Message) -> Result<MessageId, LoopError> {
        self.enqueue(message, None).await
    }

    /// Sends a message once, however often this is called with the same key, also after a restart.
    /// The key is 1 to 128 of `A-Z a-z 0-9 - _ .`.
    ///
    /// # Errors
    /// As [`send`](Self::send), and if the key was used for another message;
    /// [`LoopError::Refused`] if it was used before for a message that was refused.
    pub async fn send_keyed(
        &self,
        key: impl AsRef<str>,
        message: Message,
    ) -> Result<MessageId, LoopError> {
        self.enqueue(message, Some(Text::from(key.as_ref()))).await
    }

    /// Sends a message and waits for its answer, which may take until the loop is started. Dropping
    /// the future does not take the message back.
    ///
    /// # Errors
    /// As [`send`](Self::send), and [`LoopError::TurnFailed`].
    pub async fn ask(&self, message: Message) -> Result<Message, LoopError> {
        let start = self.process.events_end();
        let mut answers = Outbox::new(self.process.clone(), &self.shared, start);
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
        check_message(&message)?;
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
                    outcome: remembered(outcome),
                    events: Vec::new(),
                });
        }
        let unsettled = Unsettled(&self.shared);
        let outcome = self.process.submit(submission).await;
        if outcome.is_ok() {
            std::mem::forget(unsettled);
        }
        match outcome? {
            Outcome::Enqueued { sequence } => Ok(MessageId::new(sequence)),
            Outcome::Replayed(receipt) => recalled(&receipt.outcome),
            _ => Err(recalled_nothing()),
        }
    }
}

/// Has the loop settle a message, or an answer of the host, whose sender gave up waiting or was not
/// told whether it landed: it may be there.
pub(crate) struct Unsettled<'a>(pub(crate) &'a Shared);

impl Drop for Unsettled<'_> {
    fn drop(&mut self) {
        self.0.unsettled.notify_one();
    }
}

/// What an inbox takes: text of the user. Other parts would be refused by every provider.
pub(crate) fn check_message(message: &Message) -> Result<(), LoopError> {
    if message.role != Role::User {
        return Err(LoopError::NotFromUser {
            role: message.role.as_str(),
        });
    }
    let is_text = |part: &ContentPart| matches!(part, ContentPart::Text(_));
    match message.parts.iter().position(|part| !is_text(part)) {
        Some(part) => Err(LoopError::NotText { part }),
        None => Ok(()),
    }
}

/// What the receipt of a keyed message remembers: its number, or why it was refused.
fn remembered(outcome: Result<&Outcome, &svit_txn::Error>) -> Value {
    match outcome {
        Ok(Outcome::Enqueued { sequence }) => count(*sequence),
        Ok(_) => Value::Null,
        Err(error) => {
            let refusal = [
                ("code", error.code().to_owned()),
                ("reason", error.to_string()),
            ];
            Map::from_entries(refusal).map_or(Value::Null, Value::Map)
        }
    }
}

fn recalled(outcome: &Value) -> Result<MessageId, LoopError> {
    if let Some(sequence) = outcome.as_int() {
        return Ok(MessageId::new(sequence.unsigned_abs()));
    }
    let text = |field: &str| outcome.get(field).and_then(Value::as_str);
    match (text("code"), text("reason")) {
        (Some(code), Some(reason)) => Err(LoopError::Refused {
            code: code.to_owned(),
            reason: reason.to_owned(),
        }),
        _ => Err(recalled_nothing()),
    }
}

fn recalled_nothing() -> LoopError {
    LoopError::Refused {
        code: "unknown".to_owned(),
        reason: "the receipt under this key is not one of the inbox".to_owned(),
    }
}
