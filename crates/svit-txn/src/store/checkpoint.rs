//! What is said about checkpoints, forks and garbage.

use svit_tree::Address;
use svit_value::Digest;

use super::Block;

/// A version whose whole state can be loaded from blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Checkpoint {
    /// The version.
    pub version: u64,
    /// The digest of its record, or of the base if it is the base's version.
    pub record: Digest,
    /// Its root digest.
    pub root: Digest,
}

/// A checkpoint, or a base that came with its blocks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckpointRef {
    /// The process.
    pub address: Address,
    /// The version.
    pub version: u64,
    /// Its root digest: whoever has the address by now may be another process.
    pub root: Digest,
}

/// A piece of a checkpoint that is being written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckpointPart {
    /// The checkpoint. The same in every part.
    pub checkpoint: Checkpoint,
    /// What its blocks were compared with, if with anything: blocks that this reaches are left out.
    /// The same in every part.
    pub since: Option<CheckpointRef>,
    /// The number of this part, from 0.
    pub index: u64,
    /// Blocks; over all parts, each stands behind one that links to it.
    pub blocks: Vec<Block>,
    /// Whether this part makes the checkpoint whole.
    pub last: bool,
}

/// A fork that depends on the history of its parent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForkRef {
    /// The fork.
    pub child: Address,
    /// The version of its base, which is the parent's version that it starts from.
    pub version: u64,
}

/// What a piece of garbage collection did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Collected {
    /// Blocks removed.
    pub blocks: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Whether the collection is at its end. If not, there is more to look at.
    pub done: bool,
}
