//! Conformance suites, oracles, fault injection and a loopback model server. For tests only.
//!
//! - `conformance` (feature `store`): every rule of the store contract, against any store.
//! - `fault` (feature `store`): a store that fails, forgets or hangs at a chosen call.
//! - `model_server` (feature `model-server`, default): a model API over real HTTP.

#[cfg(feature = "store")]
pub mod conformance;
#[cfg(feature = "store")]
pub mod fault;
#[cfg(feature = "model-server")]
pub mod model_server;
