//! Values are put together only from the blocks that they have.

use std::collections::BTreeMap;
use svit_value::{Digest, List, Map, Value, ValueError, ValueLimits, value};

type Store = BTreeMap<Digest, Vec<u8>>;

fn read(root: Digest, store: &Store) -> Result<Value, ValueError> {
    read_within(root, store, &ValueLimits::default())
}

fn read_within(root: Digest, store: &Store, limits: &ValueLimits) -> Result<Value, ValueError> {
    Value::from_blocks(root, &mut |digest| store.get(&digest).cloned(), limits)
}

fn samples() -> Vec<Value> {
    vec![
        value!({"a": 1, "long": "x".repeat(200), "list": [["y".repeat(150)]]}),
        Map::from_entries((0..300).map(|i| (format!("k{i}"), i)))
            .unwrap()
            .into(),
        Map::from_entries((0..9000).map(|i| (format!("k{i}"), i)))
            .unwrap()
            .into(),
        List::from_values(0..5000).unwrap().into(),
        List::from_values((0..70).map(|i| "z".repeat(100 + i)))
            .unwrap()
            .into(),
    ]
}

#[test]
fn a_missing_or_damaged_block_is_named() {
    for value in samples() {
        let store: Store = value.blocks().collect();
        assert_eq!(read(value.digest(), &store).unwrap(), value);
        for (digest, block) in store.iter().take(40) {
            let mut broken = store.clone();
            broken.remove(digest);
            let digest = *digest;
            assert_eq!(
                read(value.digest(), &broken).unwrap_err(),
                ValueError::BlockMissing { digest }
            );
            for damage in [vec![], vec![0xf6], [&block[..], &[0]].concat(), {
                let mut flipped = block.clone();
                flipped[block.len() / 2] ^= 1;
                flipped
            }] {
                let actual = Digest::of(&damage);
                broken.insert(digest, damage);
                assert_eq!(
                    read(value.digest(), &broken).unwrap_err(),
                    ValueError::BlockDamaged { digest, actual }
                );
            }
        }
    }
}

/// Writes blocks by hand, as somebody would who wants to pass off a wrong layout as a value.
#[derive(Default)]
struct Forge(Store);

impl Forge {
    fn put(&mut self, block: Vec<u8>) -> Digest {
        let digest = Digest::of(&block);
        self.0.insert(digest, block);
        digest
    }

    fn list_index(&mut self, level: u8, children: &[Digest]) -> Digest {
        let mut block = b"\x83\xd8\x2a\x4e\x00\x01\x55\x00\x09svit-list".to_vec();
        block.push(level);
        head(4, children.len(), &mut block);
        children.iter().for_each(|child| link(child, &mut block));
        self.put(block)
    }

    fn map_index(&mut self, level: u8, children: &[(&str, Digest)]) -> Digest {
        let mut block = b"\x83\xd8\x2a\x4d\x00\x01\x55\x00\x08svit-map".to_vec();
        block.push(level);
        head(4, children.len(), &mut block);
        for (key, child) in children {
            block.push(0x82);
            block.extend(Value::from(*key).encode());
            link(child, &mut block);
        }
        self.put(block)
    }

    fn code(&self, root: Digest) -> &'static str {
        match read(root, &self.0) {
            Ok(value) => panic!("accepted: {value}"),
            Err(error) => error.code(),
        }
    }
}

fn head(major: u8, n: usize, out: &mut Vec<u8>) {
    match n {
        0..24 => out.push(major << 5 | n as u8),
        24..256 => out.extend([major << 5 | 24, n as u8]),
        _ => out.extend([major << 5 | 25, (n >> 8) as u8, n as u8]),
    }
}

fn link(digest: &Digest, out: &mut Vec<u8>) {
    out.extend(b"\xd8\x2a\x58\x25\x00\x01\x71\x1e\x20");
    out.extend(digest.as_bytes());
}

fn ints(range: std::ops::Range<i64>) -> Vec<u8> {
    let mut block = vec![];
    head(4, range.clone().count(), &mut block);
    range.for_each(|i| block.extend(Value::from(i).encode()));
    block
}

#[test]
fn the_forge_can_write_what_is_canonical() {
    let mut forge = Forge::default();
    let first = forge.put(ints(0..64));
    let second = forge.put(ints(64..70));
    let root = forge.list_index(1, &[first, second]);
    assert_eq!(
        read(root, &forge.0).unwrap(),
        List::from_values(0..70).unwrap().into()
    );
}

