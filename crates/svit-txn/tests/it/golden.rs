//! The stored forms to the byte, as `tests/data/stored-forms.txt` has them, and every other form.
//!
//! A change here is a change of a released format: it needs a new name and a reader for the old one.

use std::fmt::Write;

use svit_tree::{Mutation, Op, Path, Source};
use svit_txn::{Base, BaseKind, Limits, PortCall, PortOutcome, ProcessTransaction, SharedThread};
use svit_value::{Digest, List, Map, Value, ValueLimits, value};

const PINNED: &str = include_str!("../data/stored-forms.txt");

fn bases() -> Vec<(&'static str, Base)> {
    let root = Digest::of(b"root");
    let base = |version, kind| Base {
        address: "svit://local/persisted/demo".parse().unwrap(),
        version,
        root,
        kind,
    };
    let forked = |events| BaseKind::Forked {
        parent: "svit://local/parent".parse().unwrap(),
        record: Digest::of(b"record"),
        events,
    };
    let checkpoint = |thread| BaseKind::Checkpoint {
        record: Digest::of(b"record"),
        thread,
    };
    let shared = SharedThread {
        parent: "svit://local/parent".parse().unwrap(),
        events: 300,
    };
    vec![
        ("base created", base(0, BaseKind::Created)),
        ("base created later", base(1 << 40, BaseKind::Created)),
        ("base forked", base(12, forked(0))),
        ("base forked with events", base(12, forked(300))),
        ("base checkpoint", base(1_000, checkpoint(None))),
        (
            "base checkpoint of a fork",
            base(13, checkpoint(Some(shared))),
        ),
    ]
}

fn records() -> Vec<(&'static str, ProcessTransaction)> {
    let path = |text: &str| Path::parse(text).unwrap();
    let record = |source, mutations| ProcessTransaction {
        address: "svit://local/persisted/demo".parse().unwrap(),
        version: 4,
        previous: Digest::of(b"previous"),
        source,
        committed_at: 1_764_000_000_123,
        mutations,
        root: Digest::of(b"root"),
        ports: Vec::new(),
    };
    let call = |name: &str, outcome| PortCall {
        name: name.into(),
        input: Digest::of(b"input"),
        outcome,
    };
    let all = vec![
        Mutation::set(
            path("/memory/a~1b"),
            value!({"x": [1, 2.5, null, true], "": "\u{1F980}"}),
        ),
        Mutation::remove(path("/memory/gone")),
        Mutation {
            path: path("/memory/list"),
            op: Op::Append(List::from_values([1, 2]).unwrap()),
        },
        Mutation {
            path: path("/memory/long"),
            op: Op::Truncate(300),
        },
    ];
    vec![
        ("record empty", record(Source::Activation, Vec::new())),
        ("record of every edit", record(Source::Host, all)),
        (
            "record inbox",
            record(
                Source::Inbox,
                vec![Mutation::set(path("/inbox/0000000000000004"), "hi")],
            ),
        ),
        ("record thread", record(Source::Thread, Vec::new())),
        ("record fork", record(Source::Fork, Vec::new())),
        (
            "record of port calls",
            ProcessTransaction {
                ports: vec![
                    call("http", PortOutcome::Ok(Digest::of(b"answer"))),
                    call("llm", PortOutcome::Error(Digest::of(b"error"))),
                ],
                ..record(Source::Activation, Vec::new())
            },
        ),
    ]
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").unwrap();
        text
    })
}

#[test]
fn the_stored_forms_are_as_they_were_released() {
    let mut made = String::new();
    let mut add = |name: &str, bytes: &[u8]| {
        writeln!(
            made,
            "{name}\n  digest {}\n  bytes {}",
            Digest::of(bytes),
            hex(bytes)
        )
        .unwrap();
    };
    for (name, base) in bases() {
        assert_eq!(base.digest(), Digest::of(&base.to_bytes()));
        add(name, &base.to_bytes());
    }
    for (name, record) in records() {
        let stored = record.to_stored(&Limits::default()).unwrap();
        assert_eq!(stored.digest, Digest::of(&stored.body));
        add(name, &stored.body);
    }
    assert_eq!(made, PINNED, "a released format has changed");
}

