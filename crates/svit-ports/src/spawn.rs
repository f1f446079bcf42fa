//! The port `spawn`: a child of the process answers a prompt.
//!
//! The child is a fork: it begins with what the process remembers, the conversation up to the last
//! finished turn included, and what it does then is its own. It works on one message with the model
//! that the host chose, and its answer is the port's. It has no port but those that the host grants to
//! children ([`SpawnPort::grant`]), and no mount. Afterwards it stays in the store, for whoever wants to
//! see what it did; `/children` of the process says which there are, and how far each came.
//!
//! The port only judges the call. What forks the process and runs a turn is the [`ChildRunner`] of
//! the call's context, which a loop gives: `svit-loop` has one.
//!
//! ```
//! use std::sync::Arc;
//! use svit_model::{Reasoner, Scripted};
//! use svit_ports::spawn::{ChildAnswer, ChildRun, ChildRunner};
//! use svit_ports::{BoxFuture, PortContext, PortFailure, Ports};
//! use svit_tree::Tree;
//! use svit_value::value;
//!
//! /// Says what it was asked, and runs nothing.
//! struct Echo;
//!
//! impl ChildRunner for Echo {
//!     fn run(&self, child: ChildRun) -> BoxFuture<'_, Result<ChildAnswer, PortFailure>> {
//!         Box::pin(async move {
//!             Ok(ChildAnswer {
//!                 text: child.prompt,
//!                 address: "svit://local/demo/children/1".into(),
//!                 ..ChildAnswer::default()
//!             })
//!         })
//!     }
//! }
//!
//! # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
//! let ports = Ports::new().spawn(Reasoner::new("scripted", Scripted::new([])));
//! let ctx = PortContext::new(Arc::new(Tree::new()), "a key").with_children(Arc::new(Echo));
//! let answer = ports.dispatch("spawn", value!({"prompt": "Which color?"}), &ctx).await?;
//! assert_eq!(answer.get("text"), Some(&"Which color?".into()));
//! # Ok::<(), Box<dyn std::error::Error>>(()) })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Repeated calls
//! A child belongs to the idempotency key of its call. The same call, made again because its outcome
//! is not known, finds its child as far as it came, and goes on there: nothing is asked, done or paid
//! twice that the child has committed.

mod error;
mod port;
mod runner;

pub use error::SpawnError;
pub use port::{SpawnLimits, SpawnPort};
pub use runner::{ChildAnswer, ChildRun, ChildRunner};
