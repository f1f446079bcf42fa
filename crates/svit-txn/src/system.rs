//! What stands below `/system`, and how a new process or a fork gets its identity.

use svit_tree::{Address, Node, Tree};
use svit_value::{Map, Value};

use crate::codec::{count, digest};
use crate::record::TRANSACTION_FORMAT;
use crate::{Error, Limits};

/// The version of the layout below `/` and of what scripts can rely on.
pub const API_VERSION: &str = "svit-process@1";

const RUNTIME_VERSION: &str = env!("CARGO_PKG_VERSION");

fn map<const N: usize>(entries: [(&str, Value); N]) -> Result<Map, Error> {
    Ok(Map::from_entries(entries)?)
}

/// `/system` of a new process.
pub(crate) fn created(address: &Address, limits: &Limits) -> Result<Map, Error> {
    map([
        (
            "identity",
            map([("address", Value::from(address.as_str()))])?.into(),
        ),
        (
            "api",
            map([
                ("process", Value::from(API_VERSION)),
                ("transaction", Value::from(TRANSACTION_FORMAT)),
            ])?
            .into(),
        ),
        ("limits", limits.to_map().into()),
        ("lineage", Map::new().into()),
        (
            "runtime",
            map([
                ("name", Value::from("svit")),
                ("version", Value::from(RUNTIME_VERSION)),
            ])?
            .into(),
        ),
        ("capabilities", Map::new().into()),
        ("outbox", Map::new().into()),
    ])
}

/// The tree of a fork: its own identity and lineage, an empty inbox and outbox, no children, no
/// ports and no other authority. Memory, scripts and limits are the parent's. The lineage names the
/// parent's root, not its record: records carry the host's clock, which may not reach a root.
// THREAT[TM-TXN-5]
pub(crate) fn forked(
    parent: &Tree,
    parent_address: &Address,
    version: u64,
    address: &Address,
) -> Result<Tree, Error> {
    let lineage = map([
        ("parent", Value::from(parent_address.as_str())),
        ("version", count(version)),
        ("root", digest(parent.digest())),
    ])?;
    let mut system = parent.node(Node::System).clone();
    let identity = map([("address", Value::from(address.as_str()))])?;
    system.insert("identity", identity)?;
    system.insert("lineage", lineage)?;
    // One empty map serves for all, the parent's if it has one: a fork costs what it holds.
    let is_empty = |map: &&Map| map.is_empty();
    let known = [Node::Tasks, Node::Children, Node::Inbox].map(|node| parent.node(node));
    let empty = known
        .into_iter()
        .find(is_empty)
        .cloned()
        .unwrap_or_default();
    for emptied in ["capabilities", "outbox"] {
        system.insert(emptied, empty.clone())?;
    }
    let emptied = [
        Node::Inbox,
        Node::Children,
        Node::Tasks,
        Node::Ports,
        Node::Thread,
    ];
    let emptied = emptied.map(|node| (node, empty.clone()));
    Ok(parent.with_all(std::iter::once((Node::System, system)).chain(emptied))?)
}

/// The limits that stand in a tree.
pub(crate) fn limits(tree: &Tree) -> Result<Limits, Error> {
    match tree.node(Node::System).get("limits") {
        Some(Value::Map(rows)) => Limits::from_map(rows),
        _ => Ok(Limits::default()),
    }
}

/// The address that stands in a tree.
pub(crate) fn address(tree: &Tree) -> Option<&str> {
    let identity = tree.node(Node::System).get("identity")?;
    identity.get("address")?.as_str()
}
