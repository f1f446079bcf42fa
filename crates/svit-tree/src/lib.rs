//! Paths, addresses, the namespace and its edits.
