//! Who may do what where, as one table.

use crate::{Node, Path};

/// Who asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Caller {
    /// The program that embeds svit.
    Host,
    /// A script.
    Guest,
    /// A model, through its tools.
    Model,
}

/// What a caller may do at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Access {
    /// Read.
    Read,
    /// Read; changes go through the operations that own the place, such as enqueueing a message.
    Operations,
    /// Read, write and remove.
    ReadWrite,
    /// What the host granted with the mount.
    Granted,
}

use Access::{Granted, Operations, Read, ReadWrite};

/// The rules: a row for each node, in key order, with the access of host, guest and model.
const TABLE: [(Node, [Access; 3]); Node::ALL.len()] = [
    (Node::Children, [Read, Read, Read]),
    (Node::Inbox, [Operations, Read, Read]),
    (Node::Lib, [ReadWrite, ReadWrite, ReadWrite]),
    (Node::Memory, [ReadWrite, ReadWrite, ReadWrite]),
    (Node::Mounts, [Granted, Granted, Granted]),
    (Node::Ports, [Read, Read, Read]),
    (Node::System, [Read, Read, Read]),
    (Node::Tasks, [Read, Read, Read]),
    (Node::Thread, [Operations, Read, Read]),
];

impl Access {
    /// What `caller` may do at `path`. The root and the nodes themselves cannot be replaced, only
    /// what is in them; a name below `/` that is no node can only be read, and nothing is there.
    ///
    /// ```
    /// use svit_tree::{Access, Caller, Path};
    ///
    /// let at = |path: &str, caller| Path::parse(path).map(|path| Access::of(&path, caller));
    /// assert_eq!(at("/memory/count", Caller::Model)?, Access::ReadWrite);
    /// assert_eq!(at("/inbox", Caller::Host)?, Access::Operations);
    /// assert_eq!(at("/inbox", Caller::Guest)?, Access::Read);
    /// # Ok::<(), svit_tree::TreeError>(())
    /// ```
    pub fn of(path: &Path, caller: Caller) -> Self {
        let Some(node) = Node::of(path) else {
            return Read;
        };
        let (_, row) = TABLE[node as usize];
        let access = match caller {
            Caller::Host => row[0],
            Caller::Guest => row[1],
            Caller::Model => row[2],
        };
        match access {
            ReadWrite if path.len() == 1 => Read,
            access => access,
        }
    }

    /// Whether a value can be written or removed there directly.
    pub const fn may_write(self) -> bool {
        matches!(self, ReadWrite)
    }

    /// `read`, `operations`, `read_write` or `granted`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Read => "read",
            Operations => "operations",
            ReadWrite => "read_write",
            Granted => "granted",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_has_a_row_for_each_node_at_its_place() {
        for (place, (node, _)) in TABLE.into_iter().enumerate() {
            assert_eq!(node as usize, place);
            assert_eq!(node, Node::ALL[place]);
        }
    }

    #[test]
    fn only_memory_and_scripts_are_written_directly() {
        for node in Node::ALL {
            for caller in [Caller::Host, Caller::Guest, Caller::Model] {
                let whole = Path::root().join(node.name()).unwrap();
                let below = whole.join("x").unwrap();
                assert!(!Access::of(&whole, caller).may_write(), "{whole}");
                let expected = matches!(node, Node::Memory | Node::Lib);
                assert_eq!(Access::of(&below, caller).may_write(), expected, "{below}");
            }
        }
        assert_eq!(Access::of(&Path::root(), Caller::Host), Read);
        let stray = Path::parse("/nothing/x").unwrap();
        assert_eq!(Access::of(&stray, Caller::Host), Read);
    }
}