#[test]
fn forged_lists_are_refused() {
    let mut forge = Forge::default();
    let full = forge.put(ints(0..64));
    let rest = forge.put(ints(64..70));
    let short = forge.put(ints(0..63));
    let empty = forge.put(ints(0..0));
    let long = forge.put(ints(0..65));
    let two = forge.list_index(1, &[full, rest]);
    let one = forge.list_index(1, &[full]);
    let many = vec![full; 65];
    for root in [
        forge.list_index(1, &[full]),        // needs no index
        forge.list_index(1, &[short, rest]), // a leaf in the middle that is not full
        forge.list_index(1, &[full, empty]), // an empty leaf
        forge.list_index(1, &[empty; 64]),   // nothing but empty leaves
        forge.list_index(1, &[rest, full]),  // the short leaf first
        forge.list_index(1, &[long, rest]),  // a leaf that is too long
        forge.list_index(2, &[two]),         // a level too many
        forge.list_index(2, &[full, rest]),  // a level skipped
        forge.list_index(1, &[two, two]),    // index nodes where leaves belong
        forge.list_index(2, &[one, one]),    // index nodes that are not full
        forge.list_index(1, &many),          // too many children
        forge.list_index(200, &[two]),       // an absurd level
        long,                                // too long for one block
    ] {
        let code = forge.code(root);
        assert!(["block_layout", "block_invalid"].contains(&code), "{code}");
    }
    let none = forge.list_index(1, &[]);
    assert_eq!(forge.code(none), "block_invalid");
}

#[test]
fn forged_maps_are_refused() {
    let map = Map::from_entries((0..100).map(|i| (format!("k{i:02}"), i))).unwrap();
    let flat = |range: std::ops::Range<usize>| {
        Map::from_entries(map.iter().skip(range.start).take(range.len())).unwrap()
    };
    let mut forge = Forge::default();
    let leaf = |forge: &mut Forge, range: std::ops::Range<usize>| {
        let part = flat(range);
        let key = part.first_key().unwrap().to_string();
        let digest = forge.put(Value::from(part).block());
        (key, digest)
    };
    let a = leaf(&mut forge, 0..40);
    let b = leaf(&mut forge, 40..60);
    let c = leaf(&mut forge, 60..100);
    let overlap = leaf(&mut forge, 39..60);
    let (a, b, c, overlap) = (
        (a.0.as_str(), a.1),
        (b.0.as_str(), b.1),
        (c.0.as_str(), c.1),
        (overlap.0.as_str(), overlap.1),
    );
    let empty = forge.put(vec![0xa0]);
    for root in [
        forge.map_index(1, &[a, b, c]),        // cut where no key says so
        forge.map_index(1, &[b, a, c]),        // out of order
        forge.map_index(1, &[a, overlap, c]),  // a key twice
        forge.map_index(1, &[a, a]),           // a leaf twice
        forge.map_index(1, &[(a.0, b.1), c]),  // a wrong first key
        forge.map_index(1, &[("", empty), a]), // an empty leaf
        forge.map_index(1, &[a]),              // short enough to be flat
        forge.map_index(2, &[a, b, c]),        // a level skipped
        forge.map_index(30, &[a, b, c]),
    ] {
        let code = forge.code(root);
        assert!(["block_layout", "block_invalid"].contains(&code), "{code}");
    }
}

#[test]
fn children_in_the_wrong_form_are_refused() {
    let mut forge = Forge::default();
    // A link to what is short enough to be in place.
    let one = forge.put(vec![0x01]);
    let mut block = vec![0x81];
    link(&one, &mut block);
    let root = forge.put(block);
    assert_eq!(forge.code(root), "block_layout");
    // In place what is long enough to be a block.
    let mut block = vec![0x81];
    block.extend(Value::from("x".repeat(127)).encode());
    let root = forge.put(block);
    assert_eq!(forge.code(root), "block_layout");
    // A link inside a child that is in place.
    let mut block = vec![0x81, 0x81];
    link(&one, &mut block);
    let root = forge.put(block);
    assert_eq!(forge.code(root), "block_invalid");
    // A marker, or a link of another kind, as a child.
    for child in [
        &b"\xd8\x2a\x4e\x00\x01\x55\x00\x09svit-list"[..],
        b"\xd8\x2a\x58\x25\x00\x01\x70\x1e\x20",
        b"\xd8\x2a\x41\x00",
        b"\xc1\x00",
    ] {
        let mut block = vec![0x82, 0x00];
        block.extend(child);
        block.extend([0; 32]);
        let root = forge.put(block);
        assert_eq!(forge.code(root), "block_invalid");
    }
}

