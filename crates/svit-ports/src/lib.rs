//! Authority that a host grants.
