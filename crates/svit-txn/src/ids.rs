//! Ids of clients and requests: what they may look like, as one table for the check and the schema.

/// The longest id of a client or a request, in bytes.
pub const MAX_ID_BYTES: usize = 128;

/// The bytes that an id may have, as ranges.
const ALLOWED: [(u8, u8); 6] = [
    (b'A', b'Z'),
    (b'a', b'z'),
    (b'0', b'9'),
    (b'.', b'.'),
    (b'_', b'_'),
    (b'-', b'-'),
];

/// Whether a text is an id.
pub(crate) fn is_id(text: &str) -> bool {
    let allowed = |b: u8| ALLOWED.iter().any(|&(low, high)| (low..=high).contains(&b));
    (1..=MAX_ID_BYTES).contains(&text.len()) && text.bytes().all(allowed)
}

/// The same as a regular expression that every dialect reads.
pub(crate) fn id_pattern() -> String {
    let class: String = ALLOWED
        .iter()
        .map(|&(low, high)| match (char::from(low), char::from(high)) {
            (one, same) if one == same => one.to_string(),
            (low, high) => format!("{low}-{high}"),
        })
        .collect();
    format!("^[{class}]{{1,{MAX_ID_BYTES}}}$")
}
