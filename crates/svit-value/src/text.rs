//! UTF-8 text in 24 bytes: short ones inside, longer ones shared.
//!
//! Keys decide how fast a map is, so a text of up to 22 bytes needs no second memory access and is
//! compared as three words.

use crate::Digest;
use std::borrow::{Borrow, Cow};
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Deref;
use std::sync::{Arc, OnceLock};

const INLINE: usize = 22;
/// The longest text whose encoding is at most 128 bytes; a longer one is a block of its own and
/// caches its digest.
const SHARED: usize = 126;

/// Immutable UTF-8 text, ordered bytewise. 24 bytes; up to 22 bytes of text live inside, longer
/// ones are shared between clones.
///
/// ```
/// use svit_value::Text;
/// let text = Text::from("release_color");
/// assert_eq!(text, "release_color");
/// assert!(text.starts_with("release"));
/// assert!(Text::from("a") < Text::from("a\0"));
/// assert_eq!(std::mem::size_of::<Text>(), 24);
/// ```
#[derive(Clone)]
pub struct Text(Repr);

#[derive(Clone)]
enum Repr {
    /// Length, and the bytes padded with zeros.
    Inline(u8, [u8; INLINE]),
    Shared(Arc<str>),
    Long(Arc<Long>),
}

struct Long {
    text: Box<str>,
    digest: OnceLock<Digest>,
}

impl Text {
    /// The text. O(1) but for a check of at most 22 bytes.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match &self.0 {
            // These bytes came from a `str`; the check is the price of having no `unsafe`.
            Repr::Inline(..) => std::str::from_utf8(self.as_bytes()).unwrap_or_default(),
            Repr::Shared(text) => text,
            Repr::Long(long) => &long.text,
        }
    }

    /// Its UTF-8 bytes.
    #[inline]
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        match &self.0 {
            Repr::Inline(len, bytes) => &bytes[..usize::from(*len).min(INLINE)],
            Repr::Shared(text) => text.as_bytes(),
            Repr::Long(long) => long.text.as_bytes(),
        }
    }

    /// Its length in bytes.
    #[inline]
    #[must_use]
    pub fn len(&self) -> usize {
        match &self.0 {
            Repr::Inline(len, _) => usize::from(*len),
            Repr::Shared(text) => text.len(),
            Repr::Long(long) => long.text.len(),
        }
    }

    /// Whether it is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The padded bytes and the length of a short text, for writing it in one copy.
    #[inline]
    pub(crate) fn inline(&self) -> Option<(&[u8; INLINE], u8)> {
        match &self.0 {
            Repr::Inline(len, bytes) => Some((bytes, *len)),
            _ => None,
        }
    }

    /// Where the digest of a long text is kept.
    #[inline]
    pub(crate) fn digest_cell(&self) -> Option<&OnceLock<Digest>> {
        match &self.0 {
            Repr::Long(long) => Some(&long.digest),
            _ => None,
        }
    }

    #[inline]
    fn short(text: &str) -> Option<Text> {
        let mut bytes = [0; INLINE];
        bytes
            .get_mut(..text.len())?
            .copy_from_slice(text.as_bytes());
        Some(Text(Repr::Inline(text.len() as u8, bytes)))
    }

    fn ptr_eq(&self, other: &Text) -> bool {
        match (&self.0, &other.0) {
            (Repr::Shared(a), Repr::Shared(b)) => Arc::ptr_eq(a, b),
            (Repr::Long(a), Repr::Long(b)) => Arc::ptr_eq(a, b),
            _ => false,
        }
    }
}

/// A key to search by: short ones are compared as words, long ones bytewise, without allocating.
#[derive(Clone)]
pub(crate) enum Probe<'a> {
    Short(Text),
    Long(&'a [u8]),
}

