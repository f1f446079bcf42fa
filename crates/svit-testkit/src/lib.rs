//! Conformance suites, oracles, fault injection and a loopback model server.
