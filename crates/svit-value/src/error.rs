//! One error type for the crate: what was wrong, where, and the size that broke a limit.

use crate::Digest;

/// What went wrong with a value.
///
/// Every variant carries the place (a byte offset, an index, a digest) or the numbers that a
/// program needs to react; the text is made once, by `Display`. [`ValueError::code`] is stable.
///
/// ```
/// use svit_value::{Value, ValueLimits};
/// let error = Value::decode(&[0x18, 0x01], &ValueLimits::default()).unwrap_err();
/// assert_eq!(error.code(), "cbor_not_shortest");
/// assert_eq!(error.to_string(), "not canonical DAG-CBOR at byte 0: a longer head than needed");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ValueError {
    /// A float was NaN or infinite.
    #[error("a float must be finite, not {found}")]
    NotFinite {
        /// `NaN`, `inf` or `-inf`.
        found: &'static str,
    },
    /// An integer does not fit a signed 64-bit integer.
    #[error("the integer {number} does not fit 64 signed bits")]
    IntOutOfRange {
        /// The number as it was written, cut at 80 characters.
        number: String,
    },
    /// A limit would be passed.
    #[error("{limit} is limited to {allowed}, and this is {actual}")]
    LimitExceeded {
        /// Which limit.
        limit: Limit,
        /// The largest size allowed.
        allowed: u64,
        /// The size that was met; when reading stops early, a lower bound of it.
        actual: u64,
    },
    /// A list has no such index.
    #[error("index {index} is outside a list of {len}")]
    IndexOutOfRange {
        /// The index asked for.
        index: usize,
        /// The length of the list.
        len: usize,
    },
    /// The bytes are not the canonical encoding of any value.
    #[error("not canonical DAG-CBOR at byte {offset}: {problem}")]
    Cbor {
        /// Byte offset of the item that is wrong.
        offset: usize,
        /// What is wrong with it.
        problem: CborProblem,
    },
    /// The text is not JSON that stands for a value.
    #[error("bad JSON at byte {offset}: {problem}")]
    Json {
        /// Byte offset in the text.
        offset: usize,
        /// What is wrong there.
        problem: JsonProblem,
    },
    /// A map whose only key is `/` has no JSON form: that form means bytes (DAG-JSON).
    #[error("a map whose only key is \"/\" cannot be written as JSON")]
    ReservedKey,
    /// The text is not 64 lower-case hexadecimal digits.
    #[error("a digest is 64 lower-case hexadecimal digits")]
    BadDigest,
    /// The source of blocks has no block with this digest.
    #[error("block {digest} is missing")]
    BlockMissing {
        /// The digest asked for.
        digest: Digest,
    },
    /// A block's bytes do not have the digest that they were asked for by.
    #[error("block {digest} is damaged: its bytes have the digest {actual}")]
    BlockDamaged {
        /// The digest asked for.
        digest: Digest,
        /// The digest of the bytes that came.
        actual: Digest,
    },
    /// A block has the right digest, but is not a block that this crate writes.
    #[error("block {digest} is not canonical at byte {offset}: {problem}")]
    BlockInvalid {
        /// The digest of the block.
        digest: Digest,
        /// Byte offset inside the block.
        offset: usize,
        /// What is wrong there.
        problem: CborProblem,
    },
    /// Blocks are well formed one by one, but not laid out as the value they hold is.
    #[error("the blocks below {digest} are not laid out canonically")]
    BlockLayout {
        /// The digest of the topmost block of the value that is laid out wrongly.
        digest: Digest,
    },
    /// The bytes are not a CAR file (version 1) of this crate's blocks.
    #[error("not a CAR file at byte {offset}: {problem}")]
    Car {
        /// Byte offset in the file.
        offset: usize,
        /// What is wrong there.
        problem: &'static str,
    },
    /// A Rust type could not be turned into a value, or a value into a Rust type.
    #[error("{message}")]
    Serde {
        /// What serde, or the type, reported.
        message: String,
    },
}

/// What a [`ValueError::LimitExceeded`] is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Limit {
    /// Levels of nesting.
    Depth,
    /// Values, a container and all below it counted.
    Nodes,
    /// Bytes of keys, texts and octets.
    TextBytes,
    /// Bytes of the plain encoding.
    EncodedBytes,
}

impl std::fmt::Display for Limit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Limit::Depth => "the depth of a value",
            Limit::Nodes => "the number of values inside a value",
            Limit::TextBytes => "the text in a value (bytes)",
            Limit::EncodedBytes => "the encoding of a value (bytes)",
        })
    }
}

/// Why bytes are not canonical DAG-CBOR.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum CborProblem {
    /// The bytes end inside an item.
    #[error("the bytes end inside an item")]
    Truncated,
    /// Bytes follow the value.
    #[error("bytes follow the value")]
    Trailing,
    /// A map key is not after the one before it (by length, then bytewise).
    #[error("a key out of order")]
    KeyOrder,
    /// A map key comes twice.
    #[error("a duplicate key")]
    DuplicateKey,
    /// A map key is not a text.
    #[error("a key that is not a text")]
    KeyNotText,
    /// A head is longer than its number needs.
    #[error("a longer head than needed")]
    NotShortest,
    /// An indefinite length, or a break without one.
    #[error("an indefinite length")]
    Indefinite,
    /// A 16- or 32-bit float.
    #[error("a float that is not 64 bits wide")]
    FloatWidth,
    /// NaN, infinity or negative zero.
    #[error("a float that is NaN, infinite or negative zero")]
    BadFloat,
    /// A text that is not UTF-8.
    #[error("a text that is not UTF-8")]
    Utf8,
    /// An integer outside `i64`.
    #[error("an integer outside 64 signed bits")]
    IntOutOfRange,
    /// A tag, where a plain value has none.
    #[error("a tag")]
    Tag,
    /// `undefined` or another simple value.
    #[error("a simple value other than false, true and null")]
    Simple,
    /// A head with a reserved additional-information number.
    #[error("a reserved head")]
    Reserved,
    /// A tag that is no link of this crate, or an index block of another form.
    #[error("a malformed link or index block")]
    Index,
}

