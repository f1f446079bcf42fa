//! Authority that a host grants: ports, called by name, and mounts, read and written by path.
//!
//! A process can change itself and nothing else. What it may do in the world beyond, the host grants
//! one port at a time: a [`Port`] has a name, a manual and one function. [`Ports::new`] grants
//! nothing. A port sees its input and, through a [`PortContext`], the committed process, which it can
//! read and not change.
//!
//! ```
//! use std::sync::Arc;
//! use svit_ports::{BoxFuture, Effect, Port, PortContext, PortDescriptor, PortFailure, Ports};
//! use svit_tree::{Mutation, Path, Tree};
//! use svit_value::{Value, value};
//!
//! /// Says what a price is in the currency that the process has chosen.
//! struct Rates;
//!
//! impl Port for Rates {
//!     fn descriptor(&self) -> PortDescriptor {
//!         PortDescriptor::new("rates", "1", "Converts {cents} to the currency in /memory/currency.")
//!             .input(value!({"type": "object", "properties": {"cents": {"type": "integer"}}}))
//!             .effect(Effect::Read)
//!             .idempotent(true)
//!     }
//!
//!     fn call<'a>(
//!         &'a self,
//!         ctx: &'a PortContext,
//!         input: Value,
//!     ) -> BoxFuture<'a, Result<Value, PortFailure>> {
//!         Box::pin(async move {
//!             let cents = input.get("cents").and_then(Value::as_int);
//!             let cents = cents.ok_or_else(|| PortFailure::new("bad_input", "give {cents: integer}"))?;
//!             match ctx.read("/memory/currency")?.as_ref().and_then(Value::as_str) {
//!                 Some("EUR") => Ok(value!({"EUR": (cents * 9 / 10)})),
//!                 _ => Err(PortFailure::new("no_currency", "set /memory/currency to \"EUR\"")),
//!             }
//!         })
//!     }
//! }
//!
//! # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
//! let ports = Ports::new().port(Rates);
//! assert_eq!(ports.manuals()?.get("rates").unwrap().get("effect"), Some(&"read".into()));
//!
//! let currency = Mutation::set(Path::parse("/memory/currency")?, "EUR");
//! let committed = Tree::new().apply(&[currency])?;
//! let ctx = PortContext::new(Arc::new(committed), "svit://local/shop#7.0");
//! assert_eq!(ports.dispatch("rates", value!({"cents": 200}), &ctx).await?, value!({"EUR": 180}));
//!
//! let refused = ports.dispatch("http", value!({}), &ctx).await.unwrap_err();
//! assert_eq!(refused.code(), "no_such_port");
//! # Ok::<(), Box<dyn std::error::Error>>(()) })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What is here
//! - [`Port`], [`PortFailure`]: what an author of a port writes;
//! - [`PortDescriptor`], [`Effect`], [`PortLimits`]: what a port says about itself;
//! - [`PortContext`], [`CommittedState`]: what a port can see;
//! - [`Ports`]: the ports of one process, their manuals, and the dispatch;
//! - [`http`]: the port for HTTP requests, within an allowlist;
//! - `llm` (feature `model`): the port for one bounded call of a model;
//! - `spawn` (feature `model`): the port that has a child of the process answer a prompt;
//! - [`ValueMount`] and, on Unix, `FolderMount`: resources to be attached below `/mounts`;
//! - [`PortError`].
//!
//! # What it does not do
//! It opens no socket but in `ReqwestHttpTransport`, with the feature `http`. It does not check inputs
//! against the JSON Schemas of a manual, which are for the caller to read; a port checks its own
//! input. The dispatch sets no timers and knows no runtime: dropping it cancels the call.

mod context;
mod descriptor;
mod error;
pub mod http;
#[cfg(feature = "model")]
mod limits;
#[cfg(feature = "model")]
pub mod llm;
mod mounts;
mod port;
mod ports;
#[cfg(feature = "model")]
pub mod spawn;

pub use context::{CommittedState, PortContext};
pub use descriptor::{Effect, MAX_PORT_BYTES, PortDescriptor, PortLimits};
pub use error::{Direction, PortError};
#[cfg(unix)]
pub use mounts::FolderMount;
pub use mounts::ValueMount;
pub use port::{BoxFuture, Port, PortFailure};
pub use ports::Ports;
