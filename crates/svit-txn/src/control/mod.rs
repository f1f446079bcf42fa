//! `svit-control@1`: several clients submit work to one process without lost updates or double
//! commits. Typed requests and responses, JSON on the wire; this [`Controller`] is the reference.
//!
//! For those who write another implementation, `schema/control/v1/` in the repository has the JSON
//! Schema, made from what the code reads frames by ([`schema`]), and fixtures of frames and behaviour.

mod controller;
mod schema;
mod shape;
mod wire;

pub use crate::ids::MAX_ID_BYTES;
pub use controller::Controller;
pub use schema::schema;
pub use wire::{
    Command, MAX_FRAME_BYTES, PROTOCOL, Request, RequestError, Response, ResponseOutcome,
};
