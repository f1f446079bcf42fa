//! The writer: canonical heads, texts and links into a buffer, spilling to a stream if there is one.

use super::LINK;
use crate::{Digest, Text};
use std::io;

/// Bytes gathered before they are handed to the stream.
const SPILL: usize = 64 << 10;

/// The length of a head whose number is `n`.
#[inline]
pub(crate) fn head_len(n: u64) -> u64 {
    match n {
        0..24 => 1,
        24..0x100 => 2,
        0x100..0x1_0000 => 3,
        0x1_0000..0x1_0000_0000 => 5,
        _ => 9,
    }
}

/// Appends canonical CBOR. Small items are copied at a fixed size and cut back, which is faster
/// than a copy of a length that the compiler does not know.
pub(crate) struct Writer<'a> {
    buf: Vec<u8>,
    spill_at: usize,
    stream: Option<&'a mut dyn io::Write>,
    failed: Option<io::Error>,
}

impl<'a> Writer<'a> {
    pub(crate) fn with_capacity(bytes: usize) -> Writer<'a> {
        Writer::on(Vec::with_capacity(bytes))
    }

    fn on(buf: Vec<u8>) -> Writer<'a> {
        Writer {
            buf,
            spill_at: usize::MAX,
            stream: None,
            failed: None,
        }
    }

    pub(crate) fn to_stream(stream: &'a mut dyn io::Write, expected: u64) -> Writer<'a> {
        let capacity = usize::try_from(expected).unwrap_or(SPILL).min(SPILL);
        Writer {
            buf: Vec::with_capacity(capacity + 64),
            spill_at: SPILL,
            stream: Some(stream),
            failed: None,
        }
    }

    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.buf
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.buf
    }

    /// Hands the rest to the stream.
    pub(crate) fn finish(mut self) -> io::Result<()> {
        self.spill();
        self.failed.map_or(Ok(()), Err)
    }

    /// Called between items: spills when enough has gathered.
    #[inline]
    pub(crate) fn breathe(&mut self) {
        if self.buf.len() >= self.spill_at {
            self.spill();
        }
    }

    #[cold]
    fn spill(&mut self) {
        if let Some(stream) = self.stream.as_mut()
            && self.failed.is_none()
            && let Err(error) = stream.write_all(&self.buf)
        {
            self.failed = Some(error);
        }
        self.buf.clear();
    }

    #[inline]
    pub(crate) fn byte(&mut self, byte: u8) {
        self.buf.push(byte);
    }

    #[inline]
    pub(crate) fn slice(&mut self, bytes: &[u8]) {
        self.buf.extend_from_slice(bytes);
    }

    #[inline]
    fn cut<const N: usize>(&mut self, bytes: [u8; N], len: usize) {
        let at = self.buf.len();
        self.buf.extend_from_slice(&bytes);
        self.buf.truncate(at + len);
    }

    #[inline]
    pub(crate) fn head(&mut self, major: u8, n: u64) {
        let major = major << 5;
        if n < 24 {
            self.byte(major | n as u8);
        } else if n < 0x100 {
            self.slice(&[major | 24, n as u8]);
        } else {
            self.long_head(major, n);
        }
    }

    #[inline(never)]
    fn long_head(&mut self, major: u8, n: u64) {
        let [a, b, c, d, e, f, g, h] = n.to_be_bytes();
        if n < 0x1_0000 {
            self.slice(&[major | 25, g, h]);
        } else if n < 0x1_0000_0000 {
            self.slice(&[major | 26, e, f, g, h]);
        } else {
            self.slice(&[major | 27, a, b, c, d, e, f, g, h]);
        }
    }

    #[inline]
    pub(crate) fn int(&mut self, int: i64) {
        if int >= 0 {
            self.head(0, int as u64);
        } else {
            self.head(1, !int as u64);
        }
    }

    #[inline]
    pub(crate) fn float(&mut self, float: f64) {
        let mut bytes = [0xfb; 9];
        bytes[1..].copy_from_slice(&float.to_bits().to_be_bytes());
        self.slice(&bytes);
    }

    #[inline]
    pub(crate) fn text(&mut self, text: &Text) {
        if let Some((padded, len)) = text.inline() {
            let mut bytes = [0; 23];
            bytes[0] = 0x60 | len;
            bytes[1..].copy_from_slice(padded);
            self.cut(bytes, 1 + usize::from(len));
        } else {
            self.head(3, text.len() as u64);
            self.slice(text.as_bytes());
        }
    }

    #[inline]
    pub(crate) fn octets(&mut self, octets: &[u8]) {
        self.head(2, octets.len() as u64);
        self.slice(octets);
    }

    #[inline]
    pub(crate) fn link(&mut self, digest: &Digest) {
        let mut bytes = [0; 41];
        bytes[..9].copy_from_slice(&LINK);
        bytes[9..].copy_from_slice(digest.as_bytes());
        self.slice(&bytes);
    }
}

/// Calls `each` with the entries in DAG-CBOR order (length, then bytewise), given that they come in
/// bytewise order. A stable sort by length is enough, and is skipped where the lengths agree.
pub(crate) fn canonical_order<'e, T: 'e>(
    entries: impl Iterator<Item = &'e T> + Clone,
    len: impl Fn(&T) -> usize,
    mut each: impl FnMut(&'e T),
) {
    if entries.clone().map(&len).is_sorted() {
        entries.for_each(each);
        return;
    }
    let mut order: Vec<&T> = entries.collect();
    order.sort_by_key(|entry| len(entry));
    for entry in order {
        each(entry);
    }
}

/// Buffers for hashing nested blocks: one per level that is being written, used again.
#[derive(Default)]
pub(crate) struct Pool {
    free: Vec<Vec<u8>>,
}

impl Pool {
    #[inline]
    pub(crate) fn digest(&mut self, write: impl FnOnce(&mut Writer<'static>, &mut Pool)) -> Digest {
        let buf = self.free.pop();
        let mut writer = Writer::on(buf.unwrap_or_else(|| Vec::with_capacity(4096)));
        write(&mut writer, self);
        let digest = Digest::of(writer.bytes());
        writer.buf.clear();
        self.free.push(writer.buf);
        digest
    }
}
