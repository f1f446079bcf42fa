//! Who is believed, and what is not.

use proptest::prelude::*;
use svit_value::value;

use super::*;

fn key(seed: u8) -> SigningKey {
    SigningKey::from_bytes(&[seed; 32])
}

fn snapshot() -> Snapshot {
    let process = Process::builder("svit://local/signed").unwrap();
    process.memory("count", 6).build().unwrap().snapshot()
}

/// The vectors of RFC 8032, 7.1: a seed and its public key.
#[test]
fn keys_are_those_of_the_standard() {
    for (seed, public) in [
        (
            "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
            "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
        ),
        (
            "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
            "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
        ),
    ] {
        let octets = (0..32).map(|at| u8::from_str_radix(&seed[at * 2..at * 2 + 2], 16).unwrap());
        let seed: Vec<u8> = octets.collect();
        let key = SigningKey::from_bytes(&seed.try_into().unwrap());
        assert_eq!(key.verifying_key().to_string(), public);
        assert_eq!(public.parse(), Ok(key.verifying_key()));
        assert!(!format!("{key:?}").contains("9d61b1"));
    }
}

#[test]
fn texts_and_bytes_that_are_no_key_are_refused() {
    let good = key(1).verifying_key().to_string();
    for text in [
        String::new(),
        good[1..].to_owned(),
        format!("{good}0"),
        good.to_uppercase(),
        format!(" {}", &good[1..]),
        good.replace(|c: char| c.is_ascii_digit(), "é"),
        "g".repeat(64),
    ] {
        let refused = text.parse::<VerifyingKey>();
        assert_eq!(refused, Err(SignatureError::BadKey), "{text}");
    }
    // The neutral point, for which a signature of anything can be made; and no point.
    let mut weak = [0; 32];
    weak[0] = 1;
    assert_eq!(VerifyingKey::from_bytes(&weak), Err(SignatureError::BadKey));
    assert_eq!(
        VerifyingKey::from_bytes(&[2; 32]),
        Err(SignatureError::BadKey)
    );
}

// THREAT[TM-TXN-8]
#[test]
fn only_the_file_that_somebody_trusted_signed_is_restored() {
    let (file, alice, bob) = (snapshot(), key(1), key(2));
    let (by_alice, by_bob) = (file.sign(&alice), file.sign(&bob));
    let trusted = [alice.verifying_key()];
    let restored = Process::restore_signed(file.as_bytes(), &by_alice, &trusted).unwrap();
    assert_eq!(restored.read("/memory/count").unwrap(), Some(6.into()));
    // The same each time: nothing about it is random.
    assert_eq!(file.sign(&alice), by_alice);

    let code = |bytes: &[u8], signature: &SnapshotSignature, trusted: &[VerifyingKey]| {
        let error = Process::restore_signed(bytes, signature, trusted).unwrap_err();
        error.code().to_owned()
    };
    assert_eq!(code(file.as_bytes(), &by_bob, &trusted), "untrusted_signer");
    assert_eq!(code(file.as_bytes(), &by_alice, &[]), "untrusted_signer");
    let other = Process::builder("svit://local/other")
        .unwrap()
        .build()
        .unwrap()
        .snapshot();
    assert_eq!(code(other.as_bytes(), &by_alice, &trusted), "other_file");
    // Bob says that he is Alice.
    let forged = SnapshotSignature {
        signer: alice.verifying_key(),
        ..by_bob
    };
    assert_eq!(code(file.as_bytes(), &forged, &trusted), "forged");
    // Alice's signature of another file, said to be of this one.
    let moved = SnapshotSignature {
        snapshot: Digest::of(file.as_bytes()),
        ..other.sign(&alice)
    };
    assert_eq!(code(file.as_bytes(), &moved, &trusted), "forged");
    // What is signed is no snapshot: that is said as ever.
    let junk = Snapshot::unchecked(b"no snapshot".to_vec());
    let signed = junk.sign(&alice);
    let error = Process::restore_signed(junk.as_bytes(), &signed, &trusted).unwrap_err();
    assert!(!matches!(error, Error::Signature(_)), "{error}");
}

#[test]
fn each_flipped_bit_of_a_signature_or_a_file_is_noticed() {
    let (file, alice) = (snapshot(), key(1));
    let trusted = [alice.verifying_key()];
    let stored = file.sign(&alice).to_bytes();
    assert_eq!(stored.len(), 185);
    for bit in 0..stored.len() * 8 {
        let mut flipped = stored.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        let Ok(signature) = SnapshotSignature::from_bytes(&flipped) else {
            continue;
        };
        assert!(
            signature.verify(file.as_bytes(), &trusted).is_err(),
            "bit {bit}"
        );
    }
    let signature = SnapshotSignature::from_bytes(&stored).unwrap();
    assert_eq!(signature.signer(), &alice.verifying_key());
    for at in (0..file.as_bytes().len()).step_by(7) {
        let mut flipped = file.as_bytes().to_vec();
        flipped[at] ^= 1;
        let error = signature.verify(&flipped, &trusted).unwrap_err();
        assert_eq!(error.code(), "other_file", "byte {at}");
    }
}

#[test]
fn the_stored_form_is_one_and_no_other() {
    let stored = snapshot().sign(&key(1)).to_bytes();
    let read = Value::decode(&stored, &svit_value::ValueLimits::default()).unwrap();
    let fields = read.as_map().unwrap();
    let with = |name: &str, value: Value| {
        let mut fields = fields.clone();
        fields.insert(name, value).unwrap();
        Value::Map(fields).encode()
    };
    let octets = |count: usize| Value::from(Bytes::from(vec![2; count]));
    for (bytes, code) in [
        (Vec::new(), "bad_signature"),
        (stored[1..].to_vec(), "bad_signature"),
        ([&stored[..], b"\0"].concat(), "bad_signature"),
        (with("format", "svit-signature@2".into()), "bad_signature"),
        (with("more", 1.into()), "bad_signature"),
        (with("signer", octets(31)), "bad_signature"),
        (with("signature", octets(65)), "bad_signature"),
        (with("snapshot", "text".into()), "bad_signature"),
        (value!([1]).encode(), "bad_signature"),
        (with("signer", octets(32)), "bad_signature"),
    ] {
        let error = SnapshotSignature::from_bytes(&bytes).unwrap_err();
        assert_eq!(error.code(), code, "{error}");
    }
    let mut weak = vec![0; 32];
    weak[0] = 1;
    let weak = with("signer", Bytes::from(weak).into());
    let error = SnapshotSignature::from_bytes(&weak).unwrap_err();
    assert_eq!(error.code(), "bad_signature");
}

proptest! {
    #[test]
    fn any_bytes_are_a_signature_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        prop_assert!(SnapshotSignature::from_bytes(&bytes).is_err());
    }

    #[test]
    fn what_any_key_signs_it_vouches_for(seed in any::<[u8; 32]>(), content in prop::collection::vec(any::<u8>(), 0..64)) {
        let key = SigningKey::from_bytes(&seed);
        let file = Snapshot::unchecked(content);
        let signature = SnapshotSignature::from_bytes(&file.sign(&key).to_bytes()).unwrap();
        prop_assert_eq!(signature.verify(file.as_bytes(), &[key.verifying_key()]), Ok(()));
    }
}
