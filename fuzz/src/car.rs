//! CAR files: what is read is written the same, and holds the value that it says.

use svit_value::{Value, ValueLimits, car};

/// The bytes of a file, or a good file with some bytes changed: most random bytes are no file.
#[derive(Debug, arbitrary::Arbitrary)]
pub struct Input<'a> {
    document: &'a [u8],
    changes: Vec<(u16, u8)>,
}

/// Makes a file from a document where that decodes, changes it, and reads it.
pub fn check(input: Input<'_>) {
    let limits = ValueLimits::default();
    let document = Value::decode(input.document, &limits)
        .unwrap_or_else(|_| Value::Bytes(input.document.into()));
    let mut file = Vec::new();
    assert!(car::write(document.digest(), document.blocks(), &mut file).is_ok());
    let good = file.clone();
    for (at, byte) in input.changes {
        let len = file.len();
        file[usize::from(at) % len] = byte;
    }
    let read = match car::read(&file) {
        Ok(read) => read,
        Err(error) => {
            assert_ne!(file, good, "a good file is refused: {error}");
            return;
        }
    };
    match read.value(&limits) {
        Ok(value) => assert_eq!(value.digest(), read.root),
        Err(error) => assert_ne!(file, good, "a good file holds no value: {error}"),
    }
}
