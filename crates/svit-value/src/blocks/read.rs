//! Putting a value together from blocks that nobody vouches for.
//!
//! Blocks are checked twice. Each is parsed strictly, and a node must add at least one entry, so that
//! a few small blocks cannot stand for endless work. Then the value is built from its entries as any
//! other, and its digest compared with the one that was asked for: the digest depends on the contents
//! alone, so it matches only when every node below is where it belongs.

use super::parse::{Block, Ref, block};
use crate::cbor::Fail;
use crate::error::Limit;
use crate::map::{Entry, entry_sums};
use crate::measure::{Sums, within};
use crate::{Digest, List, Map, Text, Value, ValueError, ValueLimits};
use std::collections::BTreeMap;

#[cold]
fn wrong_layout(digest: Digest) -> Fail {
    Box::new(ValueError::BlockLayout { digest })
}

/// What has been gathered of one container. Its size is checked as it grows: one small leaf that is
/// linked to over and over would otherwise fill the memory before the end.
struct Gathered<T> {
    items: Vec<T>,
    sums: Sums,
}

impl<T> Gathered<T> {
    fn new(expected: usize) -> Gathered<T> {
        Gathered {
            items: Vec::with_capacity(expected),
            sums: Sums::default(),
        }
    }

    fn push(&mut self, item: T, sums: &Sums, limits: &ValueLimits) -> Result<(), Fail> {
        self.sums.add(sums);
        self.items.push(item);
        within(Limit::Nodes, limits.max_nodes, self.sums.nodes)?;
        within(Limit::TextBytes, limits.max_text_bytes, self.sums.text)?;
        Ok(within(
            Limit::EncodedBytes,
            limits.max_bytes,
            self.sums.cbor,
        )?)
    }
}

impl Gathered<Value> {
    fn list(self) -> Result<Value, Fail> {
        Ok(Value::List(List::from_vec(self.items)?))
    }
}

impl Gathered<Entry> {
    fn map(self) -> Result<Value, Fail> {
        Ok(Value::Map(Map::from_sorted(self.items)?))
    }
}

pub(super) struct Assembly<'a> {
    source: &'a mut dyn FnMut(Digest) -> Option<Vec<u8>>,
    limits: &'a ValueLimits,
    /// Values already put together: a block that is linked to often is read and held once.
    done: BTreeMap<Digest, Value>,
}