// THREAT[TM-VALUE-4]
#[test]
fn no_value_has_the_block_of_an_index_node() {
    let map = Map::from_entries((0..300).map(|i| (format!("k{i}"), i))).unwrap();
    let index = Value::from(map).block();
    assert_eq!(
        Value::decode(&index, &ValueLimits::default())
            .unwrap_err()
            .code(),
        "cbor_tag"
    );
    // The nearest values: the marker as bytes, the links as bytes or texts.
    for imitation in [
        value!([b"\x00\x01\x55\x00\x08svit-map", 1, []]),
        value!(["svit-map", 1, [["k0", b"\x00"]]]),
        Value::from(svit_value::Bytes::from(&index[..])),
    ] {
        assert_ne!(imitation.block(), index);
        assert_ne!(imitation.digest(), Digest::of(&index));
    }
}

#[test]
fn moving_bytes_between_neighbours_changes_the_digest() {
    let digests = [
        value!(["ab", "c"]),
        value!(["a", "bc"]),
        value!(["abc"]),
        value!([["a"], "b"]),
        value!([["a", "b"]]),
        value!({"a": "b", "c": "d"}),
        value!({"a": "bc", "d": ""}),
        value!(["a", "b", "c", "d"]),
        value!([b"ab", "c"]),
        value!("abc"),
        value!(b"abc"),
    ]
    .map(|value| value.digest());
    let distinct: std::collections::BTreeSet<_> = digests.iter().collect();
    assert_eq!(distinct.len(), digests.len());
    // Where leaves meet as well.
    let a = List::from_values((0..130).map(|i| if i == 63 { "ab" } else { "c" })).unwrap();
    let b = List::from_values((0..130).map(|i| if i == 64 { "ab" } else { "c" })).unwrap();
    assert_ne!(a.digest(), b.digest());
}

#[test]
fn few_blocks_cannot_stand_for_endless_work_or_memory() {
    // Ten levels of lists of sixty-four times the same link.
    let mut forge = Forge::default();
    let mut child = forge.put(Value::from("x".repeat(200)).block());
    for _ in 0..10 {
        let mut block = vec![];
        head(4, 64, &mut block);
        (0..64).for_each(|_| link(&child, &mut block));
        child = forge.put(block);
    }
    let code = forge.code(child);
    assert!(
        ["too_many_nodes", "too_much_text", "too_long"].contains(&code),
        "{code}"
    );
    // An index of indexes of one leaf of long elements.
    let mut block = vec![];
    head(4, 64, &mut block);
    (0..64).for_each(|_| block.extend(Value::from("y".repeat(120)).encode()));
    let mut child = forge.put(block);
    for level in 1..8 {
        child = forge.list_index(level, &vec![child; 64]);
    }
    let limits = ValueLimits {
        max_bytes: 1 << 20,
        ..ValueLimits::default()
    };
    assert_eq!(
        read_within(child, &forge.0, &limits).unwrap_err().code(),
        "too_long"
    );
    // An index of indexes of nothing: every node must add something, or this would never end.
    let empty_list = forge.put(vec![0x80]);
    let empty_map = forge.put(vec![0xa0]);
    let (mut list, mut map) = (empty_list, empty_map);
    for level in 1..10 {
        list = forge.list_index(level, &[list; 64]);
        map = forge.map_index(level, &[("", map); 64]);
    }
    assert_eq!(forge.code(list), "block_layout");
    assert_eq!(forge.code(map), "block_layout");
    // An index block that claims more children than it has bytes.
    for marker in [
        &b"\x83\xd8\x2a\x4e\x00\x01\x55\x00\x09svit-list\x01"[..],
        b"\x83\xd8\x2a\x4d\x00\x01\x55\x00\x08svit-map\x01",
    ] {
        let bomb = [marker, &[0x9b, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]].concat();
        let root = forge.put(bomb);
        assert_eq!(forge.code(root), "block_invalid");
    }
    // A chain of links that is too deep.
    let mut child = forge.put(Value::from("x".repeat(200)).block());
    for _ in 0..1000 {
        let mut block = vec![0x81];
        link(&child, &mut block);
        child = forge.put(block);
    }
    assert_eq!(forge.code(child), "too_deep");
}

#[test]
fn blocks_come_from_the_root_down_and_each_once() {
    let twice = "x".repeat(300);
    let value = value!({"a": [twice.as_str(), twice.as_str()], "b": twice.as_str()});
    let blocks: Vec<_> = value.blocks().collect();
    assert_eq!(blocks.len(), 3);
    assert_eq!(blocks[0], (value.digest(), value.block()));
    assert_eq!(blocks[1].0, value.get("a").unwrap().digest());
    assert_eq!(blocks[2].0, value.get("b").unwrap().digest());
}