#[test]
fn stored_forms_read_back_as_what_was_stored() {
    for (name, base) in bases() {
        assert_eq!(Base::from_bytes(&base.to_bytes()).unwrap(), base, "{name}");
    }
    for (name, record) in records() {
        let stored = record.to_stored(&Limits::default()).unwrap();
        assert_eq!(
            ProcessTransaction::from_bytes(&stored.body).unwrap(),
            record,
            "{name}"
        );
        assert_eq!(
            (stored.version, stored.previous, stored.root),
            (record.version, record.previous, record.root)
        );
        let paths: Vec<&Path> = record.mutations.iter().map(|edit| &edit.path).collect();
        assert!(stored.paths.iter().eq(paths), "{name}");
    }
}

#[test]
fn every_flipped_bit_is_refused_or_is_another_record_with_its_own_bytes() {
    for (name, base) in bases() {
        flips(name, &base.to_bytes(), |bytes| {
            Base::from_bytes(bytes).ok().map(|base| base.to_bytes())
        });
    }
    for (name, record) in records() {
        let body = record.to_stored(&Limits::default()).unwrap().body;
        flips(name, &body, |bytes| {
            let record = ProcessTransaction::from_bytes(bytes).ok()?;
            Some(record.to_stored(&Limits::default()).unwrap().body)
        });
    }
}

fn flips(name: &str, bytes: &[u8], reread: impl Fn(&[u8]) -> Option<Vec<u8>>) {
    for index in 0..bytes.len() {
        for bit in 0..8 {
            let mut flipped = bytes.to_vec();
            flipped[index] ^= 1 << bit;
            if let Some(written) = reread(&flipped) {
                assert_eq!(written, flipped, "{name}: byte {index} bit {bit}");
            }
        }
    }
    for len in 0..bytes.len() {
        assert_eq!(reread(&bytes[..len]), None, "{name}: cut to {len}");
    }
    let mut longer = bytes.to_vec();
    longer.push(0);
    assert_eq!(reread(&longer), None, "{name}: one octet more");
}

/// The fields of a stored form, one of them changed or taken away.
fn with(bytes: &[u8], field: &str, value: Option<Value>) -> Vec<u8> {
    let decoded = Value::decode(bytes, &ValueLimits::default()).unwrap();
    let mut map: Map = decoded.as_map().unwrap().clone();
    match value {
        Some(value) => drop(map.insert(field, value).unwrap()),
        None => drop(map.remove(field).unwrap()),
    }
    Value::Map(map).encode()
}

