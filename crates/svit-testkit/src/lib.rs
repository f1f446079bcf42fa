//! Conformance suites, oracles, fault injection and a loopback model server. For tests only.
//!
//! - `conformance`: every rule of a contract, against any store (feature `store`), guest language (feature
//!   `guest`), mount (feature `mount`) or port (feature `port`).
//! - `fault` (feature `store`): a store that fails, forgets or hangs at a chosen call.
//! - `forward_to_store!` (feature `store`): the calls that a store of a test passes on as they are.
//! - `generate`, `oracle` (feature `store`): processes and histories from a seed, and a plain model beside
//!   which they are made to happen in any store.
//! - `model_server` (feature `model-server`, default): a model API over real HTTP.

#[cfg(any(
    feature = "store",
    feature = "guest",
    feature = "mount",
    feature = "port"
))]
pub mod conformance;
#[cfg(feature = "store")]
pub mod fault;
#[cfg(feature = "store")]
mod forward;
#[cfg(feature = "store")]
pub mod generate;
#[cfg(feature = "model-server")]
pub mod model_server;
#[cfg(feature = "store")]
pub mod oracle;
