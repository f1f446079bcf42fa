//! The reason and act loop.