impl<'a> Probe<'a> {
    #[inline]
    pub(crate) fn new(key: &'a str) -> Probe<'a> {
        Text::short(key).map_or(Probe::Long(key.as_bytes()), Probe::Short)
    }

    /// How `key` stands to the key searched for.
    #[inline]
    pub(crate) fn order(&self, key: &Text) -> Ordering {
        match self {
            Probe::Short(text) => key.cmp(text),
            Probe::Long(bytes) => key.as_bytes().cmp(bytes),
        }
    }
}

#[inline]
fn word(bytes: &[u8; INLINE], at: usize) -> u64 {
    let mut word = [0; 8];
    word.copy_from_slice(&bytes[at..at + 8]);
    u64::from_be_bytes(word)
}

impl Ord for Text {
    #[inline]
    fn cmp(&self, other: &Text) -> Ordering {
        if let (Repr::Inline(n, a), Repr::Inline(m, b)) = (&self.0, &other.0) {
            // The padding is zero, so words order as bytes do; equal words leave the length.
            let (x, y) = (word(a, 0), word(b, 0));
            if x != y {
                return x.cmp(&y);
            }
            let (x, y) = (word(a, 8), word(b, 8));
            if x != y {
                return x.cmp(&y);
            }
            return (word(a, 14), n).cmp(&(word(b, 14), m));
        }
        self.as_bytes().cmp(other.as_bytes())
    }
}

impl PartialOrd for Text {
    #[inline]
    fn partial_cmp(&self, other: &Text) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Text {
    #[inline]
    fn eq(&self, other: &Text) -> bool {
        match (&self.0, &other.0) {
            (Repr::Inline(n, a), Repr::Inline(m, b)) => n == m && a == b,
            _ => self.ptr_eq(other) || self.as_bytes() == other.as_bytes(),
        }
    }
}

impl Eq for Text {}

impl Hash for Text {
    /// As `str` hashes, so that a text can be looked up by a `&str`.
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_str().hash(state);
    }
}

impl Default for Text {
    #[inline]
    fn default() -> Text {
        Text(Repr::Inline(0, [0; INLINE]))
    }
}

impl Deref for Text {
    type Target = str;

    fn deref(&self) -> &str {
        self.as_str()
    }
}

impl AsRef<str> for Text {
    fn as_ref(&self) -> &str {
        self.as_str()
    }
}

impl Borrow<str> for Text {
    fn borrow(&self) -> &str {
        self.as_str()
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Text {
        if let Some(text) = Text::short(text) {
            return text;
        }
        if text.len() <= SHARED {
            return Text(Repr::Shared(text.into()));
        }
        Text::long(text.into())
    }
}

impl From<String> for Text {
    fn from(text: String) -> Text {
        if text.len() <= SHARED {
            Text::from(text.as_str())
        } else {
            Text::long(text.into_boxed_str())
        }
    }
}

impl Text {
    fn long(text: Box<str>) -> Text {
        Text(Repr::Long(Arc::new(Long {
            text,
            digest: OnceLock::new(),
        })))
    }
}

impl From<&String> for Text {
    fn from(text: &String) -> Text {
        Text::from(text.as_str())
    }
}

impl From<&Text> for Text {
    fn from(text: &Text) -> Text {
        text.clone()
    }
}

impl From<Cow<'_, str>> for Text {
    fn from(text: Cow<'_, str>) -> Text {
        match text {
            Cow::Borrowed(text) => Text::from(text),
            Cow::Owned(text) => Text::from(text),
        }
    }
}

impl From<char> for Text {
    fn from(letter: char) -> Text {
        Text::from(&*letter.encode_utf8(&mut [0; 4]))
    }
}

impl From<Text> for String {
    fn from(text: Text) -> String {
        text.as_str().to_owned()
    }
}

impl PartialEq<str> for Text {
    fn eq(&self, other: &str) -> bool {
        self.as_bytes() == other.as_bytes()
    }
}

impl PartialEq<&str> for Text {
    fn eq(&self, other: &&str) -> bool {
        self.as_bytes() == other.as_bytes()
    }
}

impl PartialEq<String> for Text {
    fn eq(&self, other: &String) -> bool {
        self.as_bytes() == other.as_bytes()
    }
}

impl PartialEq<Text> for str {
    fn eq(&self, other: &Text) -> bool {
        self.as_bytes() == other.as_bytes()
    }
}

impl PartialEq<Text> for &str {
    fn eq(&self, other: &Text) -> bool {
        self.as_bytes() == other.as_bytes()
    }
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl fmt::Debug for Text {
    /// Quoted and escaped, cut after about 200 characters.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        crate::show::quoted(f, self)
    }
}

impl serde::Serialize for Text {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self)
    }
}

impl<'de> serde::Deserialize<'de> for Text {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Text, D::Error> {
        struct Letters;
        impl serde::de::Visitor<'_> for Letters {
            type Value = Text;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text")
            }
            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Text, E> {
                Ok(Text::from(text))
            }
            fn visit_string<E: serde::de::Error>(self, text: String) -> Result<Text, E> {
                Ok(Text::from(text))
            }
        }
        deserializer.deserialize_string(Letters)
    }
}
