//! What providers over HTTP share: base URLs, the client, bounded frames, errors, and keeping secrets in.

pub(crate) mod answer;
pub(crate) mod content;
pub(crate) mod endpoint;
pub(crate) mod failure;
pub(crate) mod frames;
pub(crate) mod redact;
pub(crate) mod remote;
mod retry_after;
pub(crate) mod silence;
