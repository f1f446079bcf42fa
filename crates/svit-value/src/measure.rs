//! How large a value is, and how large it may be: both known without walking it.

use crate::error::Limit;
use crate::{Value, ValueError};

/// The deepest that values can be nested; a scalar and an empty container have depth 1.
///
/// It is enforced wherever a container gets a child, so that no function of this crate recurses
/// further, dropping included.
// THREAT[TM-VALUE-1]
pub const MAX_DEPTH: u32 = 256;

/// No sum in a measure passes this; enforced with [`MAX_DEPTH`], so that sums never overflow however
/// often one value is shared inside another.
pub(crate) const MAX_SUM: u64 = 1 << 60;

/// The size of a value. Every container caches its own, so it costs O(1).
///
/// ```
/// use svit_value::value;
/// let measure = value!({"name": "ada", "scores": [1, 2]}).measure();
/// assert_eq!(measure.nodes, 5); // the map, the text, the list, two integers
/// assert_eq!(measure.text_bytes, 4 + 3 + 6);
/// assert_eq!(measure.depth, 3);
/// assert_eq!(measure.cbor_len, 1 + (5 + 4) + (7 + 3));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Measure {
    /// The value itself and all values below it.
    pub nodes: u64,
    /// UTF-8 bytes of keys and texts, and octets of bytes.
    pub text_bytes: u64,
    /// 1 for a scalar and an empty container, else 1 + the deepest child.
    pub depth: u32,
    /// Length of the plain encoding in bytes.
    pub cbor_len: u64,
}

/// Upper bounds for a value from outside, checked in O(1) from its cached measure.
///
/// ```
/// use svit_value::{value, ValueLimits};
/// let limits = ValueLimits { max_nodes: 3, ..ValueLimits::default() };
/// assert!(limits.check(&value!([1, 2])).is_ok());
/// assert_eq!(limits.check(&value!([1, 2, 3])).unwrap_err().code(), "too_many_nodes");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ValueLimits {
    /// Levels of nesting; above [`MAX_DEPTH`] it means that. Default: that.
    pub max_depth: u32,
    /// Values, containers and all below them counted. Default 10,000,000.
    pub max_nodes: u64,
    /// Bytes of keys, texts and octets. Default 64 MiB.
    pub max_text_bytes: u64,
    /// Bytes of the plain encoding. Default 64 MiB.
    pub max_bytes: u64,
}

impl Default for ValueLimits {
    fn default() -> ValueLimits {
        ValueLimits {
            max_depth: MAX_DEPTH,
            max_nodes: 10_000_000,
            max_text_bytes: 64 << 20,
            max_bytes: 64 << 20,
        }
    }
}

impl ValueLimits {
    /// Whether a value is within these limits. O(1).
    ///
    /// # Errors
    /// [`ValueError::LimitExceeded`] with the limit, what it allows and the size that broke it.
    pub fn check(&self, value: &Value) -> Result<(), ValueError> {
        let measure = value.measure();
        within(Limit::Depth, self.depth().into(), measure.depth.into())?;
        within(Limit::Nodes, self.max_nodes, measure.nodes)?;
        within(Limit::TextBytes, self.max_text_bytes, measure.text_bytes)?;
        within(Limit::EncodedBytes, self.max_bytes, measure.cbor_len)
    }

    pub(crate) fn depth(&self) -> u32 {
        self.max_depth.min(MAX_DEPTH)
    }
}

pub(crate) fn within(limit: Limit, allowed: u64, actual: u64) -> Result<(), ValueError> {
    if actual <= allowed {
        return Ok(());
    }
    Err(ValueError::LimitExceeded {
        limit,
        allowed,
        actual,
    })
}

/// What a tree node caches about the entries below it: sums without the container's own head.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sums {
    pub(crate) count: u64,
    pub(crate) nodes: u64,
    pub(crate) text: u64,
    pub(crate) cbor: u64,
    pub(crate) depth: u32,
}

impl Sums {
    #[inline]
    pub(crate) fn of(value: &Value) -> Sums {
        let measure = value.measure();
        Sums {
            count: 1,
            nodes: measure.nodes,
            text: measure.text_bytes,
            cbor: measure.cbor_len,
            depth: measure.depth,
        }
    }

    #[inline]
    pub(crate) fn add(&mut self, other: &Sums) {
        self.count += other.count;
        self.nodes = self.nodes.saturating_add(other.nodes);
        self.text = self.text.saturating_add(other.text);
        self.cbor = self.cbor.saturating_add(other.cbor);
        self.depth = self.depth.max(other.depth);
    }

    /// Takes sums away. The depth stays: it cannot be subtracted.
    #[inline]
    pub(crate) fn subtract(&mut self, other: &Sums) {
        self.count -= other.count;
        self.nodes -= other.nodes;
        self.text -= other.text;
        self.cbor -= other.cbor;
    }

    /// The sums of a container that would get `child`.
    #[inline]
    pub(crate) fn admit(&self, child: &Sums) -> Result<(), ValueError> {
        let mut sums = *self;
        sums.add(child);
        sums.check()
    }

    /// Whether a container with these sums may exist.
    #[inline]
    pub(crate) fn check(&self) -> Result<(), ValueError> {
        if self.depth < MAX_DEPTH && self.nodes.max(self.text).max(self.cbor) < MAX_SUM {
            return Ok(());
        }
        within(Limit::Depth, MAX_DEPTH.into(), u64::from(self.depth) + 1)?;
        within(Limit::Nodes, MAX_SUM, self.nodes)?;
        within(Limit::TextBytes, MAX_SUM, self.text)?;
        within(Limit::EncodedBytes, MAX_SUM, self.cbor)
    }

    pub(crate) fn measure(&self) -> Measure {
        Measure {
            nodes: self.nodes + 1,
            text_bytes: self.text,
            depth: self.depth + 1,
            cbor_len: self.cbor + crate::cbor::head_len(self.count),
        }
    }
}