/// Why a text is not JSON that stands for a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum JsonProblem {
    /// The text ends inside a value.
    #[error("the text ends inside a value")]
    Truncated,
    /// Something else was expected here.
    #[error("an unexpected character")]
    Unexpected,
    /// Text follows the value.
    #[error("text after the value")]
    Trailing,
    /// Not a JSON number.
    #[error("a malformed number")]
    Number,
    /// A number without a fraction or exponent that does not fit 64 signed bits.
    #[error("an integer outside 64 signed bits")]
    IntOutOfRange,
    /// A number that is too large for a finite 64-bit float.
    #[error("a number too large for a 64-bit float")]
    FloatOutOfRange,
    /// A bad escape, half of a surrogate pair, or a raw control character in a text.
    #[error("a bad escape or control character in a text")]
    Escape,
    /// A key comes twice in an object.
    #[error("a duplicate key")]
    DuplicateKey,
    /// An object whose only key is `/` and that is not `{"/": {"bytes": base64 without padding}}`.
    #[error("an object whose only key is \"/\" must hold bytes")]
    ReservedKey,
}

impl ValueError {
    /// A stable name for programs, in snake case.
    ///
    /// ```
    /// # use svit_value::Value;
    /// assert_eq!(Value::float(f64::NAN).unwrap_err().code(), "not_finite");
    /// ```
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            ValueError::NotFinite { .. } => "not_finite",
            ValueError::IntOutOfRange { .. } => "int_out_of_range",
            ValueError::LimitExceeded { limit, .. } => match limit {
                Limit::Depth => "too_deep",
                Limit::Nodes => "too_many_nodes",
                Limit::TextBytes => "too_much_text",
                Limit::EncodedBytes => "too_long",
            },
            ValueError::IndexOutOfRange { .. } => "index_out_of_range",
            ValueError::Cbor { problem, .. } => problem.code(),
            ValueError::Json { problem, .. } => problem.code(),
            ValueError::ReservedKey => "reserved_key",
            ValueError::BadDigest => "bad_digest",
            ValueError::BlockMissing { .. } => "block_missing",
            ValueError::BlockDamaged { .. } => "block_damaged",
            ValueError::BlockInvalid { .. } => "block_invalid",
            ValueError::BlockLayout { .. } => "block_layout",
            ValueError::Car { .. } => "car_invalid",
            ValueError::Serde { .. } => "serde",
        }
    }

    pub(crate) fn cbor(offset: usize, problem: CborProblem) -> Self {
        ValueError::Cbor { offset, problem }
    }

    pub(crate) fn json(offset: usize, problem: JsonProblem) -> Self {
        ValueError::Json { offset, problem }
    }
}

impl CborProblem {
    fn code(self) -> &'static str {
        match self {
            CborProblem::Truncated => "cbor_truncated",
            CborProblem::Trailing => "cbor_trailing",
            CborProblem::KeyOrder => "cbor_key_order",
            CborProblem::DuplicateKey => "cbor_duplicate_key",
            CborProblem::KeyNotText => "cbor_key_not_text",
            CborProblem::NotShortest => "cbor_not_shortest",
            CborProblem::Indefinite => "cbor_indefinite",
            CborProblem::FloatWidth => "cbor_float_width",
            CborProblem::BadFloat => "cbor_bad_float",
            CborProblem::Utf8 => "cbor_utf8",
            CborProblem::IntOutOfRange => "cbor_int_out_of_range",
            CborProblem::Tag => "cbor_tag",
            CborProblem::Simple => "cbor_simple",
            CborProblem::Reserved => "cbor_reserved",
            CborProblem::Index => "cbor_index",
        }
    }
}

impl JsonProblem {
    fn code(self) -> &'static str {
        match self {
            JsonProblem::Truncated => "json_truncated",
            JsonProblem::Unexpected => "json_unexpected",
            JsonProblem::Trailing => "json_trailing",
            JsonProblem::Number => "json_number",
            JsonProblem::IntOutOfRange => "json_int_out_of_range",
            JsonProblem::FloatOutOfRange => "json_float_out_of_range",
            JsonProblem::Escape => "json_escape",
            JsonProblem::DuplicateKey => "json_duplicate_key",
            JsonProblem::ReservedKey => "json_reserved_key",
        }
    }
}

impl serde::ser::Error for ValueError {
    fn custom<T: std::fmt::Display>(message: T) -> Self {
        ValueError::Serde {
            message: message.to_string(),
        }
    }
}

impl serde::de::Error for ValueError {
    fn custom<T: std::fmt::Display>(message: T) -> Self {
        ValueError::Serde {
            message: message.to_string(),
        }
    }
}
