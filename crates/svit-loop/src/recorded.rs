//! `RecordedTurn`: a turn of the past, to be run again without a model.

use svit_model::{Message, MessageId, ModelResponse, Recorded};
use svit_tree::Path;
use svit_txn::{DurableProcess, EventQuery, HistoryQuery, MemoryStore, ThreadEvent};
use svit_value::Digest;

use crate::LoopError;
use crate::thread::{Body, kind};

/// A turn that has ended with an answer: what was asked, what the model answered at each step, and
/// between which versions.
///
/// Run again from the version before, with the recorded answers in place of a model, it leads to the same
/// root digest, if nothing else was committed meanwhile, the same ports and mounts are granted, and they
/// give the same answers. What was granted is not recorded: without ports and mounts, calls of them fail.
///
/// ```
/// use svit_loop::{RecordedTurn, Svit};
/// use svit_model::{Message, Reasoner, Scripted, ScriptedReply};
/// use svit_value::value;
///
/// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
/// let model = Scripted::new([
///     ScriptedReply::call("write", value!({"path": "/memory/color", "value": "teal"})),
///     ScriptedReply::text("Noted."),
/// ]);
/// let svit = Svit::builder("svit://local/demo")?
///     .reasoner(Reasoner::new("scripted", model))
///     .build()
///     .await?;
/// svit.start()?;
/// let answer = svit.inbox().ask(Message::user("The color is teal.")).await?;
///
/// let asked = answer.in_reply_to().unwrap();
/// let turn = RecordedTurn::read(svit.process(), asked).await?;
/// let again = Svit::persisted(turn.process_before(svit.process()).await?)?
///     .reasoner(Reasoner::new("recorded", turn.model()))
///     .build()
///     .await?;
/// again.start()?;
/// let same = again.inbox().ask(turn.message.clone()).await?;
/// assert_eq!((same.text(), again.process().root_digest()), (Some("Noted."), turn.root));
/// # Ok::<(), svit_loop::LoopError>(())
/// # }).unwrap();
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct RecordedTurn {
    /// The message that it answered.
    pub message: Message,
    /// What the model answered, step by step; the last is the turn's answer. A summary of the
    /// conversation that was made on the way is not among them.
    pub responses: Vec<ModelResponse>,
    /// The version before the message was accepted.
    pub before: u64,
    /// The version in which the turn ended.
    pub after: u64,
    /// The root digest of that version.
    pub root: Digest,
}

impl RecordedTurn {
    /// Reads a turn by the id of its message. O(events of the thread + records since the message).
    ///
    /// # Errors
    /// [`LoopError::NotRecorded`] if the turn has not ended with an answer, or if events of it were
    /// forgotten; [`LoopError::Process`] if its history was cut; [`LoopError::BadEvent`]; those of the
    /// store.
    pub async fn read(process: &DurableProcess, message: MessageId) -> Result<Self, LoopError> {
        let id = message;
        let number = id.get();
        let not_recorded = |why| LoopError::NotRecorded { message: id, why };
        let mut found = Found::default();
        let mut from = 0;
        while from < process.events_end() && !found.has_ended {
            let query = EventQuery {
                from,
                limit: PAGE,
                newest_first: false,
            };
            let page = process.events(query).await?;
            let Some(last) = page.last() else {
                break;
            };
            from = last.seq + 1;
            for event in &page {
                found.look_at(event, number)?;
            }
        }
        let message = found
            .message
            .ok_or_else(|| not_recorded("no event says what was asked"))?;
        if !found.has_ended {
            return Err(not_recorded("it has not ended with an answer"));
        }
        if found.responses.len() as u64 != found.steps {
            return Err(not_recorded("some of its answers were forgotten"));
        }
        let (version, oldest) = (number.saturating_sub(1), process.oldest_version().await?);
        if version < oldest {
            return Err(svit_txn::Error::Cut { version, oldest }.into());
        }
        // The message's entry is made when it is accepted, and is gone when it is answered.
        let place = Path::root().join("inbox")?.join(&format!("{number:016}"))?;
        let query = HistoryQuery {
            from: number,
            limit: 2,
            path: Some(place),
            ..HistoryQuery::default()
        };
        let entries = process.history(query).await?;
        let [accepted, ended] = &entries[..] else {
            return Err(not_recorded("no record says when it ended"));
        };
        if accepted.transaction.version != number {
            return Err(not_recorded("no record says when it was accepted"));
        }
        let ended = &ended.transaction;
        Ok(Self {
            message,
            responses: found.responses,
            before: version,
            after: ended.version,
            root: ended.root,
        })
    }

    /// The answers, in place of a model.
    pub fn model(&self) -> Recorded {
        Recorded::new(self.responses.clone())
    }

    /// The process as it was before the message was accepted, in memory, with its guests: what is done
    /// there is seen nowhere else. Its thread is empty, and it has no hooks.
    ///
    /// # Errors
    /// Those of [`DurableProcess::process_at`].
    pub async fn process_before(
        &self,
        process: &DurableProcess,
    ) -> Result<DurableProcess, LoopError> {
        let before = process.process_at(self.before).await?;
        Ok(MemoryStore::new().create(before).await?)
    }
}

/// Events that are read at a time.
const PAGE: usize = 256;

/// What is known of a turn so far.
#[derive(Default)]
struct Found {
    message: Option<Message>,
    responses: Vec<ModelResponse>,
    steps: u64,
    has_ended: bool,
}

impl Found {
    fn look_at(&mut self, event: &ThreadEvent, turn: u64) -> Result<(), LoopError> {
        let body = Body::of(event);
        let is_ours = || Ok::<_, LoopError>(body.count("turn")? == turn);
        match &*event.kind {
            kind::MESSAGE_ACCEPTED if is_ours()? => self.message = Some(body.message("message")?),
            kind::MODEL_RESPONDED if is_ours()? => self.responses.push(ModelResponse {
                message: body.message("message")?,
                usage: body.usage()?,
                finish: body.text("finish")?.into(),
            }),
            kind::TURN_FINISHED if is_ours()? => {
                self.steps = body.count("steps")?;
                self.has_ended = true;
            }
            _ => {}
        }
        Ok(())
    }
}
