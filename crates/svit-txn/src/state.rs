//! One committed state, and the step from one to the next.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use svit_tree::{Address, Change, Mutation, Node, Path, Source, Tree, diff};
use svit_value::{Digest, Map, Value};

use crate::mounts::MountWrite;
use crate::ports::PortCall;
use crate::record::ProcessTransaction;
use crate::store::StoredRecord;
use crate::{Error, LimitKind, Limits};

/// A committed version of a process. Cloning is O(1).
#[derive(Clone, Debug)]
pub(crate) struct State {
    pub(crate) address: Address,
    pub(crate) version: u64,
    /// The digest of the record, or base, that led here. A process that is in no store keeps no
    /// records, and a fork of it has its parent's.
    pub(crate) head: Digest,
    pub(crate) tree: Tree,
    pub(crate) limits: Arc<Limits>,
}

/// A checked step that is not yet visible to anybody: make it durable, then publish it.
#[must_use = "a prepared transition has changed nothing yet"]
#[derive(Clone, Debug)]
pub(crate) struct Transition {
    pub(crate) record: StoredRecord,
    pub(crate) change: Change,
    pub(crate) after: State,
    /// Writes below mounts, to be made once it is durable.
    pub(crate) writes: Vec<MountWrite>,
}

impl State {
    /// Prepares the step to `after`.
    ///
    /// What is recorded is the difference of the two roots, and applying it must lead to the same
    /// root: a step that cannot be replayed cannot be prepared.
    pub(crate) fn prepare(&self, source: Source, after: Tree) -> Result<Transition, Error> {
        self.prepare_with(source, after, Vec::new())
    }

    /// The same of an activation that called ports.
    // THREAT[TM-TXN-1]
    pub(crate) fn prepare_with(
        &self,
        source: Source,
        after: Tree,
        ports: Vec<PortCall>,
    ) -> Result<Transition, Error> {
        check_size(&self.limits, &after)?;
        let mutations = diff(self.tree.root(), after.root());
        let replayed = self.tree.apply(&mutations)?;
        // Node by node: most are shared, and small ones are compared faster than they are hashed.
        let mut nodes = Node::ALL.iter();
        if !nodes.all(|node| replayed.node(*node) == after.node(*node)) {
            return Err(Error::History {
                version: self.version + 1,
                why: "the edits do not lead to the new root".to_owned(),
            });
        }
        let root = after.digest();
        let record = ProcessTransaction {
            address: self.address.clone(),
            version: self.version + 1,
            previous: self.head,
            source,
            committed_at: now_millis(),
            mutations,
            root,
            ports,
        };
        let stored = record.to_stored(&self.limits)?;
        let after = Self {
            address: self.address.clone(),
            version: record.version,
            head: stored.digest,
            limits: self.limits.clone(),
            tree: after,
        };
        Ok(Transition {
            change: Change::new(record.version, source, record.mutations, after.tree.root()),
            record: stored,
            after,
            writes: Vec::new(),
        })
    }

    /// A tree that was made from `started`, as it is on top of this state: host-managed changes may
    /// have come in between, and whoever made it wrote elsewhere.
    pub(crate) fn rebased(&self, started: &Self, tree: Tree) -> Result<Tree, Error> {
        if self.version == started.version {
            return Ok(tree);
        }
        let edits = diff(started.tree.root(), tree.root());
        Ok(self.tree.apply(&edits)?)
    }

    /// The tree with a message behind the others in the inbox, and the message's sequence number,
    /// which is the version that accepts it: unique and ascending without a counter.
    pub(crate) fn enqueue(&self, message: Value) -> Result<(Tree, u64), Error> {
        self.limits.check_value(&message, None)?;
        let mut inbox = self.tree.node(Node::Inbox).clone();
        let waiting = inbox.len() as u64 + 1;
        self.limits.check(LimitKind::Inbox, waiting)?;
        let sequence = self.version + 1;
        inbox.insert(sequence_key(sequence), message)?;
        Ok((self.tree.with(Node::Inbox, inbox)?, sequence))
    }

