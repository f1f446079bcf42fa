//! `svit-control@1`: several clients submit work to one process without lost updates or double
//! commits. Typed requests and responses, JSON on the wire; this [`Controller`] is the reference.

mod controller;
mod wire;

pub use controller::Controller;
pub use wire::{
    Command, MAX_FRAME_BYTES, PROTOCOL, Request, RequestError, Response, ResponseOutcome,
};
