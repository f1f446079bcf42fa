//! Checkpoints: writing one in parts, and saying which are whole.
//!
//! Only whole checkpoints have a row. One that is being written lives in memory (see
//! `underway.rs`); its blocks are in the table of blocks like all others.

use std::ops::ControlFlow;

use svit_tree::Address;
use svit_txn::{Checkpoint, CheckpointPart, CheckpointRef, StoreError};
use svit_value::Digest;

use crate::apply::{Applying, Written};
use crate::fault::{Fault, at, corrupt};
use crate::head::parse;
use crate::read::{self, Reading};
use crate::schema::int;
use crate::sql::{Bind, Connection, Row};
use crate::sums::{Sum, Summed};

/// All rows, in the columns that [`decode`] wants.
pub(crate) const ALL: &str =
    "SELECT address, version, record, root, sum FROM checkpoint ORDER BY address, version";

pub(crate) fn sum(address: &Address, checkpoint: &Checkpoint) -> Sum {
    Summed::row("checkpoint")
        .bytes(address.as_str().as_bytes())
        .number(checkpoint.version)
        .digest(&checkpoint.record)
        .digest(&checkpoint.root)
        .sum()
}

/// Decodes a row `address, version, record, root, sum` and checks its sum.
pub(crate) fn decode(mut row: Row) -> Result<(Address, Checkpoint, Sum), Fault> {
    let stored = row.blob(0)?;
    let checkpoint = Checkpoint {
        version: row.count(1)?,
        record: Digest::from_bytes(row.array(2)?),
        root: Digest::from_bytes(row.array(3)?),
    };
    let found: Sum = row.array(4)?;
    match parse(&stored) {
        Some(address) if sum(&address, &checkpoint) == found => Ok((address, checkpoint, found)),
        _ => Err(corrupt(
            "a checkpoint that does not have its sum",
            at(
                "checkpoint",
                format!(
                    "{} version {}",
                    String::from_utf8_lossy(&stored),
                    checkpoint.version
                ),
            ),
        )),
    }
}

/// The whole checkpoint of this very version, if there is one.
pub(crate) fn find(
    connection: &mut Connection,
    address: &Address,
    version: u64,
) -> Result<Option<Checkpoint>, Fault> {
    let row = connection.row(
        "SELECT address, version, record, root, sum FROM checkpoint WHERE address=?1 AND version=?2",
        &[
            Bind::Blob(address.as_str().as_bytes()),
            Bind::Int(int(version)?),
        ],
    )?;
    Ok(row.map(decode).transpose()?.map(|(_, found, _)| found))
}

/// Whole checkpoints at a version or before it, newest first, with their sums.
pub(crate) fn list(
    connection: &mut Connection,
    address: &Address,
    at_or_before: u64,
    limit: usize,
) -> Result<Vec<(Checkpoint, Sum)>, Fault> {
    let mut found = Vec::new();
    connection.for_each(
        "SELECT address, version, record, root, sum FROM checkpoint WHERE address=?1 AND version<=?2 ORDER BY version DESC LIMIT ?3",
        &[
            Bind::Blob(address.as_str().as_bytes()),
            Bind::Int(i64::try_from(at_or_before).unwrap_or(i64::MAX)),
            Bind::Int(i64::try_from(limit).unwrap_or(i64::MAX)),
        ],
        |row| {
            let (_, checkpoint, sum) = decode(row)?;
            found.push((checkpoint, sum));
            Ok::<_, Fault>(ControlFlow::Continue(()))
        },
    )?;
    Ok(found)
}

impl Reading<'_> {
    /// Whole checkpoints, newest first. One that is hidden would be missed without a word: an older
    /// one, or the base, leads to the same state. So all are counted the first time.
    pub(crate) fn checkpoints(
        &mut self,
        address: &Address,
        at_or_before: u64,
        limit: usize,
    ) -> Result<Vec<Checkpoint>, Fault> {
        self.head(address)?;
        self.checked.checkpoints(self.connection, self.meta)?;
        let found = list(self.connection, address, at_or_before, limit)?;
        Ok(found
            .into_iter()
            .map(|(checkpoint, _)| checkpoint)
            .collect())
    }
}

