//! The layout of `/` as a type: nine nodes, each a map, and who may write where.

use svit_value::{Digest, Map, Text, Value};

use crate::{Mutation, Path, TreeError, apply};

/// A node directly below `/`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(usize)]
pub enum Node {
    /// `/children`: what the host says about children of this process.
    Children,
    /// `/inbox`: the durable input queue, keyed by 16-digit sequence numbers.
    Inbox,
    /// `/lib`: named scripts.
    Lib,
    /// `/memory`: application values.
    Memory,
    /// `/mounts`: descriptors of external resources.
    Mounts,
    /// `/ports`: manuals of the attached ports.
    Ports,
    /// `/system`: identity, limits, lineage, the outbox.
    System,
    /// `/tasks`: reserved.
    Tasks,
    /// `/thread`: bounded session metadata.
    Thread,
}

impl Node {
    /// Every node, in key order.
    pub const ALL: [Self; 9] = [
        Self::Children,
        Self::Inbox,
        Self::Lib,
        Self::Memory,
        Self::Mounts,
        Self::Ports,
        Self::System,
        Self::Tasks,
        Self::Thread,
    ];

    /// The key below `/`, such as `memory`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Children => "children",
            Self::Inbox => "inbox",
            Self::Lib => "lib",
            Self::Memory => "memory",
            Self::Mounts => "mounts",
            Self::Ports => "ports",
            Self::System => "system",
            Self::Tasks => "tasks",
            Self::Thread => "thread",
        }
    }

    /// The node that a path is in; none for `/` and for a name that is no node.
    pub fn of(path: &Path) -> Option<Self> {
        let first = path.segments().next()?;
        Self::ALL.into_iter().find(|node| node.name() == first)
    }
}

/// The whole namespace of a process: a value whose layout is known to be right.
///
/// Cloning is O(1). Edits leave the old tree as it was.
///
/// ```
/// use svit_tree::{Mutation, Node, Path, Tree};
///
/// let tree = Tree::new();
/// let count = Path::parse("/memory/count")?;
/// let next = tree.apply(&[Mutation::set(count.clone(), 1)])?;
/// assert_eq!(next.get(&count), Some(&1.into()));
/// assert!(tree.node(Node::Memory).is_empty());
/// # Ok::<(), svit_tree::TreeError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Tree {
    /// A map that holds exactly the nine nodes.
    root: Value,
    nodes: [Map; Node::ALL.len()],
}

impl PartialEq for Tree {
    fn eq(&self, other: &Self) -> bool {
        self.root == other.root
    }
}

impl Eq for Tree {}

impl Default for Tree {
    fn default() -> Self {
        Self::new()
    }
}

impl Tree {
    /// A tree whose nodes are all empty.
    pub fn new() -> Self {
        Self::from_nodes(std::array::from_fn(|_| Map::new()))
    }

    /// Nine maps are never too deep for one more level unless a node is as deep as values may be;
    /// [`Tree::with`] and [`Tree::from_value`] see to that.
    fn from_nodes(nodes: [Map; Node::ALL.len()]) -> Self {
        let root = Self::root_of(&nodes).unwrap_or_default();
        Self { root, nodes }
    }

    fn root_of(nodes: &[Map; Node::ALL.len()]) -> Result<Value, svit_value::ValueError> {
        let entries = Node::ALL
            .into_iter()
            .zip(nodes)
            .map(|(node, map)| (node.name(), Value::Map(map.clone())));
        Ok(Value::Map(Map::from_entries(entries)?))
    }

    /// Takes a value whose layout may be wrong.
    ///
    /// # Errors
    /// [`TreeError::WrongKind`] or [`TreeError::Missing`] for a node that is no map or is not there,
    /// [`TreeError::NotANode`] for a name that is none.
    pub fn from_value(root: Value) -> Result<Self, TreeError> {
        let top = Path::root();
        let Value::Map(map) = &root else {
            return Err(TreeError::WrongKind {
                path: top,
                expected: "map",
                found: root.kind(),
            });
        };
        // Both are in key order, so one walk compares them.
        let mut nodes: [Map; Node::ALL.len()] = Default::default();
        let mut entries = map.iter();
        for (node, place) in Node::ALL.into_iter().zip(&mut nodes) {
            match entries.next() {
                Some((key, Value::Map(map))) if key.as_str() == node.name() => {
                    *place = map.clone();
                }
                _ => return Err(wrong_layout(map)),
            }
        }
        if entries.next().is_some() {
            return Err(wrong_layout(map));
        }
        Ok(Self { root, nodes })
    }

    /// The value of `/`.
    pub const fn root(&self) -> &Value {
        &self.root
    }

    /// The digest of `/`.
    pub fn digest(&self) -> Digest {
        self.root.digest()
    }

    /// One node.
    pub const fn node(&self, node: Node) -> &Map {
        &self.nodes[node as usize]
    }

    /// The tree with one node replaced.
    ///
    /// # Errors
    /// [`TreeError::Value`] if the node is too deep to stand below `/`.
    pub fn with(&self, node: Node, map: Map) -> Result<Self, TreeError> {
        self.with_all([(node, map)])
    }

    /// The tree with several nodes replaced, for the price of one.
    ///
    /// # Errors
    /// [`TreeError::Value`] if a node is too deep to stand below `/`.
    pub fn with_all(
        &self,
        replaced: impl IntoIterator<Item = (Node, Map)>,
    ) -> Result<Self, TreeError> {
        let mut nodes = self.nodes.clone();
        for (node, map) in replaced {
            nodes[node as usize] = map;
        }
        match Self::root_of(&nodes) {
            Ok(root) => Ok(Self { root, nodes }),
            Err(source) => Err(TreeError::Value {
                path: Path::root(),
                source,
            }),
        }
    }

    /// What is at `path`, if anything.
    pub fn get(&self, path: &Path) -> Option<&Value> {
        crate::lookup(&self.root, path)
    }

    /// The sorted names of the children of `path`; empty for scalars and where nothing is.
    pub fn children(&self, path: &Path) -> Vec<Text> {
        match self.get(path) {
            Some(Value::Map(map)) => map.keys().cloned().collect(),
            Some(Value::List(list)) => (0..list.len())
                .map(|index| Text::from(index.to_string()))
                .collect(),
            _ => Vec::new(),
        }
    }

    /// The tree after all edits, in order.
    ///
    /// # Errors
    /// The first edit that does not fit, or an edit that would change the layout.
    pub fn apply(&self, edits: &[Mutation]) -> Result<Self, TreeError> {
        Self::from_value(apply(&self.root, edits)?)
    }
}

/// What is wrong with a root that is not the nine nodes: the first that is missing or no map, else a
/// name that is none.
#[cold]
fn wrong_layout(root: &Map) -> TreeError {
    for node in Node::ALL {
        let path = || Path::root().join(node.name());
        let fault = match (root.get(node.name()), path()) {
            (Some(Value::Map(_)), _) => continue,
            (Some(other), Ok(path)) => TreeError::WrongKind {
                path,
                expected: "map",
                found: other.kind(),
            },
            (None, Ok(path)) => TreeError::Missing { path },
            (_, Err(error)) => error,
        };
        return fault;
    }
    let is_stray = |key: &&Text| Node::ALL.iter().all(|node| node.name() != key.as_str());
    TreeError::NotANode {
        name: root.keys().find(is_stray).cloned().unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests;
