//! The writer: canonical heads, texts and links into a buffer, spilling to a stream if there is one.

use super::LINK;
use crate::flat::FLAT_MAX;
use crate::map::Entry;
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
pub(crate) fn canonical_order<'e>(
    entries: impl Iterator<Item = &'e Entry> + Clone,
    mut each: impl FnMut(&'e Entry),
) {
    if entries.clone().map(|entry| entry.0.len()).is_sorted() {
        entries.for_each(each);
        return;
    }
    let mut order: Vec<&Entry> = entries.collect();
    order.sort_by_key(|entry| entry.0.len());
    order.into_iter().for_each(&mut each);
}

/// The same for the entries of a short map, without allocating.
pub(crate) fn canonical_order_short<'e>(entries: &'e [Entry], mut each: impl FnMut(&'e Entry)) {
    let mut lens = [0usize; FLAT_MAX];
    for (len, entry) in lens.iter_mut().zip(entries) {
        *len = entry.0.len();
    }
    let lens = &lens[..entries.len().min(FLAT_MAX)];
    if lens.is_sorted() {
        entries.iter().for_each(each);
        return;
    }
    // Insertion, which is stable, and fast for so few.
    let mut order = [0u8; FLAT_MAX];
    for (i, len) in lens.iter().enumerate() {
        let mut at = i;
        while at > 0 && lens[usize::from(order[at - 1])] > *len {
            order[at] = order[at - 1];
            at -= 1;
        }
        order[at] = i as u8;
    }
    for i in &order[..lens.len()] {
        each(&entries[usize::from(*i)]);
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
