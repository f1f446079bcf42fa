//! The `jq` feature.

mod hostile;
mod language;