#[test]
fn every_other_record_is_refused() {
    let (_, record) = records().swap_remove(1);
    let body = record.to_stored(&Limits::default()).unwrap().body;
    let fields = [
        "format",
        "address",
        "version",
        "previous",
        "source",
        "committed_at",
        "mutations",
        "root",
    ];
    for field in fields {
        for other in [
            None,
            Some(value!(null)),
            Some(value!(-1)),
            Some(value!("")),
            Some(value!(1.5)),
            Some(value!({})),
        ] {
            let changed = with(&body, field, other.clone());
            assert!(
                ProcessTransaction::from_bytes(&changed).is_err(),
                "{field} {other:?}"
            );
        }
    }
    let octets = |len: usize| value!(svit_value::Bytes::from(&vec![1_u8; len][..]));
    let (short, digest) = (octets(31), octets(32));
    let call = value!({"name": "x", "input": (digest.clone()), "outcome": "ok", "digest": (digest.clone())});
    let altered = |field: &str, other: Option<Value>| {
        let mut map: Map = call.as_map().unwrap().clone();
        match other {
            Some(value) => drop(map.insert(field, value).unwrap()),
            None => drop(map.remove(field).unwrap()),
        }
        value!([(call.clone()), (Value::Map(map))])
    };
    let rows = [
        ("ports", value!([]), "bad_field"),
        ("ports", value!(null), "bad_field"),
        ("ports", call.clone(), "bad_field"),
        ("ports", value!([(call.clone()), 1]), "bad_field"),
        ("ports", altered("name", Some(value!(""))), "bad_field"),
        ("ports", altered("name", Some(value!(1))), "bad_field"),
        ("ports", altered("name", None), "bad_field"),
        ("ports", altered("input", Some(short.clone())), "bad_field"),
        ("ports", altered("input", None), "bad_field"),
        (
            "ports",
            altered("outcome", Some(value!("unknown"))),
            "bad_field",
        ),
        ("ports", altered("outcome", None), "bad_field"),
        ("ports", altered("digest", Some(short.clone())), "bad_field"),
        ("ports", altered("digest", None), "bad_field"),
        ("ports", altered("more", Some(value!(1))), "bad_field"),
        ("format", value!("svit-transaction@2"), "unknown_format"),
        ("format", value!("svit-base@1"), "unknown_format"),
        ("source", value!("nobody"), "bad_field"),
        ("source", value!("Host"), "bad_field"),
        ("address", value!("svit://Local/x"), "bad_edit"),
        ("previous", short.clone(), "bad_field"),
        ("root", short, "bad_field"),
        ("extra", value!(1), "bad_field"),
        ("mutations", value!([1]), "bad_edit"),
        (
            "mutations",
            value!([{"op": "move", "path": "/memory/x"}]),
            "bad_edit",
        ),
        (
            "mutations",
            value!([{"op": "set", "path": "/memory/x", "value": 1, "if": 2}]),
            "bad_edit",
        ),
        (
            "mutations",
            value!([{"op": "remove", "path": "memory/x"}]),
            "bad_edit",
        ),
    ];
    for (field, other, code) in rows {
        let refused =
            ProcessTransaction::from_bytes(&with(&body, field, Some(other.clone()))).unwrap_err();
        assert_eq!(refused.code(), code, "{field} {other}: {refused}");
    }
    for bytes in [&b""[..], b"\xf6", b"\xa0", b"{}", &[0xff; 64]] {
        assert!(ProcessTransaction::from_bytes(bytes).is_err());
        assert!(Base::from_bytes(bytes).is_err());
    }
}

#[test]
fn every_other_base_is_refused() {
    let mut all = bases();
    let of_fork = all.swap_remove(5).1.to_bytes();
    let checkpoint = all.swap_remove(4).1.to_bytes();
    let forked = all.swap_remove(2).1.to_bytes();
    let created = all.swap_remove(0).1.to_bytes();
    for field in [
        "format", "address", "version", "root", "kind", "parent", "record", "events",
    ] {
        for other in [
            None,
            Some(value!(null)),
            Some(value!(-1)),
            Some(value!("x")),
        ] {
            for bytes in [&forked, &of_fork] {
                let changed = with(bytes, field, other.clone());
                let read = Base::from_bytes(&changed);
                assert!(read.is_err(), "{field} {other:?}");
            }
        }
    }
    for field in ["parent", "events"] {
        // One of the two alone.
        assert!(
            Base::from_bytes(&with(&of_fork, field, None)).is_err(),
            "{field}"
        );
    }
    for (bytes, field, other) in [
        (&created, "parent", value!("svit://local/x")),
        (&created, "kind", value!("forked")),
        (&created, "kind", value!("checkpoint")),
        (&forked, "kind", value!("created")),
        (&forked, "extra", value!(1)),
        (&created, "format", value!("svit-base@2")),
        (&created, "format", value!("svit-transaction@1")),
        (&checkpoint, "kind", value!("created")),
        (&checkpoint, "kind", value!("forked")),
        (&checkpoint, "record", value!("x")),
        (&checkpoint, "parent", value!("svit://local/x")),
        (&checkpoint, "events", value!(1)),
        (&checkpoint, "extra", value!(1)),
        (&of_fork, "kind", value!("created")),
        (&of_fork, "events", value!(-1)),
        (&of_fork, "parent", value!(1)),
        (&of_fork, "extra", value!(1)),
    ] {
        let refused = Base::from_bytes(&with(bytes, field, Some(other.clone()))).unwrap_err();
        assert!(
            matches!(refused.code(), "bad_field" | "unknown_format"),
            "{field} {other}: {refused}"
        );
    }
}
