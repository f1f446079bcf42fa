//! A whole process in one file: a CAR file for machines, JSON for people. Both are checked on the way
//! in as if an enemy had written them.

use std::sync::Arc;

use svit_tree::{Address, Node, Tree};
use svit_value::{Digest, Map, Text, Value, ValueLimits, car};

use crate::codec::{self, Fields};
use crate::guests::Guests;
use crate::state::{MAX_VERSION, State, check_size, sequence_key};
use crate::{Base, BaseKind, Error, Process, RecordError, system};

/// The name of the snapshot's form.
pub const SNAPSHOT_FORMAT: &str = "svit-snapshot@1";

/// The name of the JSON form.
pub const EXPORT_FORMAT: &str = "svit-export@1";

/// The manifest up to the root's digest: a map of four, `root`, a link.
const HEAD: &[u8] = b"\xa4\x64root\xd8\x2a\x58\x25\x00\x01\x71\x1e\x20";
/// The manifest behind the root's digest, up to the address and the version.
const FORMAT: &[u8] = b"\x66format\x6fsvit-snapshot@1";
/// The head of a map of two, with which the rest of the manifest is a plain value.
const MAP_OF_TWO: u8 = 0xa2;

/// A process as a CAR file: one root, a manifest block `{format, address, version, root}`, then the
/// blocks of `/` in depth-first order, each once.
///
/// Equal states give equal bytes. A snapshot proves that the state is whole, not who made it; with the
/// feature `signatures`, `Snapshot::sign` says that.
///
/// ```
/// use svit_txn::Process;
///
/// let process = Process::builder("svit://local/demo")?.memory("count", 6).build()?;
/// let snapshot = process.snapshot();
/// let restored = Process::restore(snapshot.as_bytes())?;
/// assert_eq!(restored.root_digest(), process.root_digest());
/// assert_eq!(restored.version(), process.version());
/// # Ok::<(), svit_txn::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Snapshot {
    bytes: Vec<u8>,
}

impl std::fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Snapshot({} bytes)", self.bytes.len())
    }
}

impl Snapshot {
    #[cfg(all(test, feature = "signatures"))]
    pub(crate) const fn unchecked(bytes: Vec<u8>) -> Self {
        Self { bytes }
    }

    /// The file.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The file.
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    pub(crate) fn of(state: &State) -> Self {
        let manifest = manifest(&state.address, state.version, state.tree.digest());
        let root = Digest::of(&manifest);
        let blocks = std::iter::once((root, manifest)).chain(state.tree.root().blocks());
        let mut bytes = Vec::new();
        // Writing to a Vec cannot fail.
        let _ = car::write(root, blocks, &mut bytes);
        Self { bytes }
    }
}

fn manifest(address: &Address, version: u64, root: Digest) -> Vec<u8> {
    let entries = [
        ("address", Value::from(address.as_str())),
        ("version", codec::count(version)),
    ];
    // A map of scalars is two levels deep, so this cannot fail.
    let rest = Value::Map(Map::from_entries(entries).unwrap_or_default()).encode();
    [HEAD, root.as_bytes(), FORMAT, &rest[1..]].concat()
}

/// What a manifest says: the address, the version and the root.
fn read_manifest(block: &[u8]) -> Result<(Address, u64, Digest), RecordError> {
    const WHAT: &str = "snapshot";
    let not_one = || RecordError::Format {
        what: WHAT,
        expected: SNAPSHOT_FORMAT,
        found: "another manifest".to_owned(),
    };
    let (root, rest) = block
        .strip_prefix(HEAD)
        .and_then(|rest| rest.split_at_checked(32))
        .ok_or_else(not_one)?;
    let rest = rest.strip_prefix(FORMAT).ok_or_else(not_one)?;
    let root = <[u8; 32]>::try_from(root).map_err(|_| not_one())?;
    let plain = [&[MAP_OF_TWO], rest].concat();
    let value = Value::decode(&plain, &ValueLimits::default())?;
    let fields = Fields::of(WHAT, &value)?;
    fields.exactly(2)?;
    Ok((
        fields.address("address")?,
        fields.count("version")?,
        Digest::from_bytes(root),
    ))
}

fn restored(address: Address, version: u64, root: Value) -> Result<State, Error> {
    let tree = Tree::from_value(root)?;
    let limits = system::limits(&tree)?;
    check_size(&limits, &tree)?;
    if version > MAX_VERSION {
        return Err(damaged(version, "no process gets that old".to_owned()));
    }
    // Messages are numbered by the version that accepts them, so that none is overwritten.
    let fits = |key: &Text| {
        let sequence: Option<u64> = key.parse().ok();
        sequence.is_some_and(|n| n <= version && sequence_key(n) == **key)
    };
    if let Some(key) = tree.node(Node::Inbox).keys().find(|key| !fits(key)) {
        return Err(damaged(version, format!("{key:?} is no key of its inbox")));
    }
    let named = system::address(&tree);
    if named != Some(address.as_str()) {
        return Err(damaged(
            version,
            format!("it is of {address} and holds the state of {named:?}"),
        ));
    }
    let base = base_of(&address, version, &tree);
    Ok(State {
        address,
        version,
        head: base.digest(),
        tree,
        limits: Arc::new(limits),
    })
}

