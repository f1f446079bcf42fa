//! The reader: accepts canonical DAG-CBOR only, and says at which byte it stops being that.

use super::LINK;
use crate::error::{CborProblem, Limit};
use crate::measure::within;
use crate::{Bytes, Digest, Float, List, Map, Text, Value, ValueError, ValueLimits};

/// Room made ahead for a container, whatever its head says: what a short one needs at most.
const AHEAD: usize = 64;

/// An error behind a pointer: results stay as small as a value, which makes reading faster and the
/// stack of deep values smaller.
pub(crate) type Fail = Box<ValueError>;

#[cold]
fn bad(offset: usize, problem: CborProblem) -> Fail {
    Box::new(ValueError::cbor(offset, problem))
}

pub(crate) struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    limits: &'a ValueLimits,
    nodes: u64,
    text: u64,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8], limits: &'a ValueLimits) -> Reader<'a> {
        Reader {
            bytes,
            at: 0,
            limits,
            nodes: 0,
            text: 0,
        }
    }

    /// The one value that all the bytes are.
    pub(crate) fn whole(mut self) -> Result<Value, Fail> {
        within(
            Limit::EncodedBytes,
            self.limits.max_bytes,
            self.bytes.len() as u64,
        )?;
        let value = self.value(1)?;
        self.end()?;
        Ok(value)
    }

    pub(crate) fn end(&self) -> Result<(), Fail> {
        if self.at == self.bytes.len() {
            return Ok(());
        }
        Err(bad(self.at, CborProblem::Trailing))
    }

    pub(crate) fn at(&self) -> usize {
        self.at
    }

    fn truncated<T>(&self) -> Result<T, Fail> {
        Err(bad(self.bytes.len(), CborProblem::Truncated))
    }

    #[inline]
    fn take(&mut self, len: u64) -> Result<&'a [u8], Fail> {
        let rest = &self.bytes[self.at..];
        match usize::try_from(len) {
            Ok(len) if len <= rest.len() => {
                self.at += len;
                Ok(&rest[..len])
            }
            _ => self.truncated(),
        }
    }

    fn fixed<const N: usize>(&mut self) -> Result<[u8; N], Fail> {
        let mut bytes = [0; N];
        bytes.copy_from_slice(self.take(N as u64)?);
        Ok(bytes)
    }

    /// The next byte, not consumed.
    #[inline]
    pub(crate) fn peek(&self) -> Result<u8, Fail> {
        match self.bytes.get(self.at) {
            Some(byte) => Ok(*byte),
            None => self.truncated(),
        }
    }

    /// Consumes exactly these bytes, if they come next.
    pub(crate) fn skip(&mut self, expected: &[u8]) -> bool {
        let found = self.bytes[self.at..].starts_with(expected);
        if found {
            self.at += expected.len();
        }
        found
    }

    /// A head of a major type below 7: the type and its number.
    #[inline]
    pub(crate) fn head(&mut self) -> Result<(u8, u64), Fail> {
        let first = self.peek()?;
        self.at += 1;
        let (major, info) = (first >> 5, first & 31);
        if info < 24 {
            return Ok((major, info.into()));
        }
        Ok((major, self.long_head(info)?))
    }

    fn long_head(&mut self, info: u8) -> Result<u64, Fail> {
        let at = self.at - 1;
        let (number, least) = match info {
            24 => (u64::from(u8::from_be_bytes(self.fixed()?)), 24),
            25 => (u64::from(u16::from_be_bytes(self.fixed()?)), 0x100),
            26 => (u64::from(u32::from_be_bytes(self.fixed()?)), 0x1_0000),
            27 => (u64::from_be_bytes(self.fixed()?), 0x1_0000_0000),
            31 => return Err(bad(at, CborProblem::Indefinite)),
            _ => return Err(bad(at, CborProblem::Reserved)),
        };
        if number < least {
            return Err(bad(at, CborProblem::NotShortest));
        }
        Ok(number)
    }

    fn add_text(&mut self, len: usize) -> Result<(), Fail> {
        self.text += len as u64;
        Ok(within(
            Limit::TextBytes,
            self.limits.max_text_bytes,
            self.text,
        )?)
    }

    fn string(&mut self, len: u64) -> Result<&'a str, Fail> {
        let at = self.at;
        let bytes = self.take(len)?;
        self.add_text(bytes.len())?;
        std::str::from_utf8(bytes).map_err(|error| bad(at + error.valid_up_to(), CborProblem::Utf8))
    }

    /// A map key.
    pub(crate) fn key(&mut self) -> Result<&'a str, Fail> {
        let at = self.at;
        match self.head()? {
            (3, len) => self.string(len),
            _ => Err(bad(at, CborProblem::KeyNotText)),
        }
    }

    /// A map key that comes after `last` in canonical order.
    fn next_key(&mut self, last: Option<&str>) -> Result<&'a str, Fail> {
        let at = self.at;
        let key = self.key()?;
        let order = |key: &'a str| (key.len(), key.as_bytes());
        match last.map(|last| (last.len(), last.as_bytes()).cmp(&order(key))) {
            None | Some(std::cmp::Ordering::Less) => Ok(key),
            Some(std::cmp::Ordering::Equal) => Err(bad(at, CborProblem::DuplicateKey)),
            Some(std::cmp::Ordering::Greater) => Err(bad(at, CborProblem::KeyOrder)),
        }
    }

    /// The number of items that a container says it has: never more than the bytes that are left
    /// can hold, so that a bad length fails here.
    // THREAT[TM-VALUE-2]
    pub(crate) fn count(&self, count: u64, each: usize) -> Result<usize, Fail> {
        let most = (self.bytes.len() - self.at) / each;
        match usize::try_from(count) {
            Ok(count) if count <= most => Ok(count),
            _ => self.truncated(),
        }
    }

    /// A link to a block, if that is what comes next.
    // THREAT[TM-VALUE-4]
    pub(crate) fn link(&mut self) -> Result<Option<Digest>, Fail> {
        if self.peek()? != LINK[0] {
            return Ok(None);
        }
        if !self.skip(&LINK) {
            return Err(bad(self.at, CborProblem::Index));
        }
        Ok(Some(Digest::from_bytes(self.fixed()?)))
    }

    /// Entries of a map of `count`, in canonical order, each value read by `value`.
    pub(crate) fn entries<T>(
        &mut self,
        count: u64,
        mut value: impl FnMut(&mut Self) -> Result<T, Fail>,
    ) -> Result<Vec<(Text, T)>, Fail> {
        let count = self.count(count, 2)?;
        let mut entries = Vec::with_capacity(count.min(AHEAD));
        let mut last: Option<&str> = None;
        for _ in 0..count {
            let key = self.next_key(last)?;
            last = Some(key);
            entries.push((Text::from(key), value(self)?));
        }
        if !entries.is_sorted_by(|a, b| a.0 < b.0) {
            entries.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        }
        Ok(entries)
    }

    /// A value `depth` levels down, the outermost at 1.
    ///
    /// It recurses through `list` and `map` alone, which keeps what is on the stack per level small
    /// in builds without optimization too.
    // THREAT[TM-VALUE-3]
    pub(crate) fn value(&mut self, depth: u32) -> Result<Value, Fail> {
        self.nodes += 1;
        if self.nodes > self.limits.max_nodes || depth > self.limits.depth() {
            return Err(self.exceeded(depth));
        }
        match self.peek()? >> 5 {
            4 => self.list(depth),
            5 => self.map(depth),
            7 => self.simple(),
            _ => self.scalar(),
        }
    }

    #[cold]
    fn exceeded(&self, depth: u32) -> Fail {
        let (limit, allowed, actual) = if self.nodes > self.limits.max_nodes {
            (Limit::Nodes, self.limits.max_nodes, self.nodes)
        } else {
            (Limit::Depth, self.limits.depth().into(), depth.into())
        };
        Box::new(ValueError::LimitExceeded {
            limit,
            allowed,
            actual,
        })
    }

    fn list(&mut self, depth: u32) -> Result<Value, Fail> {
        let (_, count) = self.head()?;
        let count = self.count(count, 1)?;
        let mut values = Vec::with_capacity(count.min(AHEAD));
        for _ in 0..count {
            values.push(self.value(depth + 1)?);
        }
        Ok(Value::List(List::from_vec(values)?))
    }

    fn map(&mut self, depth: u32) -> Result<Value, Fail> {
        let (_, count) = self.head()?;
        let entries = self.entries(count, |reader| reader.value(depth + 1))?;
        Ok(Value::Map(Map::from_sorted(entries)?))
    }

    /// An integer, octets or a text.
    fn scalar(&mut self) -> Result<Value, Fail> {
        let at = self.at;
        let (major, number) = self.head()?;
        let int = i64::try_from(number);
        match (major, int) {
            (0, Ok(int)) => Ok(Value::Int(int)),
            (1, Ok(int)) => Ok(Value::Int(!int)),
            (0 | 1, Err(_)) => Err(bad(at, CborProblem::IntOutOfRange)),
            (2, _) => {
                let octets = self.take(number)?;
                self.add_text(octets.len())?;
                Ok(Value::Bytes(Bytes::from(octets)))
            }
            (3, _) => Ok(Value::Text(Text::from(self.string(number)?))),
            _ => Err(bad(at, CborProblem::Tag)),
        }
    }

    /// Major type 7: false, true, null and 64-bit floats.
    fn simple(&mut self) -> Result<Value, Fail> {
        let at = self.at;
        let first = self.peek()?;
        self.at += 1;
        match first {
            0xf4 => Ok(Value::Bool(false)),
            0xf5 => Ok(Value::Bool(true)),
            0xf6 => Ok(Value::Null),
            0xfb => {
                let float = f64::from_be_bytes(self.fixed()?);
                match Float::new(float) {
                    Ok(exact) if exact.get().to_bits() == float.to_bits() => {
                        Ok(Value::Float(exact))
                    }
                    _ => Err(bad(at, CborProblem::BadFloat)),
                }
            }
            0xf9 | 0xfa => Err(bad(at, CborProblem::FloatWidth)),
            0xff => Err(bad(at, CborProblem::Indefinite)),
            0xfc..=0xfe => Err(bad(at, CborProblem::Reserved)),
            _ => Err(bad(at, CborProblem::Simple)),
        }
    }
}
