//! The port `llm`: one bounded call of a model that a host grants.
//!
//! A script gives a prompt and gets a text. It names no model, no key and no server: those are the
//! [`Reasoner`](svit_model::Reasoner)'s, and so the host's. The model is given no tools and sees
//! nothing but the prompt.
//!
//! ```
//! use std::sync::Arc;
//! use svit_model::{Reasoner, Scripted, ScriptedReply};
//! use svit_ports::{PortContext, Ports};
//! use svit_tree::Tree;
//! use svit_value::value;
//!
//! # tokio::runtime::Builder::new_current_thread().enable_time().build()?.block_on(async {
//! let model = Scripted::new([ScriptedReply::text("Teal.")]);
//! let ports = Ports::new().llm(Reasoner::new("scripted", model));
//! let ctx = PortContext::new(Arc::new(Tree::new()), "a key");
//!
//! let asked = value!({"prompt": "Name a color.", "max_output_tokens": 50});
//! let answer = ports.dispatch("llm", asked, &ctx).await?;
//! assert_eq!(answer.get("text"), Some(&"Teal.".into()));
//! assert_eq!(answer.get("finish"), Some(&"stop".into()));
//! # Ok::<(), Box<dyn std::error::Error>>(()) })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What it does not do
//! A call is bounded; how many there are is the caller's matter, which a process bounds by
//! `max_port_calls` for each activation. It does not try again: wrap the provider in
//! [`Retry`](svit_model::Retry) for that. It keeps no answers.

mod error;
mod input;
mod port;

pub use error::LlmError;
pub use port::{LlmLimits, LlmPort};
