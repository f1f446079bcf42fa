//! Every vector that `make_vectors.py` wrote with libraries that this project does not use.

use serde_json::Value as Json;
use std::collections::BTreeMap;
use svit_value::{Digest, List, Map, Measure, Value, ValueLimits, value};

fn vectors() -> Json {
    serde_json::from_str(include_str!("../vectors/value-vectors.json")).unwrap()
}

fn unhex(hex: &str) -> Vec<u8> {
    (0..hex.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap())
        .collect()
}

fn digest(json: &Json) -> Digest {
    json["digest"].as_str().unwrap().parse().unwrap()
}

fn measure(json: &Json, cbor_len: u64) -> Measure {
    Measure {
        nodes: json["nodes"].as_u64().unwrap(),
        text_bytes: json["text_bytes"].as_u64().unwrap(),
        depth: json["depth"].as_u64().unwrap() as u32,
        cbor_len,
    }
}

/// Everything that must hold for a value and what it is stored as.
fn check(value: &Value, digest: Digest, measure: Measure) {
    assert_eq!(value.digest(), digest);
    assert_eq!(value.measure(), measure);
    let encoded = value.encode();
    assert_eq!(encoded.len() as u64, measure.cbor_len);
    let mut streamed = Vec::new();
    value.encode_to(&mut streamed).unwrap();
    assert_eq!(streamed, encoded);
    let decoded = Value::decode(&encoded, &ValueLimits::default()).unwrap();
    assert_eq!(&decoded, value);
    assert_eq!(decoded.digest(), digest);
    let store: BTreeMap<_, _> = value.blocks().collect();
    for (digest, block) in &store {
        assert_eq!(Digest::of(block), *digest);
    }
    assert_eq!(store[&digest], value.block());
    let limits = ValueLimits::default();
    let again = Value::from_blocks(digest, &mut |digest| store.get(&digest).cloned(), &limits);
    assert_eq!(&again.unwrap(), value);
}

#[test]
fn small_values_have_the_bytes_blocks_digests_and_sizes_of_the_vectors() {
    for vector in vectors()["values"].as_array().unwrap() {
        let json = vector["json"].to_string();
        let value = Value::from_json(&json).unwrap_or_else(|e| panic!("{e}: {json}"));
        let cbor = unhex(vector["cbor"].as_str().unwrap());
        assert_eq!(value.encode(), cbor, "{json}");
        assert_eq!(
            value.block(),
            unhex(vector["block"].as_str().unwrap()),
            "{json}"
        );
        check(&value, digest(vector), measure(vector, cbor.len() as u64));
        assert_eq!(Value::from_json(&value.to_json().unwrap()).unwrap(), value);
        let through_serde: Value = serde_json::from_str(&json).unwrap();
        assert_eq!(through_serde, value);
    }
}

/// The values of one generated vector, made as its description says.
fn generate(vector: &Json) -> Value {
    let n = vector["n"].as_i64().unwrap();
    match vector["kind"].as_str().unwrap() {
        "map" => {
            let entries = (0..n).map(|i| (format!("k{i:06}"), i));
            Map::from_entries(entries).unwrap().into()
        }
        "list" if vector["value"] == "i" => List::from_values(0..n).unwrap().into(),
        "list" => {
            let texts = (0..n as usize).map(|i| "z".repeat(120 + i % 20));
            List::from_values(texts).unwrap().into()
        }
        "notes" => {
            let note = |i: usize| {
                value!({
                    "title": format!("Note {i}"),
                    "body": "lorem ipsum ".repeat(i % 30),
                    "tags": [format!("t{}", i % 7)],
                })
            };
            let entries = (0..n as usize).map(|i| (format!("note/{i}"), note(i)));
            Map::from_entries(entries).unwrap().into()
        }
        "keys" => {
            let keys = vector["keys"].as_array().unwrap().iter().enumerate();
            let entries = keys.map(|(i, key)| (key.as_str().unwrap(), i as i64));
            Map::from_entries(entries).unwrap().into()
        }
        other => panic!("unknown kind {other}"),
    }
}

#[test]
fn generated_values_have_the_digests_and_sizes_of_the_vectors() {
    let vectors = vectors();
    let generated = vectors["generated"].as_array().unwrap();
    assert_eq!(generated.len(), 21);
    for vector in generated {
        let value = generate(vector);
        let cbor_len = vector["cbor_len"].as_u64().unwrap();
        check(&value, digest(vector), measure(vector, cbor_len));
    }
}