fn base_of(address: &Address, version: u64, tree: &Tree) -> Base {
    Base {
        address: address.clone(),
        version,
        root: tree.digest(),
        kind: BaseKind::Created,
    }
}

fn damaged(version: u64, why: String) -> Error {
    Error::History { version, why }
}

fn process(state: State, guests: Guests) -> Process {
    let base = base_of(&state.address, state.version, &state.tree);
    Process::new(base, guests, state)
}

/// What the hard maxima allow a restored tree to measure.
const HARD: ValueLimits = ValueLimits {
    max_depth: svit_value::MAX_DEPTH,
    max_nodes: crate::LimitKind::TreeNodes.maximum(),
    max_text_bytes: crate::LimitKind::TreeBytes.maximum(),
    max_bytes: crate::LimitKind::TreeBytes.maximum(),
};

impl Process {
    /// A state of a process, which goes on from there by itself.
    pub(crate) fn alone(state: State, guests: Guests) -> Result<Self, Error> {
        // Before a fork took its own identity, the state is its parent's.
        let named = system::address(&state.tree).map(Address::parse);
        let address = named.transpose()?.unwrap_or(state.address);
        let state = restored(address, state.version, state.tree.root().clone())?;
        Ok(process(state, guests))
    }

    /// The newest version as a file. O(size).
    pub fn snapshot(&self) -> Snapshot {
        Snapshot::of(&self.state())
    }

    /// A process from the bytes of a snapshot, which are taken for hostile: the form, every block's
    /// digest and canonical form, the layout, the limits, and that no block is missing, unused, out
    /// of order or repeated. What was attached to the process (ports, mounts) is not, until a host
    /// attaches it again. O(size).
    ///
    /// # Errors
    /// [`Error::Value`] for a file or a block, [`Error::Record`] for the manifest,
    /// [`Error::Tree`] for the layout, [`Error::BadLimit`], [`Error::Limit`], [`Error::History`].
    pub fn restore(bytes: &[u8]) -> Result<Self, Error> {
        let file = car::read(bytes)?;
        let block = file.blocks.get(&file.root).copied().unwrap_or_default();
        let (address, version, root) =
            read_manifest(block).map_err(|source| Error::Record { version: 0, source })?;
        let mut source = |digest| file.blocks.get(&digest).map(|block| block.to_vec());
        let root = Value::from_blocks(root, &mut source, &HARD)?;
        let state = restored(address, version, root)?;
        // One state has one file, so this finds whatever is missing, unused, out of order or twice.
        if Snapshot::of(&state).as_bytes() != bytes {
            return Err(damaged(
                version,
                "the file is not the one that its state has".to_owned(),
            ));
        }
        Ok(process(state, Guests::default()))
    }

    /// The newest version as JSON for people: one object with `format`, `address`, `version`, the
    /// root digest and the whole tree. The same state gives the same text.
    ///
    /// # Errors
    /// [`Error::Value`] for a map that JSON cannot hold, whose only key is `/`.
    pub fn export_json(&self) -> Result<String, Error> {
        let state = self.state();
        let entries = [
            ("format", Value::from(EXPORT_FORMAT)),
            ("address", Value::from(state.address.as_str())),
            ("version", codec::count(state.version)),
            ("root", Value::from(state.tree.digest().to_string())),
            ("tree", state.tree.root().clone()),
        ];
        Ok(Value::Map(Map::from_entries(entries)?).to_json()?)
    }

    /// A process from the JSON of [`export_json`](Self::export_json); the tree must have the root
    /// digest that the text names.
    ///
    /// # Errors
    /// As [`restore`](Self::restore).
    pub fn import_json(text: &str) -> Result<Self, Error> {
        let value = Value::from_json_with(text, &HARD)?;
        let read = |value: &Value| {
            let fields = Fields::of("export", value)?;
            fields.format(EXPORT_FORMAT)?;
            fields.exactly(5)?;
            let address = fields.address("address")?;
            let version = fields.count("version")?;
            let root = fields.text("root")?.to_owned();
            Ok((address, version, root, fields.get("tree")?.clone()))
        };
        let (address, version, root, tree) =
            read(&value).map_err(|source| Error::Record { version: 0, source })?;
        let state = restored(address, version, tree)?;
        if state.tree.digest().to_string() != root {
            return Err(damaged(
                version,
                format!("the tree has root {}, not {root}", state.tree.digest()),
            ));
        }
        Ok(process(state, Guests::default()))
    }
}
