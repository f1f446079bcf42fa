//! Bytes: what decodes is canonical, and says so again; nothing else is let in.

use svit_value::{Value, ValueLimits};

/// Bytes that nobody vouches for.
pub type Input<'a> = &'a [u8];

/// Decodes, and if that went well, encodes again in each form.
pub fn check(bytes: Input<'_>) {
    let limits = ValueLimits::default();
    // The error is formatted, too: its text must not panic.
    let value = match Value::decode(bytes, &limits) {
        Ok(value) => value,
        Err(error) => {
            assert!(!error.to_string().is_empty());
            return;
        }
    };
    assert_eq!(value.encode(), bytes, "what decodes is what is encoded");
    assert_eq!(value.measure().cbor_len, bytes.len() as u64);
    let blocks: std::collections::BTreeMap<_, _> = value.blocks().collect();
    let mut source = |digest| blocks.get(&digest).cloned();
    let again = Value::from_blocks(value.digest(), &mut source, &limits);
    assert_eq!(again.as_ref(), Ok(&value));
    // A map whose only key is "/" has no JSON form, and is refused.
    if let Ok(json) = value.to_json() {
        assert_eq!(Value::from_json(&json).as_ref(), Ok(&value), "{json}");
    }
}
