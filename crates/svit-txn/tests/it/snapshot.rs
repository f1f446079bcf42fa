//! Snapshots: what goes out comes in again, and nothing else does.

use svit_tree::Mutation;
use svit_txn::{Error, Limits, Process};
use svit_value::{Digest, Value, car, value};

fn process() -> Process {
    let process = Process::builder("svit://local/snapshot")
        .unwrap()
        .memory("long", "x".repeat(300))
        .memory("table", value!({"a": [1, 2.5, null], "b": {"c": true}}))
        .memory("slot", "")
        .build()
        .unwrap();
    process.write("/memory/slot", "written").unwrap();
    process
}

/// The header with the root, and the sections of a CAR file, each with its length.
fn sections(file: &[u8]) -> Vec<&[u8]> {
    let mut sections = Vec::new();
    let mut rest = file;
    while !rest.is_empty() {
        let (mut len, mut at) = (0_usize, 0);
        loop {
            let byte = rest[at];
            len |= usize::from(byte & 0x7f) << (7 * at);
            at += 1;
            if byte & 0x80 == 0 {
                break;
            }
        }
        let (section, behind) = rest.split_at(at + len);
        sections.push(section);
        rest = behind;
    }
    sections
}

#[test]
fn a_snapshot_is_restored_as_it_was_and_goes_on() {
    let process = process();
    let restored = Process::restore(process.snapshot().as_bytes()).unwrap();
    assert_eq!(restored.address(), process.address());
    assert_eq!(restored.version(), 1);
    assert_eq!(restored.root_digest(), process.root_digest());
    assert_eq!(restored.limits(), Limits::default());
    assert_eq!(restored.write("/memory/slot", "more").unwrap().version, 2);
}

#[test]
fn equal_states_give_equal_bytes_whatever_led_there() {
    let (one, other) = (process(), process());
    one.write("/memory/slot", "detour").unwrap();
    one.write("/memory/slot", "written").unwrap();
    other.write("/memory/slot", "another").unwrap();
    other.write("/memory/slot", "written").unwrap();
    assert_eq!(one.snapshot(), other.snapshot());
}

#[test]
fn no_flipped_bit_is_restored() {
    let file = process().snapshot().into_bytes();
    for at in 0..file.len() {
        for bit in [0, 3, 7] {
            let mut bad = file.clone();
            bad[at] ^= 1 << bit;
            assert!(Process::restore(&bad).is_err(), "byte {at}, bit {bit}");
        }
    }
    for len in 0..file.len() {
        assert!(Process::restore(&file[..len]).is_err(), "cut at {len}");
    }
}

#[test]
fn blocks_that_are_missing_unused_repeated_or_out_of_order_are_refused() {
    let file = process().snapshot().into_bytes();
    let parts = sections(&file);
    assert!(parts.len() > 4, "{} sections", parts.len());
    for at in 1..parts.len() {
        let mut missing = parts.clone();
        missing.remove(at);
        assert!(Process::restore(&missing.concat()).is_err(), "{at} missing");
        let mut twice = parts.clone();
        twice.insert(at, parts[at]);
        assert!(Process::restore(&twice.concat()).is_err(), "{at} twice");
        let mut swapped = parts.clone();
        swapped.swap(at, parts.len() - 1);
        if at + 1 < parts.len() {
            assert!(Process::restore(&swapped.concat()).is_err(), "{at} moved");
        }
    }
    let unused = value!({"not": "asked for"});
    let mut more = Vec::new();
    car::write(unused.digest(), unused.blocks(), &mut more).unwrap();
    let unused = [file.as_slice(), sections(&more)[1]].concat();
    let refused = Process::restore(&unused).unwrap_err();
    assert!(matches!(refused, Error::History { .. }), "{refused}");
}

#[test]
fn a_snapshot_whose_root_is_a_value_and_no_manifest_is_refused() {
    for state in [value!(null), value!({"format": "svit-snapshot@1"})] {
        let mut file = Vec::new();
        car::write(state.digest(), state.blocks(), &mut file).unwrap();
        let refused = Process::restore(&file).unwrap_err();
        assert_eq!(refused.code(), "unknown_format");
    }
    assert!(Process::restore(b"").is_err());
}

#[test]
fn json_comes_back_with_the_same_root_or_not_at_all() {
    let process = process();
    let json = process.export_json().unwrap();
    assert_eq!(json, process.export_json().unwrap());
    let imported = Process::import_json(&json).unwrap();
    assert_eq!(imported.root_digest(), process.root_digest());
    assert_eq!(imported.version(), process.version());
    let other_root = json.replace(
        &process.root_digest().to_string(),
        &Digest::of(b"another").to_string(),
    );
    for bad in [
        json.replace("written", "changed"),
        json.replace("svit-export@1", "svit-export@2"),
        json.replace("svit://local/snapshot", "svit://local/other"),
        other_root,
        json.replace("\"max_ticks\":1000000", "\"max_ticks\":0"),
        "{}".to_owned(),
    ] {
        assert_ne!(bad, json);
        assert!(Process::import_json(&bad).is_err(), "{bad}");
    }
}

/// The JSON of a state that was changed by hand, with the root digest that it then has.
fn forged(change: impl Fn(Value) -> Value) -> String {
    let json = process().export_json().unwrap();
    let export = Value::from_json(&json).unwrap();
    let mut export = change(export).as_map().unwrap().clone();
    let root = export.get("tree").unwrap().digest();
    export.insert("root", root.to_string()).unwrap();
    Value::Map(export).to_json().unwrap()
}

#[test]
fn a_state_that_no_process_could_reach_is_refused_however_whole_it_is() {
    let edit = |path: &str, value: Value| {
        let edit = Mutation::set(path.parse().unwrap(), value);
        forged(|export| svit_tree::apply(&export, std::slice::from_ref(&edit)).unwrap())
    };
    let whole = forged(|export| export);
    assert!(Process::import_json(&whole).is_ok());
    let version = Process::import_json(&whole).unwrap().version();
    let message = |n: u64| format!("/tree/inbox/{n:016}");
    assert!(Process::import_json(&edit(&message(version), value!(1))).is_ok());
    for (path, value) in [
        // The number that the next message takes.
        (&*message(version + 1), value!(1)),
        ("/tree/inbox/1", value!(1)),
        ("/tree/inbox/x", value!(1)),
        ("/tree/inbox/+000000000000001", value!(1)),
        ("/version", value!(1_000_000_000_000)),
        ("/version", value!(-1)),
        ("/tree/memory", value!(1)),
        ("/tree/other", value!({})),
        ("/tree/system/limits/max_ticks", value!(0)),
        ("/tree/system/limits/other", value!(1)),
        ("/tree/system/limits/max_tree_nodes", value!(3)),
        (
            "/tree/system/identity/address",
            value!("svit://local/another"),
        ),
    ] {
        let refused = Process::import_json(&edit(path, value.clone()));
        assert!(refused.is_err(), "{path} {value}");
    }
}

#[test]
fn a_restored_process_runs_its_scripts_once_their_guest_is_attached() {
    let snapshot = crate::steps::builder("svit://local/x")
        .build()
        .unwrap()
        .snapshot();
    let restored = || Process::restore(snapshot.as_bytes()).unwrap();
    let refused = restored().exec("/lib/counter", 1).unwrap_err();
    assert_eq!(refused.code(), "unknown_language");
    let process = restored().guest(crate::steps::LANGUAGE, crate::steps::Steps::guest());
    assert_eq!(process.exec("/lib/counter", 1).unwrap().output, 7.into());
}
