//! What a resumed process was built from.

use svit_tree::Address;

use crate::Error;

/// What a resumed process was built from, and what was damaged on the way.
#[derive(Debug)]
#[non_exhaustive]
pub struct ResumeReport {
    /// Whose checkpoint or base it was: the process's own, or that of one it was forked from.
    pub address: Address,
    /// The version that was loaded whole.
    pub version: u64,
    /// Whether that was a checkpoint; if not, it was a base.
    pub is_checkpoint: bool,
    /// How many records were replayed on top.
    pub records: u64,
    /// Checkpoints that were tried first and could not be used, newest first.
    pub fallbacks: Vec<RejectedCheckpoint>,
}

/// A checkpoint that could not be used. The process is whole without it, but the store is damaged.
#[derive(Debug)]
#[non_exhaustive]
pub struct RejectedCheckpoint {
    /// Whose checkpoint.
    pub address: Address,
    /// Its version.
    pub version: u64,
    /// What was wrong with it.
    pub error: Error,
}

impl ResumeReport {
    /// Whether a checkpoint was found to be damaged.
    pub(super) fn is_damaged(&self, address: &Address, version: u64) -> bool {
        let mut fallbacks = self.fallbacks.iter();
        fallbacks.any(|it| it.address == *address && it.version == version)
    }

    /// Tells the log of every checkpoint that could not be used.
    pub(super) fn trace(&self) {
        for RejectedCheckpoint {
            address,
            version,
            error,
        } in &self.fallbacks
        {
            tracing::warn!(%address, version, %error, "a checkpoint cannot be used");
        }
        tracing::debug!(
            address = %self.address,
            version = self.version,
            is_checkpoint = self.is_checkpoint,
            records = self.records,
            "resumed"
        );
    }
}
