//! Immutable octets, shared between the values that hold them.

use crate::Digest;
use std::fmt;
use std::ops::Deref;
use std::sync::{Arc, OnceLock};

/// Immutable octets. A clone shares them; the digest is cached once asked for.
///
/// ```
/// use svit_value::Bytes;
/// let bytes = Bytes::from(vec![1, 2, 3]);
/// assert_eq!(&bytes[..2], [1, 2]);
/// assert_eq!(format!("{bytes:?}"), "bytes[3] 010203");
/// ```
#[derive(Clone, Default)]
pub struct Bytes(Arc<Inner>);

#[derive(Default)]
struct Inner {
    octets: Box<[u8]>,
    digest: OnceLock<Digest>,
}

impl Bytes {
    /// The octets.
    #[must_use]
    pub fn as_slice(&self) -> &[u8] {
        &self.0.octets
    }

    pub(crate) fn digest_cell(&self) -> &OnceLock<Digest> {
        &self.0.digest
    }

    pub(crate) fn ptr_eq(&self, other: &Bytes) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.as_slice()
    }
}

impl AsRef<[u8]> for Bytes {
    fn as_ref(&self) -> &[u8] {
        self.as_slice()
    }
}

impl From<Vec<u8>> for Bytes {
    fn from(octets: Vec<u8>) -> Bytes {
        Bytes(Arc::new(Inner {
            octets: octets.into_boxed_slice(),
            digest: OnceLock::new(),
        }))
    }
}

impl From<&[u8]> for Bytes {
    fn from(octets: &[u8]) -> Bytes {
        Bytes::from(octets.to_vec())
    }
}

impl<const N: usize> From<&[u8; N]> for Bytes {
    fn from(octets: &[u8; N]) -> Bytes {
        Bytes::from(octets.to_vec())
    }
}

impl PartialEq for Bytes {
    fn eq(&self, other: &Bytes) -> bool {
        self.ptr_eq(other) || self.as_slice() == other.as_slice()
    }
}

impl Eq for Bytes {}

impl PartialOrd for Bytes {
    fn partial_cmp(&self, other: &Bytes) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Bytes {
    fn cmp(&self, other: &Bytes) -> std::cmp::Ordering {
        self.as_slice().cmp(other.as_slice())
    }
}

impl std::hash::Hash for Bytes {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.as_slice().hash(state);
    }
}

impl fmt::Debug for Bytes {
    /// The length and at most the first 32 octets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "bytes[{}] ", self.len())?;
        for octet in self.iter().take(32) {
            write!(f, "{octet:02x}")?;
        }
        if self.len() > 32 {
            f.write_str("…")?;
        }
        Ok(())
    }
}
