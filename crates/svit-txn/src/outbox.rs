//! The outbox, `/system/outbox`: messages that scripts want delivered, until the host has delivered
//! them.

use std::ops::Bound;

use svit_tree::{Address, Node, Path, Tree};
use svit_value::{Digest, Map, Text, Value};

use crate::state::State;
use crate::{Error, LimitKind};

/// A message that a script wants the host to deliver.
#[derive(Clone, Debug, PartialEq)]
pub struct Intent {
    /// `<address>#<version>.<index>`, the same on every replay: what a receiver can recognize a
    /// second delivery by.
    pub id: String,
    /// The message as the script gave it.
    pub message: Value,
}

impl Intent {
    /// The digest of the message, with which it is acknowledged.
    pub fn digest(&self) -> Digest {
        self.message.digest()
    }
}

/// Sixteen digits that ascend with version and index; an activation sends at most 10,000.
fn key(version: u64, index: u64) -> String {
    format!("{version:012}{index:04}")
}

fn id(address: &Address, version: u64, index: u64) -> String {
    format!("{address}#{version}.{index}")
}

/// The key of an intent of this process, by its id in its one form.
fn key_of(address: &Address, text: &str) -> Option<String> {
    let place = text.strip_prefix(address.as_str())?.strip_prefix('#')?;
    let (version, index) = place.split_once('.')?;
    let (version, index) = (version.parse().ok()?, index.parse().ok()?);
    (id(address, version, index) == text).then(|| key(version, index))
}

fn outbox(tree: &Tree) -> Map {
    let outbox = tree.node(Node::System).get("outbox");
    outbox.and_then(Value::as_map).cloned().unwrap_or_default()
}

fn with_outbox(tree: &Tree, outbox: Map) -> Result<Tree, Error> {
    let mut system = tree.node(Node::System).clone();
    system.insert("outbox", outbox)?;
    Ok(tree.with(Node::System, system)?)
}

impl State {
    /// The tree with intents behind the others, and the intents with their ids.
    pub(crate) fn send(
        &self,
        tree: &Tree,
        messages: &[Value],
    ) -> Result<(Tree, Vec<Intent>), Error> {
        if messages.is_empty() {
            return Ok((tree.clone(), Vec::new()));
        }
        let version = self.version + 1;
        let mut outbox = outbox(tree);
        let mut intents = Vec::with_capacity(messages.len());
        for (index, message) in (0..).zip(messages) {
            let intent = Intent {
                id: id(&self.address, version, index),
                message: message.clone(),
            };
            let entry = [
                ("id", Value::from(intent.id.as_str())),
                ("message", message.clone()),
            ];
            outbox.insert(key(version, index), Map::from_entries(entry)?)?;
            intents.push(intent);
        }
        self.limits.check(LimitKind::Outbox, outbox.len() as u64)?;
        Ok((with_outbox(tree, outbox)?, intents))
    }

    /// Intents that wait, oldest first, from behind one of them.
    pub(crate) fn intents(&self, after: Option<&str>, limit: usize) -> Result<Vec<Intent>, Error> {
        let after = after.map(|id| self.key_of(id)).transpose()?;
        let from = after.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
        let outbox = outbox(&self.tree);
        let waiting = outbox.range(from, Bound::Unbounded).take(limit);
        let intent = |entry: &Value| {
            Some(Intent {
                id: entry.get("id")?.as_str()?.to_owned(),
                message: entry.get("message")?.clone(),
            })
        };
        Ok(waiting.filter_map(|(_, entry)| intent(entry)).collect())
    }

    fn key_of(&self, id: &str) -> Result<String, Error> {
        key_of(&self.address, id).ok_or_else(|| Error::NoIntent { id: Text::from(id) })
    }

    /// The tree without an intent, whose message must have this digest.
    pub(crate) fn delivered(&self, id: &str, expected: Digest) -> Result<Tree, Error> {
        let mut outbox = outbox(&self.tree);
        let key = self.key_of(id)?;
        let Some(entry) = outbox.remove(&key) else {
            return Err(Error::NoIntent { id: Text::from(id) });
        };
        let actual = entry.get("message").map(Value::digest);
        if actual != Some(expected) {
            return Err(Error::Changed {
                path: Path::parse("/system/outbox")?.join(&key)?,
                expected,
                actual,
            });
        }
        with_outbox(&self.tree, outbox)
    }
}
