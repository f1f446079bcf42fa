//! The loop that lets a model work in a process: messages in, tool calls, answers out, all of it
//! durable and resumable.
//!
//! [`Svit`] is what a program holds. A message that [`Inbox::send`] accepted is committed; the loop
//! asks the model, runs the tools it calls as transitions of the process, and when the model has
//! answered, acknowledges the message and records the answer in one append. A program that is killed
//! at any point goes on where the thread's events end, and does nothing twice.
//!
//! See [`Svit`] for an example that runs.
//!
//! What an agent may do outside of its process, the host grants: [ports](SvitBuilder::ports), each
//! call of which is in the thread before it is made and after it has answered, and
//! [mounts](SvitBuilder::mount). A call whose outcome is not known after a crash is made again only if
//! its port is idempotent; else the model is told that it was `interrupted`.
//!
//! # What is here
//! - [`Svit`], [`SvitBuilder`]: a process with its loop;
//! - [`Inbox`], [`Outbox`]: messages in, answers out;
//! - [`Events`], [`SvitEvent`], [`Delta`]: everything that happens, for consoles and logs;
//! - [`ToolPolicy`]: what the model may do; [`Approvals`]: calls that wait for the host's yes or no;
//! - [`RecordedTurn`]: a turn of the past, to be run again without a model;
//! - [`LoopError`].
//!
//! # Children
//! A process that is granted the port `spawn` ([`Ports::spawn`](svit_ports::Ports::spawn)) can have a fork
//! of itself answer a prompt. The child works in a loop of its own, under the instructions, the
//! [`ToolPolicy`] and the hooks of its parent, with the model, the ports and the budget that the port was
//! made with. What is said of it at `/children/<name>` is `{address, state}`, where the state is
//! `running`, `answered` (with the child's `version`) or `failed` (with a `code`). A child is known by the
//! key of its call: made again after a crash, the call goes on with the child that is there. Where a
//! child calls a tool that waits for the host, it fails with `needs_approval`.
//!
//! # What it does not do
//! It knows no provider's wire format (`svit-model`) and no store (`svit-txn` and above).
//!
//! # Long conversations
//! When a request is about to fill three quarters of the model's window, or is refused as too long, the
//! loop has the same model summarize the older part, in one call without tools and of bounded length,
//! and records that as `context.compacted`. The model then sees the summary, the message that it works
//! on as it was asked, and the newest messages, about a quarter of the window; calls and their results
//! stay together. People still see everything: what was compacted stays in the thread until
//! [`Svit::trim_compacted`] forgets it. If no summary can be had, the turn fails with the code
//! `context_too_long`, and is tried again like any turn whose model failed.
//!
//! # Calls that wait for the host
//! With [`ToolPolicy::ask`] a call waits until the host [approves](Approvals::approve) or
//! [denies](Approvals::deny) it. The wait is in the thread, over restarts too; it holds nothing of the
//! process and is no time of the turn. The messages behind it wait as well. [`Svit::cancel_turn`] gives
//! the message up; [`Svit::stop`] does not wait for the host, and leaves the message in the inbox with
//! its call, which waits again after the next start.
//!
//! # How a turn ends without an answer
//! A model or a network that fails is tried again, `max_turn_attempts` times in all, after waits that
//! double from a quarter of a second up to 30 seconds, or as long as the provider asks. Then, and at
//! once where another attempt could only repeat it, the message is given up: it moves to
//! `/thread/dead`, and [`Outbox::recv`] returns [`LoopError::TurnFailed`]. Besides the codes of
//! [`svit_model::ModelError`] there are those of a budget that is used up, `max_turn_steps` and
//! `max_turn_tool_calls` (of [`Limits`](svit_txn::Limits), by default 64 and 128), `max_turn_tokens`
//! and `max_turn_wall` ([of the host](SvitBuilder::max_turn_tokens), by default 2,000,000 and 30
//! minutes); and `cancelled`, `answer_cut` (the answer reached the bound on its length), `bad_message` (what was in the inbox is
//! no message of a user) and `too_large` (the store takes no answer of that size).
//!
//! # When the loop stops
//! With [`LoopError::Stopped`]: another owner has the process (`fenced`), another loop was started on
//! it (`superseded`), the store is damaged or stays away, or the loop's task has `ended`. A store that
//! is away for a moment is waited for.

mod approvals;
mod budget;
mod builder;
mod children;
mod compaction;
mod context;
mod conversation;
mod error;
mod events;
mod failure;
mod gate;
mod grants;
mod inbox;
mod journal;
mod outbox;
mod prompt;
mod recorded;
mod shared;
mod svit;
mod thread;
mod tools;
mod turn;
mod worker;

pub use approvals::{ApprovalId, ApprovalRequest, Approvals};
pub use builder::SvitBuilder;
pub use error::LoopError;
pub use events::{Delta, Events, SvitEvent};
pub use inbox::Inbox;
pub use outbox::Outbox;
pub use recorded::RecordedTurn;
pub use svit::Svit;
pub use tools::ToolPolicy;
