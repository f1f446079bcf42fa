//! CAR files: written, read, and damaged in every place.

use svit_value::{Value, ValueLimits, car, value};

fn file(value: &Value) -> Vec<u8> {
    let mut file = Vec::new();
    car::write(value.digest(), value.blocks(), &mut file).unwrap();
    file
}

#[test]
fn a_file_reads_back() {
    let long = value!({"a": "x".repeat(500), "b": ["y".repeat(200), "y".repeat(200)], "c": 1});
    for value in [Value::Null, value!([1]), long] {
        let bytes = file(&value);
        let read = car::read(&bytes).unwrap();
        assert_eq!(read.root, value.digest());
        assert_eq!(read.blocks.len(), value.blocks().count());
        assert_eq!(read.value(&ValueLimits::default()).unwrap(), value);
    }
}

#[test]
fn the_header_is_the_one_of_the_specification() {
    let bytes = file(&Value::Null);
    let header = b"\x3a\xa2\x65roots\x81\xd8\x2a\x58\x25\x00\x01\x71\x1e\x20";
    assert_eq!(bytes[..header.len()], header[..]);
    assert_eq!(bytes[header.len() + 32..][..9], *b"\x67version\x01");
    // One section: its length, the CID and the one byte of null.
    assert_eq!(bytes[59], 37);
    assert_eq!(bytes[60..64], [0x01, 0x71, 0x1e, 0x20]);
    assert_eq!(bytes[96..], [0xf6]);
}

#[test]
fn no_damage_goes_unnoticed() {
    let value = value!({"a": "x".repeat(200), "b": 1});
    let bytes = file(&value);
    let limits = ValueLimits::default();
    let read = |bytes: &[u8]| car::read(bytes).and_then(|car| car.value(&limits));
    // The reader itself checks blocks, before anybody puts a value together.
    let mut damaged = bytes.clone();
    *damaged.last_mut().unwrap() ^= 1;
    assert_eq!(car::read(&damaged).unwrap_err().code(), "block_damaged");
    for at in 0..bytes.len() {
        for bit in 0..8 {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1 << bit;
            assert!(read(&damaged).is_err(), "byte {at}, bit {bit}");
        }
        assert!(read(&bytes[..at]).is_err(), "cut at {at}");
    }
}

#[test]
fn hostile_lengths_are_refused() {
    for bytes in [
        &[][..],
        &[0xff; 20],
        &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f],
        &[0x80, 0x00],
        &[0x00],
    ] {
        assert_eq!(car::read(bytes).unwrap_err().code(), "car_invalid");
    }
}
