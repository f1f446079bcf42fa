//! Doing what the state asks for: each on a task of its own, so that the screen never waits. What
//! comes of it is an event.

use std::sync::Arc;

use svit::{DurableProcess, HistoryQuery, Inbox, Message, Path, Value};
use tokio::sync::Mutex;
use tokio::sync::mpsc::UnboundedSender;

use super::history::{PAGE, Version};
use super::state::{Effect, Event};
use super::value::{Look, What};
use crate::diff;
use crate::excerpt::{Excerpt, Form, Place};
use crate::failure::Failure;
use crate::model::OPENAI_KEY;
use crate::page;
use crate::place::View;
use crate::results;

/// Edits of a diff in one piece.
const EDITS: usize = 50;

/// Does what is asked for.
#[derive(Clone)]
pub(crate) struct Work {
    process: DurableProcess,
    inbox: Option<Inbox>,
    events: UnboundedSender<Event>,
    /// The root of the earlier version that was asked about last.
    earlier: Arc<Mutex<Option<(u64, Value)>>>,
}

impl Work {
    pub(crate) fn new(
        process: DurableProcess,
        inbox: Option<Inbox>,
        events: UnboundedSender<Event>,
    ) -> Self {
        Self {
            process,
            inbox,
            events,
            earlier: Arc::default(),
        }
    }

    /// Begins to do something.
    pub(crate) fn begin(&self, effect: Effect) {
        let work = self.clone();
        tokio::spawn(async move {
            // On a task of its own, so that a panic in it is told and not the end.
            let done = tokio::spawn({
                let work = work.clone();
                async move { work.done(effect).await }
            });
            let event = match done.await {
                Ok(Ok(Some(event))) => event,
                Ok(Ok(None)) => return,
                Ok(Err(failure)) => Event::Refused(failure.sentence()),
                Err(source) => Event::Refused(Failure::Inside { source }.sentence()),
            };
            // If nobody waits for it any more, the console is closing.
            let _ = work.events.send(event);
        });
    }

    async fn done(&self, effect: Effect) -> Result<Option<Event>, Failure> {
        Ok(Some(match effect {
            Effect::List { at, wanted } => {
                let view = self.view(at).await?;
                let (wanted, listed) = blocking(move || {
                    let after = wanted.after.as_deref();
                    let listed = view.children(&wanted.path, after, wanted.limit);
                    (wanted, listed)
                })
                .await?;
                let (children, next) = listed?;
                Event::Listed {
                    at,
                    wanted,
                    children,
                    next,
                }
            }
            Effect::Look { at, look } => {
                let number = look.number;
                // Where it cannot be read, that is what there is to be seen.
                let excerpt = match self.look(at, look).await {
                    Ok(excerpt) => excerpt,
                    Err(failure) => Excerpt::note(failure.sentence()),
                };
                Event::Looked { number, excerpt }
            }
            Effect::Versions { before } => {
                let versions = self.versions(before).await?;
                Event::Versions { before, versions }
            }
            Effect::Send(text) => {
                let inbox = self.inbox.as_ref().ok_or(Failure::NoModel {
                    variable: OPENAI_KEY,
                })?;
                inbox.send(Message::user(text)).await?;
                return Ok(None);
            }
            Effect::Run(command) => {
                Event::Ran(results::perform_on(&self.process, command).await?.lines)
            }
            Effect::CancelTurn | Effect::Redraw | Effect::Quit => return Ok(None),
        }))
    }

    /// The tree now, or at an earlier version. The root of that one is kept for the next question.
    async fn view(&self, at: Option<u64>) -> Result<View, Failure> {
        let mut earlier = self.earlier.lock().await;
        let Some(version) = at else {
            *earlier = None;
            return Ok(View::Now(self.process.clone()));
        };
        if let Some((_, root)) = earlier.as_ref().filter(|(kept, _)| *kept == version) {
            return Ok(View::At(root.clone()));
        }
        let root = self
            .process
            .read_at(version, Path::root())
            .await?
            .unwrap_or(Value::Null);
        *earlier = Some((version, root.clone()));
        Ok(View::At(root))
    }

    async fn look(&self, at: Option<u64>, look: Look) -> Result<Excerpt, Failure> {
        match look.what {
            What::Path(path) => {
                let view = self.view(at).await?;
                blocking(move || view.excerpt(&path, &look.place)).await?
            }
            What::Diff { from, to } => {
                let edits = diff::between(&self.process, from, to).await?;
                let first = match look.place {
                    Place::At(edit) => edit,
                    _ => 0,
                };
                let end = first.saturating_add(EDITS).min(edits.len());
                Ok(Excerpt {
                    form: Form::Diff,
                    facts: match edits.len() {
                        1 => "1 edit".to_owned(),
                        count => format!("{count} edits"),
                    },
                    text: match edits.is_empty() {
                        true => "no difference".to_owned(),
                        false => diff::text(&edits, first, EDITS),
                    },
                    next: (end < edits.len()).then_some(Place::At(end)),
                })
            }
        }
    }

    async fn versions(&self, before: Option<u64>) -> Result<Vec<Version>, Failure> {
        let to = match before {
            Some(before) => before.saturating_sub(1),
            None => self.process.version(),
        };
        let from = (to + 1).saturating_sub(PAGE);
        let query = HistoryQuery {
            from,
            to,
            limit: usize::try_from(PAGE).unwrap_or(usize::MAX),
            ..HistoryQuery::default()
        };
        let mut versions: Vec<Version> = Vec::new();
        for entry in self.process.history(query).await? {
            let transaction = entry.transaction;
            versions.push(Version {
                version: transaction.version,
                time: page::time(transaction.committed_at),
                source: transaction.source.as_str(),
                changed: results::changed_words(
                    transaction.mutations.iter().map(|edit| &edit.path),
                ),
            });
        }
        versions.reverse();
        Ok(versions)
    }
}

/// Runs what may wait for a disk, since a mount is read where it is asked for.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Failure> {
    // Where the runtime ends, nobody waits for it.
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|source| Failure::Inside { source })
}
