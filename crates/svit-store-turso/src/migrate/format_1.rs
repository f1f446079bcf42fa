//! Format 1, without checkpoints and retention, and the way to format 2.
//!
//! In format 2 a head says which events are kept and whose others it shares, a fork whether it
//! depends on its parent, and `meta` how many checkpoints and forks there are.

use svit_tree::Address;
use svit_txn::BaseKind;
use svit_value::Digest;

use super::format_2;
use crate::fault::{Fault, at, corrupt};
use crate::fork::Link;
use crate::head::{HeadRow, parse};
use crate::read;
use crate::schema::{Definition, Meta, table};
use crate::sql::{Bind, Connection, Row, SqlError};
use crate::sums::{Summed, Tally};

pub(super) const CHANGED: [Definition; 3] = [
    table(
        "meta",
        "CREATE TABLE meta(id INTEGER NOT NULL PRIMARY KEY CHECK(id=1), store BLOB NOT NULL, batch INTEGER NOT NULL, digest BLOB NOT NULL, heads INTEGER NOT NULL, heads_sum BLOB NOT NULL, blocks INTEGER NOT NULL, blocks_sum BLOB NOT NULL, sum BLOB NOT NULL) STRICT",
    ),
    table(
        "head",
        "CREATE TABLE head(address BLOB NOT NULL PRIMARY KEY, version INTEGER NOT NULL, digest BLOB NOT NULL, root BLOB NOT NULL, epoch INTEGER NOT NULL, base BLOB NOT NULL, next_event INTEGER NOT NULL, receipts_made INTEGER NOT NULL, receipts INTEGER NOT NULL, receipts_sum BLOB NOT NULL, sum BLOB NOT NULL) STRICT, WITHOUT ROWID",
    ),
    table(
        "fork_ref",
        "CREATE TABLE fork_ref(parent BLOB NOT NULL, version INTEGER NOT NULL, child BLOB NOT NULL, record BLOB NOT NULL, sum BLOB NOT NULL, PRIMARY KEY(parent, version, child)) STRICT, WITHOUT ROWID",
    ),
];

/// The row of `meta`; none if it is missing or does not have its sum.
pub(super) fn meta(connection: &mut Connection) -> Result<Option<Meta>, SqlError> {
    let row = connection.row(
        "SELECT store, batch, digest, heads, heads_sum, blocks, blocks_sum, sum FROM meta",
        &[],
    )?;
    let Some(mut row) = row else {
        return Ok(None);
    };
    let meta = Meta {
        store: row.array(0)?,
        batch: row.count(1)?,
        digest: Digest::from_bytes(row.array(2)?),
        heads: Tally::read(&mut row, 3)?,
        blocks: Tally::read(&mut row, 5)?,
        checkpoints: Tally::default(),
        forks: Tally::default(),
    };
    let sum = Summed::row("meta")
        .bytes(&meta.store)
        .number(meta.batch)
        .digest(&meta.digest)
        .number(meta.heads.rows)
        .bytes(&meta.heads.sum)
        .number(meta.blocks.rows)
        .bytes(&meta.blocks.sum)
        .sum();
    Ok((sum == row.array(7)?).then_some(meta))
}

/// Rewrites the three tables. Batch number and digest stay: the mark beside the database still
/// speaks of this state.
pub(super) fn rewrite(connection: &mut Connection) -> Result<(), Fault> {
    let before = meta(connection)?
        .ok_or_else(|| corrupt("the row that describes the store is damaged", "meta"))?;
    connection.execute_once(
        "CREATE TEMP TABLE old_head AS SELECT address, version, digest, root, epoch, base, next_event, receipts_made, receipts, receipts_sum, sum FROM main.head",
    )?;
    for table in ["meta", "head", "fork_ref"] {
        connection.execute_once(&format!("DROP TABLE main.{table}"))?;
    }
    for definition in format_2::CHANGED {
        connection.execute_once(definition.sql)?;
    }
    let mut after = Meta {
        heads: Tally::default(),
        ..before
    };
    let mut found = Tally::default();
    let mut rowid = 0;
    while let Some(row) = connection.row(
        "SELECT rowid, address, version, digest, root, epoch, base, next_event, receipts_made, receipts, receipts_sum, sum FROM temp.old_head WHERE rowid>?1 ORDER BY rowid LIMIT 1",
        &[Bind::Int(rowid)],
    )? {
        rowid = head(connection, row, &mut found, &mut after)?;
    }
    if found != before.heads {
        return Err(corrupt(
            format!(
                "{} heads found where {} were written",
                found.rows, before.heads.rows
            ),
            "head",
        ));
    }
    connection.execute_once("DROP TABLE temp.old_head")?;
    after.insert(connection)?;
    Ok(())
}

/// Checks one head and writes it anew, with the row of the fork that it is. Gives its rowid.
fn head(
    connection: &mut Connection,
    mut row: Row,
    found: &mut Tally,
    meta: &mut Meta,
) -> Result<i64, Fault> {
    let rowid = row.int(0)?;
    let stored = row.blob(1)?;
    let place = || at("head", String::from_utf8_lossy(&stored));
    let address: Address =
        parse(&stored).ok_or_else(|| corrupt("an address that is not one", place()))?;
    let mut head = HeadRow {
        version: row.count(2)?,
        digest: Digest::from_bytes(row.array(3)?),
        root: Digest::from_bytes(row.array(4)?),
        epoch: row.count(5)?,
        base: Digest::from_bytes(row.array(6)?),
        first_event: 0,
        next_event: row.count(7)?,
        shared: None,
        receipts_made: row.count(8)?,
        receipts: Tally::read(&mut row, 9)?,
    };
    let sum = Summed::row("head")
        .bytes(&stored)
        .number(head.version)
        .digest(&head.digest)
        .digest(&head.root)
        .number(head.epoch)
        .digest(&head.base)
        .number(head.next_event)
        .number(head.receipts_made)
        .number(head.receipts.rows)
        .bytes(&head.receipts.sum)
        .sum();
    if sum != row.array(11)? {
        return Err(corrupt("a head that does not have its sum", place()));
    }
    found.add(&sum);
    let base = read::base(connection, &address, &head)?;
    let fresh = HeadRow::new(&base, head.base, head.epoch);
    (head.first_event, head.shared) = (fresh.first_event, fresh.shared);
    head.insert(connection, &address, meta)?;
    if let BaseKind::Forked { parent, record, .. } = &base.kind {
        let link = Link {
            parent: parent.clone(),
            version: base.version,
            child: address,
            record: *record,
            // There were no checkpoints.
            depends: true,
        };
        link.insert(connection, meta)?;
    }
    Ok(rowid)
}
