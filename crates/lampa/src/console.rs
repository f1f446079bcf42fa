//! The console on a terminal: conversation, tree, value and history of one open instance.
//!
//! Three parts that do not know each other's work: the state ([`state`]) is a value, and changes by
//! events, each of which gives back what is to be done; the view ([`view`]) draws a state; the loop
//! ([`mod@run`]) moves keys, news and results between the terminal, the state and the process.

mod history;
mod input;
mod key;
mod keys;
mod layout;
mod news;
mod run;
mod screen;
mod state;
mod talk;
pub(crate) mod text;
mod tree;
mod value;
mod view;
mod work;

pub(crate) use run::run;