    /// Whether a message is in the inbox.
    pub(crate) fn has_message(&self, sequence: u64) -> bool {
        let inbox = self.tree.node(Node::Inbox);
        inbox.contains_key(&sequence_key(sequence))
    }

    /// The tree without one message of the inbox.
    pub(crate) fn acknowledge(&self, sequence: u64) -> Result<Tree, Error> {
        let mut inbox = self.tree.node(Node::Inbox).clone();
        match inbox.remove(&sequence_key(sequence)) {
            Some(_) => Ok(self.tree.with(Node::Inbox, inbox)?),
            None => Err(Error::NoMessage { sequence }),
        }
    }

    /// The tree without an inbox message, which stands in `/thread/dead` with the reason instead.
    pub(crate) fn bury(&self, sequence: u64, reason: Value) -> Result<Tree, Error> {
        self.limits.check_value(&reason, None)?;
        let key = sequence_key(sequence);
        let message = self.tree.node(Node::Inbox).get(&key).cloned();
        let tree = self.acknowledge(sequence)?;
        let mut thread = tree.node(Node::Thread).clone();
        let dead = thread.get("dead").and_then(Value::as_map).cloned();
        let mut dead = dead.unwrap_or_default();
        let letter = [("message", message.unwrap_or_default()), ("reason", reason)];
        dead.insert(key, Map::from_entries(letter)?)?;
        thread.insert("dead", dead)?;
        Ok(tree.with(Node::Thread, thread)?)
    }
}

impl State {
    /// The tree without a letter of `/thread/dead`.
    pub(crate) fn forget_dead(&self, sequence: u64) -> Result<Tree, Error> {
        let mut thread = self.tree.node(Node::Thread).clone();
        let dead = thread.get("dead").and_then(Value::as_map).cloned();
        let mut dead = dead.unwrap_or_default();
        match dead.remove(&sequence_key(sequence)) {
            Some(_) => {
                thread.insert("dead", dead)?;
                Ok(self.tree.with(Node::Thread, thread)?)
            }
            None => Err(Error::NoMessage { sequence }),
        }
    }
}

impl State {
    /// The tree with an entry about a child.
    pub(crate) fn record_child(&self, name: &str, entry: &Value) -> Result<Tree, Error> {
        let place = child_place(name)?;
        self.limits.check_value(entry, Some(&place))?;
        Ok(self.tree.apply(&[Mutation::set(place, entry.clone())])?)
    }

    /// The tree without an entry about a child.
    pub(crate) fn forget_child(&self, name: &str) -> Result<Tree, Error> {
        let place = child_place(name)?;
        Ok(self.tree.apply(&[Mutation::remove(place)])?)
    }
}

fn child_place(name: &str) -> Result<Path, Error> {
    Ok(Path::root().join(Node::Children.name())?.join(name)?)
}

/// A sequence number as a key: 16 digits, so that keys sort by number.
pub(crate) fn sequence_key(sequence: u64) -> String {
    format!("{sequence:016}")
}

/// The newest version that a process from outside may have: keys of the outbox hold it in 12 digits.
pub(crate) const MAX_VERSION: u64 = 999_999_999_999;

pub(crate) fn check_size(limits: &Limits, tree: &Tree) -> Result<(), Error> {
    let measure = tree.root().measure();
    let root = Path::root();
    [
        (LimitKind::TreeNodes, measure.nodes),
        (LimitKind::TreeBytes, measure.cbor_len),
    ]
    .into_iter()
    .find_map(|(kind, actual)| limits.exceeded(kind, actual, Some(&root)))
    .map_or(Ok(()), |e| Err(Error::Limit(e)))
}

/// The host's clock, for `committed_at` only.
fn now_millis() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |d| u64::try_from(d.as_millis()).unwrap_or(u64::MAX))
}
