//! Conformance suites, oracles, fault injection and a loopback model server.

#[cfg(feature = "model-server")]
pub mod model_server;
