//! The plain encoding: strict DAG-CBOR, written in one pass and read by a decoder that accepts
//! exactly what the writer writes.

mod read;
mod write;

pub(crate) use read::{Fail, Reader};
pub(crate) use write::{Pool, Writer, canonical_order, canonical_order_short, head_len};

/// A child whose plain encoding is longer than this is a block of its own.
pub(crate) const INLINE_MAX: u64 = 128;

/// Tag 42 and the head of a CID: version 1, DAG-CBOR, BLAKE3-256 of 32 bytes.
pub(crate) const LINK: [u8; 9] = [0xd8, 0x2a, 0x58, 37, 0x00, 0x01, 0x71, 0x1e, 0x20];

/// The marker that opens an index block of a long map: an identity CID of the ASCII name.
pub(crate) const MAP_MARKER: &[u8] = b"\xd8\x2a\x4d\x00\x01\x55\x00\x08svit-map";

/// The marker that opens an index block of a long list.
pub(crate) const LIST_MARKER: &[u8] = b"\xd8\x2a\x4e\x00\x01\x55\x00\x09svit-list";
