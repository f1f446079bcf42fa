//! A value as blocks, each named by its digest, and back.

mod parse;
mod read;
mod walk;

pub use walk::Blocks;

use crate::{Digest, Value, ValueError, ValueLimits};
use parse::{Block, Ref};

impl Value {
    /// The blocks that it is stored as: depth first from the root, each once, made as the iterator
    /// goes. The first is [`Value::block`].
    ///
    /// ```
    /// use std::collections::BTreeMap;
    /// use svit_value::{value, Value, ValueLimits};
    /// let state = value!({"log": "x".repeat(1000), "count": 1});
    /// let store: BTreeMap<_, _> = state.blocks().collect();
    /// assert_eq!(store.len(), 2); // the map, and the long text
    /// let again = Value::from_blocks(
    ///     state.digest(),
    ///     &mut |digest| store.get(&digest).cloned(),
    ///     &ValueLimits::default(),
    /// )?;
    /// assert_eq!(again, state);
    /// # Ok::<(), svit_value::ValueError>(())
    /// ```
    #[must_use]
    pub fn blocks(&self) -> Blocks {
        Blocks::all(self)
    }

    /// The blocks of this value that `older` lacks: what a store that holds `older` still needs.
    /// Parts that both share are found by pointer or digest and left out whole, so this costs
    /// O(changes * log n). Every block that `older` lacks is listed; a block that `older` has, but
    /// only in another place, may be listed too.
    ///
    /// ```
    /// use svit_value::{Map, Value};
    /// let mut map = Map::from_entries((0..10_000).map(|i| (format!("k{i}"), i)))?;
    /// let older = Value::from(map.clone());
    /// map.insert("k77", "changed")?;
    /// let newer = Value::from(map);
    /// assert!(newer.blocks().count() > 300);
    /// assert!(newer.new_blocks(&older).count() < 10);
    /// # Ok::<(), svit_value::ValueError>(())
    /// ```
    #[must_use]
    pub fn new_blocks(&self, older: &Value) -> Blocks {
        Blocks::new(self, older)
    }

    /// Puts a value together from its blocks, which `source` gives by digest.
    ///
    /// Nothing is taken on trust: every block must have the digest it was asked for by, be canonical,
    /// and the blocks together must be exactly those that the value has. What is returned has `root`
    /// as its digest, and nothing else has.
    ///
    /// # Errors
    /// [`ValueError::BlockMissing`], [`ValueError::BlockDamaged`], [`ValueError::BlockInvalid`] and
    /// [`ValueError::BlockLayout`] name the digest; [`ValueError::LimitExceeded`].
    pub fn from_blocks(
        root: Digest,
        source: &mut dyn FnMut(Digest) -> Option<Vec<u8>>,
        limits: &ValueLimits,
    ) -> Result<Value, ValueError> {
        read::Assembly::new(source, limits).root(root)
    }
}

/// The digests that a block links to, in the order in which it holds them; what a store must read
/// next. The block is parsed strictly, but not compared with a digest.
///
/// ```
/// use svit_value::{links, value, Value};
/// let state = value!({"log": "x".repeat(1000), "count": 1});
/// let linked = links(&state.block())?;
/// assert_eq!(linked, [state.get("log").unwrap().digest()]);
/// # Ok::<(), svit_value::ValueError>(())
/// ```
///
/// # Errors
/// [`ValueError::BlockInvalid`] for bytes that are no block.
pub fn links(block: &[u8]) -> Result<Vec<Digest>, ValueError> {
    let limits = ValueLimits {
        max_text_bytes: u64::MAX,
        max_bytes: u64::MAX,
        ..ValueLimits::default()
    };
    let link = |child: Ref| match child {
        Ref::Link(digest) => Some(digest),
        Ref::Inline(_) => None,
    };
    Ok(match parse::block(Digest::of(block), block, &limits)? {
        Block::Scalar(_) => Vec::new(),
        Block::List(children) => children.into_iter().filter_map(link).collect(),
        Block::Map(entries) => entries.into_iter().filter_map(|(_, c)| link(c)).collect(),
        Block::ListIndex(_, links) => links,
        Block::MapIndex(_, nodes) => nodes.into_iter().map(|(_, digest)| digest).collect(),
    })
}
