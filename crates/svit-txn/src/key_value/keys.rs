//! Where each row stands: keys that sort as the contract lists things.
//!
//! A key is a letter for the table, the address, a zero byte (which no address holds), and what
//! tells the rows of one process apart. Numbers are big endian.

use std::ops::Range;

use svit_tree::Address;
use svit_value::Digest;

use crate::store::ReceiptKey;

/// The letter of blocks, whose rows are checked against their key.
pub(super) const BLOCK: u8 = b'b';
/// Everything that goes with a process, its head apart.
pub(super) const OF_A_PROCESS: [u8; 8] = [
    RECORD, EVENT, RECEIPT, LOOSE, PINNED, CLIENT, CHECKPOINT, OPEN,
];

const HEAD: u8 = b'h';
const RECORD: u8 = b'r';
const EVENT: u8 = b'e';
const RECEIPT: u8 = b'k';
/// Receipts that may be evicted, by client and age.
const LOOSE: u8 = b'l';
/// Receipts that are pinned, by message and age.
const PINNED: u8 = b'p';
/// How many loose receipts a client has.
const CLIENT: u8 = b'n';
const CHECKPOINT: u8 = b'c';
const OPEN: u8 = b'o';
/// Forks that depend on a process's history.
const FORK: u8 = b'f';
/// Processes that share a process's thread events.
const SHARER: u8 = b's';

/// The highest epoch that a process had that is gone.
pub(super) const PAST_EPOCHS: &[u8] = b"a";

/// The smallest key behind this one.
pub(super) fn after(mut key: Vec<u8>) -> Vec<u8> {
    key.push(0);
    key
}

fn of(table: u8, address: &Address) -> Vec<u8> {
    [&[table], address.as_str().as_bytes(), &[0]].concat()
}

fn numbered(mut key: Vec<u8>, number: u64) -> Vec<u8> {
    key.extend(number.to_be_bytes());
    key
}

/// The number that a key ends with.
pub(super) fn number(key: &[u8]) -> Option<u64> {
    key.last_chunk().copied().map(u64::from_be_bytes)
}

pub(super) fn head(address: &Address) -> Vec<u8> {
    [&[HEAD], address.as_str().as_bytes()].concat()
}

/// The heads of all processes behind an address, or of all.
pub(super) fn heads(behind: Option<&Address>) -> Range<Vec<u8>> {
    let from = behind.map_or_else(|| vec![HEAD], |address| after(head(address)));
    from..vec![HEAD + 1]
}

/// The address of a head.
pub(super) fn address(key: &[u8]) -> Option<Address> {
    Address::parse(str::from_utf8(key.get(1..)?).ok()?).ok()
}

pub(super) fn record(address: &Address, version: u64) -> Vec<u8> {
    numbered(of(RECORD, address), version)
}

pub(super) fn event(address: &Address, seq: u64) -> Vec<u8> {
    numbered(of(EVENT, address), seq)
}

pub(super) fn checkpoint(address: &Address, version: u64) -> Vec<u8> {
    numbered(of(CHECKPOINT, address), version)
}

pub(super) fn open(address: &Address, version: u64) -> Vec<u8> {
    numbered(of(OPEN, address), version)
}

/// All rows of a process in one table.
pub(super) fn all_of(table: u8, address: &Address) -> Range<Vec<u8>> {
    let mut end = of(table, address);
    end.pop();
    end.push(1);
    of(table, address)..end
}

/// All checkpoints of a process that are under way.
pub(super) fn all_open(address: &Address) -> Range<Vec<u8>> {
    all_of(OPEN, address)
}

/// All checkpoints of all processes, and all that are under way.
pub(super) fn checkpoints_of_all() -> [Range<Vec<u8>>; 2] {
    [CHECKPOINT, OPEN].map(|table| vec![table]..vec![table + 1])
}

fn client(table: u8, address: &Address, client: &str) -> Vec<u8> {
    let mut key = of(table, address);
    // Its length first, so that no client's name is the start of another's.
    key.extend((client.len() as u32).to_be_bytes());
    key.extend(client.as_bytes());
    key
}

pub(super) fn receipt(address: &Address, key: &ReceiptKey) -> Vec<u8> {
    let mut row = client(RECEIPT, address, &key.client);
    row.extend(key.request.as_bytes());
    row
}

pub(super) fn loose_count(address: &Address, name: &str) -> Vec<u8> {
    client(CLIENT, address, name)
}

pub(super) fn loose(address: &Address, name: &str, added: u64) -> Vec<u8> {
    numbered(client(LOOSE, address, name), added)
}

pub(super) fn pinned(address: &Address, message: u64, added: u64) -> Vec<u8> {
    numbered(numbered(of(PINNED, address), message), added)
}

pub(super) fn block(digest: Digest) -> Vec<u8> {
    [&[BLOCK], &digest.as_bytes()[..]].concat()
}

/// All blocks behind a key, or all.
pub(super) fn blocks(behind: Option<Vec<u8>>) -> Range<Vec<u8>> {
    behind.map_or_else(|| vec![BLOCK], after)..vec![BLOCK + 1]
}

pub(super) fn fork(parent: &Address, version: u64, child: &Address) -> Vec<u8> {
    let mut key = numbered(of(FORK, parent), version);
    key.extend(child.as_str().as_bytes());
    key
}

/// Forks of a process whose base has a version below `below`.
pub(super) fn forks(parent: &Address, below: u64) -> Range<Vec<u8>> {
    of(FORK, parent)..numbered(of(FORK, parent), below)
}

/// The version and the child of a fork's row.
pub(super) fn fork_parts(parent: &Address, key: &[u8]) -> Option<(u64, Address)> {
    let rest = key.get(of(FORK, parent).len()..)?;
    let (version, child) = rest.split_first_chunk()?;
    let child = Address::parse(str::from_utf8(child).ok()?).ok()?;
    Some((u64::from_be_bytes(*version), child))
}

pub(super) fn sharer(parent: &Address, child: &Address) -> Vec<u8> {
    [of(SHARER, parent), child.as_str().as_bytes().to_vec()].concat()
}

pub(super) fn sharers(parent: &Address) -> Range<Vec<u8>> {
    all_of(SHARER, parent)
}

/// The child of a sharer's row.
pub(super) fn sharer_child(parent: &Address, key: &[u8]) -> Option<Address> {
    let rest = key.get(of(SHARER, parent).len()..)?;
    Address::parse(str::from_utf8(rest).ok()?).ok()
}
