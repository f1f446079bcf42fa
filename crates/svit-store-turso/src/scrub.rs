//! The part of a verification that follows every base and checkpoint to all its blocks, and counts
//! the blocks that none of them reaches. Its marks are its own (see `collect.rs`).

use svit_tree::Address;
use svit_txn::StoreError;
use svit_value::Digest;

use crate::checkpoint;
use crate::collect::{self, Marker};
use crate::fault::{Fault, at};
use crate::head::{HeadRow, parse};
use crate::read::{self, Reading};
use crate::sql::Connection;
use crate::verify::{Damage, STEP};

/// A root and where it was found.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Root {
    address: Address,
    version: u64,
    digest: Digest,
}

#[derive(Debug)]
enum Phase {
    /// Following the roots of the processes behind this address.
    Following { after: Vec<u8> },
    /// Counting what is not marked behind this digest.
    Counting { after: Vec<u8> },
}

/// How far a scrub is, between two of its steps.
#[derive(Debug)]
pub(crate) struct Scrub {
    marker: Marker,
    phase: Phase,
    /// Roots of one process that are still to be followed.
    waiting: Vec<Root>,
    /// The one that is being followed.
    current: Option<Root>,
    pub(crate) unreachable: u64,
    pub(crate) damage: Vec<Damage>,
}

impl Scrub {
    pub(crate) fn begin(
        connection: &mut Connection,
        run: u64,
        unfinished: Vec<Digest>,
    ) -> Result<Scrub, Fault> {
        let mut marker = Marker::new(connection, run)?;
        for root in unfinished {
            marker.see(connection, &root, false)?;
        }
        Ok(Scrub {
            marker,
            phase: Phase::Following { after: Vec::new() },
            waiting: Vec::new(),
            current: None,
            unreachable: 0,
            damage: Vec::new(),
        })
    }

    /// Looks at a few hundred blocks. True at the end.
    pub(crate) fn step(&mut self, reading: &mut Reading<'_>) -> Result<bool, Fault> {
        reading
            .connection
            .within(|connection| self.look(connection))
    }

    fn look(&mut self, connection: &mut Connection) -> Result<bool, Fault> {
        let mut left = STEP;
        while left > 0 {
            left -= 1;
            if !self.marker.is_done() {
                self.follow(connection)?;
                continue;
            }
            if let Some(root) = self.waiting.pop() {
                self.marker.see(connection, &root.digest, true)?;
                self.current = Some(root);
                continue;
            }
            match &self.phase {
                Phase::Following { after } => {
                    let next = collect::next_head(connection, after)?;
                    self.phase = match next {
                        Some((stored, head)) => {
                            self.roots(connection, &stored, &head)?;
                            Phase::Following { after: stored }
                        }
                        None => Phase::Counting { after: Vec::new() },
                    };
                }
                Phase::Counting { after } => {
                    let page = collect::digests(connection, after, STEP.unsigned_abs())?;
                    for digest in &page {
                        let marked = self.marker.is_marked(connection, digest)?;
                        self.unreachable += u64::from(!marked);
                    }
                    let Some(last) = page.last() else {
                        self.marker.clear(connection)?;
                        return Ok(true);
                    };
                    self.phase = Phase::Counting {
                        after: last.as_bytes().to_vec(),
                    };
                    return Ok(false);
                }
            }
        }
        Ok(false)
    }

    /// Follows one block. What a root lacks is damage, unless the root is gone by now: then a
    /// collection may have removed its blocks.
    fn follow(&mut self, connection: &mut Connection) -> Result<(), Fault> {
        let Err(fault) = self.marker.follow(connection) else {
            return Ok(());
        };
        let Fault::Store(StoreError::Corrupt { what, place }) = fault else {
            return Err(fault);
        };
        self.marker.give_up();
        let Some(root) = self.current.take() else {
            return Ok(());
        };
        if is_there(connection, &root)? {
            self.damage.push(Damage {
                what: format!("a state that cannot be loaded: {what}, {place}"),
                place: at(
                    "checkpoint",
                    format!("{} version {}", root.address, root.version),
                ),
            });
        }
        Ok(())
    }

    fn roots(
        &mut self,
        connection: &mut Connection,
        stored: &[u8],
        head: &HeadRow,
    ) -> Result<(), Fault> {
        // Damage of the rows themselves has been told by the time of this.
        let Some(address) = parse(stored) else {
            return Ok(());
        };
        match all_roots(connection, &address, head) {
            Ok(roots) => {
                self.waiting = roots;
                Ok(())
            }
            Err(Fault::Store(StoreError::Corrupt { .. })) => Ok(()),
            Err(other) => Err(other),
        }
    }
}

fn all_roots(
    connection: &mut Connection,
    address: &Address,
    head: &HeadRow,
) -> Result<Vec<Root>, Fault> {
    let root = |version: u64, digest: Digest| Root {
        address: address.clone(),
        version,
        digest,
    };
    let base = read::base(connection, address, head)?;
    let mut roots = Vec::new();
    if base.has_blocks() {
        roots.push(root(base.version, base.root));
    }
    for (it, _) in checkpoint::list(connection, address, u64::MAX, usize::MAX)? {
        roots.push(root(it.version, it.root));
    }
    Ok(roots)
}

fn is_there(connection: &mut Connection, root: &Root) -> Result<bool, Fault> {
    match HeadRow::read(connection, &root.address)? {
        Some(head) => Ok(all_roots(connection, &root.address, &head)?.contains(root)),
        None => Ok(false),
    }
}