impl<'a> Assembly<'a> {
    pub(super) fn new(
        source: &'a mut dyn FnMut(Digest) -> Option<Vec<u8>>,
        limits: &'a ValueLimits,
    ) -> Assembly<'a> {
        Assembly {
            source,
            limits,
            done: BTreeMap::new(),
        }
    }

    pub(super) fn root(mut self, digest: Digest) -> Result<Value, ValueError> {
        self.value(digest, 1).map_err(|fail| *fail)
    }

    fn fetch(&mut self, digest: Digest) -> Result<Block, Fail> {
        let bytes = (self.source)(digest).ok_or(ValueError::BlockMissing { digest })?;
        let actual = Digest::of(&bytes);
        if actual != digest {
            return Err(Box::new(ValueError::BlockDamaged { digest, actual }));
        }
        Ok(block(digest, &bytes, self.limits)?)
    }

    /// The value whose block this is, `depth` levels down.
    fn value(&mut self, digest: Digest, depth: u32) -> Result<Value, Fail> {
        if let Some(value) = self.done.get(&digest) {
            return Ok(value.clone());
        }
        within(Limit::Depth, self.limits.depth().into(), depth.into())?;
        let block = self.fetch(digest)?;
        let value = self.build(digest, block, depth)?;
        self.limits.check(&value)?;
        if value.digest() != digest {
            return Err(wrong_layout(digest));
        }
        self.done.insert(digest, value.clone());
        Ok(value)
    }

    fn build(&mut self, digest: Digest, block: Block, depth: u32) -> Result<Value, Fail> {
        match block {
            Block::Scalar(value) => Ok(value),
            Block::List(children) => {
                let mut values = Gathered::new(children.len());
                self.elements(children, depth, &mut values)?;
                values.list()
            }
            Block::Map(children) => {
                let mut entries = Gathered::new(children.len());
                self.entries(digest, children, depth, &mut entries)?;
                entries.map()
            }
            Block::ListIndex(level, children) => {
                let mut values = Gathered::new(0);
                self.list_nodes(digest, level, children, depth, &mut values)?;
                values.list()
            }
            Block::MapIndex(level, children) => {
                let mut entries = Gathered::new(0);
                self.map_nodes(digest, level, children, depth, &mut entries)?;
                entries.map()
            }
        }
    }

    fn child(&mut self, child: Ref, depth: u32) -> Result<Value, Fail> {
        match child {
            Ref::Inline(value) => Ok(value),
            Ref::Link(digest) => self.value(digest, depth + 1),
        }
    }

    fn elements(
        &mut self,
        children: Vec<Ref>,
        depth: u32,
        values: &mut Gathered<Value>,
    ) -> Result<(), Fail> {
        for child in children {
            let value = self.child(child, depth)?;
            let sums = Sums::of(&value);
            values.push(value, &sums, self.limits)?;
        }
        Ok(())
    }

    /// Adds the entries of one node, which come after all before.
    fn entries(
        &mut self,
        digest: Digest,
        children: Vec<(Text, Ref)>,
        depth: u32,
        entries: &mut Gathered<Entry>,
    ) -> Result<(), Fail> {
        if let (Some(last), Some(next)) = (entries.items.last(), children.first())
            && last.0 >= next.0
        {
            return Err(wrong_layout(digest));
        }
        for (key, child) in children {
            let value = self.child(child, depth)?;
            let entry = (key, value);
            let sums = entry_sums(&entry);
            entries.push(entry, &sums, self.limits)?;
        }
        Ok(())
    }

    /// Gathers what is below an index node. Its level falls with every step, which bounds the
    /// recursion: levels of real maps are below 21, as a key's rank is.
    fn map_nodes(
        &mut self,
        digest: Digest,
        level: u32,
        children: Vec<(Text, Digest)>,
        depth: u32,
        entries: &mut Gathered<Entry>,
    ) -> Result<(), Fail> {
        if level > 20 {
            return Err(wrong_layout(digest));
        }
        for (first, child) in children {
            let before = entries.items.len();
            match self.fetch(child)? {
                Block::Map(leaf) if level == 1 => self.entries(child, leaf, depth, entries)?,
                Block::MapIndex(below, nodes) if below + 1 == level => {
                    self.map_nodes(child, below, nodes, depth, entries)?;
                }
                _ => return Err(wrong_layout(child)),
            }
            if entries
                .items
                .get(before)
                .is_none_or(|entry| entry.0 != first)
            {
                return Err(wrong_layout(digest));
            }
        }
        Ok(())
    }

    /// Gathers what is below an index node. All children but the last are full, so each adds many
    /// elements; levels of real lists are below 11.
    fn list_nodes(
        &mut self,
        digest: Digest,
        level: u32,
        children: Vec<Digest>,
        depth: u32,
        values: &mut Gathered<Value>,
    ) -> Result<(), Fail> {
        if level > 10 {
            return Err(wrong_layout(digest));
        }
        for child in children {
            let before = values.sums.count;
            match self.fetch(child)? {
                Block::List(leaf) if level == 1 => self.elements(leaf, depth, values)?,
                Block::ListIndex(below, nodes) if below + 1 == level => {
                    self.list_nodes(child, below, nodes, depth, values)?;
                }
                _ => return Err(wrong_layout(child)),
            }
            // Every node before this one must have been full.
            if !before.is_multiple_of(1 << (6 * level)) || values.sums.count == before {
                return Err(wrong_layout(digest));
            }
        }
        Ok(())
    }
}
