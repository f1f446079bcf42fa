//! One block, taken apart: what it holds, and which blocks it names.

use crate::cbor::{Fail, LIST_MARKER, MAP_MARKER, Reader};
use crate::error::CborProblem;
use crate::{Digest, Text, Value, ValueError, ValueLimits};

/// A child in a block.
pub(super) enum Ref {
    Inline(Value),
    Link(Digest),
}

pub(super) enum Block {
    Scalar(Value),
    /// A short list, or a leaf of a long one.
    List(Vec<Ref>),
    /// A short map, or a leaf of a long one; in key order.
    Map(Vec<(Text, Ref)>),
    ListIndex(u32, Vec<Digest>),
    /// With the first key of each child.
    MapIndex(u32, Vec<(Text, Digest)>),
}

pub(super) fn block(
    digest: Digest,
    bytes: &[u8],
    limits: &ValueLimits,
) -> Result<Block, ValueError> {
    // An offset inside a block says nothing without the block.
    parse(bytes, limits).map_err(|fail| match *fail {
        ValueError::Cbor { offset, problem } => ValueError::BlockInvalid {
            digest,
            offset,
            problem,
        },
        other => other,
    })
}

fn parse(bytes: &[u8], limits: &ValueLimits) -> Result<Block, Fail> {
    let mut reader = Reader::new(bytes, limits);
    let block = match reader.peek()? >> 5 {
        4 => array(&mut reader)?,
        5 => {
            let (_, count) = reader.head()?;
            Block::Map(reader.entries(count, child)?)
        }
        _ => Block::Scalar(reader.value(1)?),
    };
    reader.end()?;
    Ok(block)
}

/// A child: in place, where it holds no links, or a link.
fn child(reader: &mut Reader<'_>) -> Result<Ref, Fail> {
    Ok(match reader.link()? {
        Some(digest) => Ref::Link(digest),
        None => Ref::Inline(reader.value(2)?),
    })
}

fn array(reader: &mut Reader<'_>) -> Result<Block, Fail> {
    let at = reader.at();
    let (_, count) = reader.head()?;
    let malformed = || Box::new(ValueError::cbor(at, CborProblem::Index));
    let is_map = reader.skip(MAP_MARKER);
    if !is_map && !reader.skip(LIST_MARKER) {
        let count = reader.count(count, 1)?;
        let mut children = Vec::with_capacity(count.min(64));
        for _ in 0..count {
            children.push(child(reader)?);
        }
        return Ok(Block::List(children));
    }
    let (major, level) = reader.head()?;
    let level = u32::try_from(level).map_err(|_| malformed())?;
    let (array, len) = reader.head()?;
    if count != 3 || major != 0 || level == 0 || array != 4 || len == 0 {
        return Err(malformed());
    }
    let link = |reader: &mut Reader<'_>| reader.link()?.ok_or_else(malformed);
    if is_map {
        let len = reader.count(len, 43)?;
        let mut children = Vec::with_capacity(len);
        for _ in 0..len {
            if reader.head()? != (4, 2) {
                return Err(malformed());
            }
            let key = Text::from(reader.key()?);
            children.push((key, link(reader)?));
        }
        Ok(Block::MapIndex(level, children))
    } else {
        let len = reader.count(len, 41)?;
        let children: Result<_, _> = (0..len).map(|_| link(reader)).collect();
        Ok(Block::ListIndex(level, children?))
    }
}