impl Applying<'_> {
    /// Adds a part. What the history says of that version, and that what it builds on is still
    /// there, is looked at here, in the transaction that adds it.
    pub(crate) fn part(
        &mut self,
        address: &Address,
        part: &CheckpointPart,
    ) -> Result<(Written, Option<Sum>), Fault> {
        let bad = |why: String| {
            Fault::Store(StoreError::BadBatch {
                address: address.clone(),
                why,
            })
        };
        let checkpoint = &part.checkpoint;
        let head = self.head(address)?;
        if find(self.connection, address, checkpoint.version)? == Some(*checkpoint) {
            return Ok((Written::Done, None));
        }
        let found = read::point(
            self.connection,
            self.checked,
            address,
            &head.row,
            checkpoint.version,
        )?;
        if found != Some((checkpoint.record, checkpoint.root)) {
            return Err(bad(format!(
                "no record {} with root {} at version {}",
                checkpoint.record, checkpoint.root, checkpoint.version
            )));
        }
        if let Some(since) = &part.since
            && !self.has_blocks(since)?
        {
            return Err(bad(format!(
                "{} has no checkpoint of root {} at version {} to build on",
                since.address, since.root, since.version
            )));
        }
        self.underway.next_part(address, part).map_err(bad)?;
        let mut bytes = 0;
        for block in &part.blocks {
            self.block(&block.digest, &block.data)?;
            bytes += block.data.len() as u64;
        }
        tracing::debug!(
            %address,
            version = checkpoint.version,
            part = part.index,
            blocks = part.blocks.len(),
            bytes,
            last = part.last,
            "checkpoint part"
        );
        if part.last {
            self.whole(address, checkpoint)?;
        }
        let sum = Summed::row("part")
            .bytes(&sum(address, checkpoint))
            .number(part.index)
            .sum();
        Ok((Written::Done, Some(sum)))
    }

    /// Whether this is a version all of whose blocks are in the store for sure.
    fn has_blocks(&mut self, at: &CheckpointRef) -> Result<bool, Fault> {
        // First: a deletion leaves checkpoints for a while, and no blocks.
        let Some(head) = self.checked.head(self.connection, &at.address)? else {
            return Ok(false);
        };
        if let Some(checkpoint) = find(self.connection, &at.address, at.version)? {
            return Ok(checkpoint.root == at.root);
        }
        let base = read::base(self.connection, &at.address, &head.row)?;
        Ok(base.version == at.version && base.root == at.root && base.has_blocks())
    }

    /// Makes a checkpoint whole.
    fn whole(&mut self, address: &Address, checkpoint: &Checkpoint) -> Result<(), Fault> {
        let known = self.connection.row(
            "SELECT count(*) FROM block WHERE digest=?1",
            &[Bind::Blob(checkpoint.root.as_bytes())],
        )?;
        if known.map(|mut row| row.count(0)).transpose()? != Some(1) {
            return Err(Fault::Store(StoreError::BadBatch {
                address: address.clone(),
                why: format!("no block of the root {} was given", checkpoint.root),
            }));
        }
        let sum = sum(address, checkpoint);
        self.connection.execute(
            "INSERT INTO checkpoint(address, version, record, root, sum) VALUES(?1, ?2, ?3, ?4, ?5)",
            &[
                Bind::Blob(address.as_str().as_bytes()),
                Bind::Int(int(checkpoint.version)?),
                Bind::Blob(checkpoint.record.as_bytes()),
                Bind::Blob(checkpoint.root.as_bytes()),
                Bind::Blob(&sum),
            ],
        )?;
        self.meta.checkpoints.add(&sum);
        self.underway.give_up(address);
        self.underway.new_root(self.connection, &checkpoint.root)?;
        let head = self.head(address)?;
        let base = read::base(self.connection, address, &head.row)?;
        if !base.has_blocks() && base.version == checkpoint.version {
            self.independent(address, &head.row)?;
        }
        Ok(())
    }

    /// Removes the checkpoints before a version.
    pub(crate) fn drop_checkpoints(&mut self, address: &Address, before: u64) -> Result<(), Fault> {
        let Some(newest) = before.checked_sub(1) else {
            return Ok(());
        };
        for (checkpoint, sum) in list(self.connection, address, newest, usize::MAX)? {
            self.drop_checkpoint(address, &checkpoint, &sum)?;
        }
        Ok(())
    }

    /// Removes a checkpoint.
    pub(crate) fn drop_checkpoint(
        &mut self,
        address: &Address,
        checkpoint: &Checkpoint,
        sum: &Sum,
    ) -> Result<(), Fault> {
        let removed = self.connection.execute(
            "DELETE FROM checkpoint WHERE address=?1 AND version=?2",
            &[
                Bind::Blob(address.as_str().as_bytes()),
                Bind::Int(int(checkpoint.version)?),
            ],
        )?;
        if removed != 1 {
            return Err(corrupt(
                "a checkpoint that cannot be removed",
                at("checkpoint", address),
            ));
        }
        self.meta.checkpoints.remove(sum);
        Ok(())
    }
}
