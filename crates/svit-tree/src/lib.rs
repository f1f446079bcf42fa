//! Paths, addresses, the namespace of a process, and its edits.
//!
//! A process of svit is one value with a fixed layout: `/memory`, `/lib`, `/inbox` and six more
//! nodes. This crate names places in it ([`Path`]), names processes ([`Address`]), holds the layout
//! as a type ([`Tree`], [`Node`]), and gives edits one meaning ([`Mutation`], [`apply`], [`diff`]).
//! [`Access`] says who may do what where, [`Stat`] and [`Listing`] describe what is there without
//! reading it. [`guest`] is the seam through which a script sees it, [`mount`] the one through which a
//! host attaches external resources.
//!
//! ```
//! use svit_tree::{Change, Mutation, Path, Source, Tree, diff};
//!
//! let before = Tree::new();
//! let color = Path::parse("/memory/color")?;
//! let after = before.apply(&[Mutation::set(color.clone(), "teal")])?;
//!
//! let change = Change::new(1, Source::Host, diff(before.root(), after.root()), after.root());
//! assert!(change.touches(&color) && change.touches(&Path::parse("/memory")?));
//! # Ok::<(), svit_tree::TreeError>(())
//! ```
//!
//! # What it does not do
//! No I/O, no clock, no randomness, no async, no global state; no versions and no commits, which are
//! `svit-txn`'s; no query languages, which are `svit-query`'s.

pub mod guest;
pub mod mount;

mod access;
mod address;
mod change;
mod error;
mod listing;
mod mutation;
mod namespace;
mod patch;
mod path;
mod stat;

pub use access::{Access, Caller};
pub use address::{Address, IntoAddress, MAX_ADDRESS_BYTES};
pub use change::{Change, ChangedPath, Source, touched};
pub use error::TreeError;
pub use listing::{Listing, MAX_PAGE};
pub use mutation::{Mutation, Op};
pub use namespace::{Node, Tree};
pub use patch::{apply, diff, lookup};
pub use path::{IntoPath, MAX_PATH_BYTES, MAX_SEGMENTS, Path};
pub use stat::{Mounted, Stat};
