//! Talk to a language model.
//!
//! A [`Provider`] takes a [`ModelRequest`] (messages and tool specs) and gives back a [`ModelStream`] of
//! [`ModelEvent`]s, or a [`ModelError`] whose kind says what helps. [`collect`] makes one [`ModelResponse`] of
//! a stream. A [`Reasoner`] pairs a model's id with its provider.
//!
//! ```
//! use svit_model::{Message, Reasoner, Scripted, ScriptedReply, ToolSpec, collect};
//! use svit_value::value;
//!
//! # futures_util::FutureExt::now_or_never(async {
//! let reasoner = Reasoner::new("scripted", Scripted::new([
//!     ScriptedReply::call("write", value!({"path": "/memory/color", "value": "green"})),
//!     ScriptedReply::text("Noted."),
//! ]));
//! let write = ToolSpec::new("write", "Writes a value.", value!({
//!     "type": "object",
//!     "properties": {"path": {"type": "string"}, "value": {}},
//!     "required": ["path", "value"],
//! }));
//!
//! let mut messages = vec![Message::user("Remember: green.")];
//! loop {
//!     let stream = reasoner.respond(None, messages.clone(), vec![write.clone()]).await?;
//!     let answer = collect(stream, |_event| { /* show it as it comes */ }).await?;
//!     let results: Vec<_> = answer.message.tool_calls().map(|call| match call.input() {
//!         Ok(_input) => svit_model::ToolResult::new(call.id.as_str(), "written"),
//!         Err(error) => svit_model::ToolResult::error(call.id.as_str(), error.to_string()),
//!     }).collect();
//!     messages.push(answer.message);
//!     if results.is_empty() {
//!         break;
//!     }
//!     messages.push(Message::tool(results));
//! }
//! assert_eq!(messages.last().unwrap().text(), Some("Noted."));
//! # Ok::<(), svit_model::ModelError>(())
//! # }).unwrap().unwrap();
//! ```
//!
//! # What is here
//! - [`Message`], [`Role`], [`ContentPart`], [`MessageId`]: conversations, with a lossless stored form;
//! - [`ToolSpec`], [`ToolCall`], [`ToolResult`]: tools; malformed arguments are an error the model can mend;
//! - [`Scripted`], [`ScriptedReply`]: answers from a list or a closure, for tests and for running without a key;
//! - `OpenAI` (feature `providers`): the Responses API, Chat Completions, and every server compatible with it;
//! - `Anthropic`, `Gemini`, `Ollama` (feature `providers`): each by its own format;
//! - [`Retry`]: tries again, over any provider; [`Budgeted`]: bounds its tokens in all;
//! - [`Recording`]: keeps what a provider answers, and [`Recorded`]: answers it again, offline.
//!
//! # What is not
//! No conversation is kept here, no tool is run, and nothing is stored: see `svit-loop`. Images and sound are
//! not sent. A provider's answers are not checked for sense, only for form.
//!
//! # Limitations
//! - A server's redirects are not followed, and of the constructors only `from_env` looks at proxy variables.
//! - A stream needs its end marker (`[DONE]` after a finish reason, `response.completed`, `message_stop`, a
//!   finish reason, `done`). A server that never sends one can be asked without streaming only.
//! - An answer's size is bounded (64 MiB, a frame of it 16 MiB); but `OpenAI` reads one document whole, and
//!   bounds a stream by its complete frames only.
//! - [`Retry`] and the real providers need a tokio runtime with time (and I/O); without one they fail, they do not panic.
//!
//! # Features
//! `providers` (default): real providers over HTTP, which brings in an HTTP client and TLS.

#[cfg(feature = "providers")]
mod anthropic;
mod budgeted;
mod error;
mod event;
#[cfg(feature = "providers")]
mod gemini;
#[cfg(feature = "providers")]
mod http;
mod message;
#[cfg(feature = "providers")]
mod ollama;
#[cfg(feature = "providers")]
mod openai;
mod provider;
mod recorded;
mod retry;
mod scripted;
mod tool;

#[cfg(feature = "providers")]
pub use anthropic::Anthropic;
pub use budgeted::Budgeted;
pub use error::{ErrorSource, ModelError, TransientCause};
pub use event::{FinishReason, ModelEvent, ModelResponse, ModelStream, Usage, collect};
#[cfg(feature = "providers")]
pub use gemini::Gemini;
pub use message::{ContentPart, Message, MessageId, Role};
#[cfg(feature = "providers")]
pub use ollama::Ollama;
#[cfg(feature = "providers")]
pub use openai::OpenAI;
pub use provider::{BoxFuture, ModelLimits, ModelRequest, Provider, Reasoner};
pub use recorded::{Recorded, Recording};
pub use retry::Retry;
pub use scripted::{Scripted, ScriptedReply};
pub use tool::{ToolCall, ToolResult, ToolSpec};
