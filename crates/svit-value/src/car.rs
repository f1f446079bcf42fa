//! CAR files, version 1: blocks in one file that any IPLD tool reads.
//!
//! A file is a header that names its roots and then sections, each the CID and the bytes of one
//! block. Here there is one root, every CID is version 1 with DAG-CBOR and BLAKE3-256, and every
//! block is checked against its digest when the file is read.
//!
//! ```
//! use svit_value::{car, value, Value, ValueLimits};
//! let state = value!({"log": "x".repeat(1000), "count": 1});
//! let mut file = Vec::new();
//! car::write(state.digest(), state.blocks(), &mut file)?;
//! let read = car::read(&file)?;
//! assert_eq!(read.root, state.digest());
//! assert_eq!(read.value(&ValueLimits::default())?, state);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use crate::cbor::LINK;
use crate::{Digest, Value, ValueError, ValueLimits};
use std::collections::BTreeMap;
use std::io;

/// A CID of this crate's blocks without its digest: version 1, DAG-CBOR, BLAKE3-256, 32 bytes.
const CID: &[u8] = &[0x01, 0x71, 0x1e, 0x20];
const CID_LEN: usize = CID.len() + 32;
/// The header up to the digest of the root: `{"roots": [`, and behind it: `], "version": 1}`.
const HEADER: &[u8] = b"\xa2\x65roots\x81";
const HEADER_END: &[u8] = b"\x67version\x01";
const HEADER_LEN: usize = HEADER.len() + LINK.len() + 32 + HEADER_END.len();

/// Writes a CAR file with one root.
///
/// # Errors
/// What the writer reports.
pub fn write(
    root: Digest,
    blocks: impl IntoIterator<Item = (Digest, Vec<u8>)>,
    out: &mut impl io::Write,
) -> io::Result<()> {
    out.write_all(&[HEADER_LEN as u8])?;
    out.write_all(HEADER)?;
    out.write_all(&LINK)?;
    out.write_all(root.as_bytes())?;
    out.write_all(HEADER_END)?;
    for (digest, block) in blocks {
        let mut length = Vec::with_capacity(10);
        varint((CID_LEN + block.len()) as u64, &mut length);
        out.write_all(&length)?;
        out.write_all(CID)?;
        out.write_all(digest.as_bytes())?;
        out.write_all(&block)?;
    }
    Ok(())
}

/// What a CAR file holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Car<'a> {
    /// The digest of the root block.
    pub root: Digest,
    /// The blocks, each with the digest that its bytes have.
    pub blocks: BTreeMap<Digest, &'a [u8]>,
}

impl Car<'_> {
    /// The value that the root block stands for; see [`Value::from_blocks`].
    ///
    /// # Errors
    /// As there.
    pub fn value(&self, limits: &ValueLimits) -> Result<Value, ValueError> {
        let mut source = |digest| self.blocks.get(&digest).map(|block| block.to_vec());
        Value::from_blocks(self.root, &mut source, limits)
    }
}

/// Reads a CAR file with one root, and checks every block against its digest.
///
/// # Errors
/// [`ValueError::Car`] with the byte offset, [`ValueError::BlockDamaged`] for a block that is not
/// what its CID says.
pub fn read(bytes: &[u8]) -> Result<Car<'_>, ValueError> {
    let mut reader = Reader { bytes, at: 0 };
    let header = reader.section()?;
    let root = header
        .strip_prefix(HEADER)
        .and_then(|rest| rest.strip_prefix(&LINK))
        .and_then(|rest| rest.strip_suffix(HEADER_END))
        .and_then(digest)
        .ok_or(ValueError::Car {
            offset: 0,
            problem: "the header is not that of version 1 with one root",
        })?;
    let mut blocks = BTreeMap::new();
    while reader.at < bytes.len() {
        let offset = reader.at;
        let section = reader.section()?;
        let (cid, block) = section.split_at_checked(CID_LEN).ok_or(ValueError::Car {
            offset,
            problem: "a section shorter than a CID",
        })?;
        let named = cid
            .strip_prefix(CID)
            .and_then(digest)
            .ok_or(ValueError::Car {
                offset,
                problem: "a CID that is not version 1, DAG-CBOR and BLAKE3-256",
            })?;
        let actual = Digest::of(block);
        if actual != named {
            return Err(ValueError::BlockDamaged {
                digest: named,
                actual,
            });
        }
        blocks.insert(named, block);
    }
    Ok(Car { root, blocks })
}

fn digest(bytes: &[u8]) -> Option<Digest> {
    bytes.try_into().ok().map(Digest::from_bytes)
}

/// LEB128, as CAR files count.
fn varint(mut number: u64, out: &mut Vec<u8>) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    fn section(&mut self) -> Result<&'a [u8], ValueError> {
        let offset = self.at;
        let fail = |problem| Err(ValueError::Car { offset, problem });
        let mut len = 0u64;
        for shift in (0..63).step_by(7) {
            let Some(byte) = self.bytes.get(self.at) else {
                return fail("the file ends in a length");
            };
            self.at += 1;
            len |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 != 0 {
                continue;
            }
            if *byte == 0 && shift > 0 {
                return fail("a length longer than needed");
            }
            let rest = &self.bytes[self.at..];
            let section = usize::try_from(len).ok().and_then(|len| rest.get(..len));
            let Some(section) = section else {
                return fail("the file ends in a section");
            };
            self.at += section.len();
            return Ok(section);
        }
        fail("a length that is too long")
    }
}
