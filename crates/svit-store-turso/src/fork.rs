//! The rows of `fork_ref`: which child started from which version of whom.
//!
//! A row lives as long as both processes do. `depends` says that the child still needs its
//! parent's history: it has no whole checkpoint at its base, and its base is still the fork.

use std::ops::ControlFlow;

use svit_tree::Address;
use svit_txn::{ForkRef, StoreError};
use svit_value::Digest;

use crate::apply::Applying;
use crate::fault::{Fault, at, corrupt};
use crate::head::{HeadRow, Shared, parse};
use crate::read::Reading;
use crate::schema::{Meta, int};
use crate::sql::{Bind, Connection, Row};
use crate::sums::{Sum, Summed};

/// All rows, in the columns that [`Link::decode`] wants.
pub(crate) const ALL: &str =
    "SELECT parent, version, child, record, depends, sum FROM fork_ref ORDER BY parent";

/// A row of `fork_ref`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Link {
    pub(crate) parent: Address,
    /// The version of both that the child started from.
    pub(crate) version: u64,
    pub(crate) child: Address,
    /// The digest of the parent's record, or base, of that version.
    pub(crate) record: Digest,
    pub(crate) depends: bool,
}

impl Link {
    pub(crate) fn sum(&self) -> Sum {
        Summed::row("fork_ref")
            .bytes(self.parent.as_str().as_bytes())
            .number(self.version)
            .bytes(self.child.as_str().as_bytes())
            .digest(&self.record)
            .number(u64::from(self.depends))
            .sum()
    }

    pub(crate) fn decode(mut row: Row) -> Result<Link, Fault> {
        let (parent, child) = (row.blob(0)?, row.blob(2)?);
        let place = || at("fork_ref", String::from_utf8_lossy(&parent));
        let link = Link {
            parent: parse(&parent).ok_or_else(|| corrupt("a fork of no address", place()))?,
            version: row.count(1)?,
            child: parse(&child).ok_or_else(|| corrupt("a fork with no address", place()))?,
            record: Digest::from_bytes(row.array(3)?),
            depends: row.count(4)? != 0,
        };
        if link.sum() != row.array(5)? {
            return Err(corrupt("a fork that does not have its sum", place()));
        }
        Ok(link)
    }

    pub(crate) fn insert(&self, connection: &mut Connection, meta: &mut Meta) -> Result<(), Fault> {
        let sum = self.sum();
        connection.execute(
            "INSERT INTO fork_ref(parent, version, child, record, depends, sum) VALUES(?1, ?2, ?3, ?4, ?5, ?6)",
            &[
                Bind::Blob(self.parent.as_str().as_bytes()),
                Bind::Int(int(self.version)?),
                Bind::Blob(self.child.as_str().as_bytes()),
                Bind::Blob(self.record.as_bytes()),
                Bind::Int(i64::from(self.depends)),
                Bind::Blob(&sum),
            ],
        )?;
        meta.forks.add(&sum);
        Ok(())
    }

    pub(crate) fn remove(&self, connection: &mut Connection, meta: &mut Meta) -> Result<(), Fault> {
        let removed = connection.execute(
            "DELETE FROM fork_ref WHERE parent=?1 AND version=?2 AND child=?3",
            &[
                Bind::Blob(self.parent.as_str().as_bytes()),
                Bind::Int(int(self.version)?),
                Bind::Blob(self.child.as_str().as_bytes()),
            ],
        )?;
        if removed != 1 {
            return Err(corrupt(
                "a fork that cannot be removed",
                at("fork_ref", &self.parent),
            ));
        }
        meta.forks.remove(&self.sum());
        Ok(())
    }

    /// The row of a child, as its head says where it is.
    pub(crate) fn of(
        connection: &mut Connection,
        child: &Address,
        shared: &Shared,
    ) -> Result<Link, Fault> {
        let parent = &shared.thread.parent;
        let row = connection.row(
            "SELECT parent, version, child, record, depends, sum FROM fork_ref WHERE parent=?1 AND version=?2 AND child=?3",
            &[
                Bind::Blob(parent.as_str().as_bytes()),
                Bind::Int(int(shared.at)?),
                Bind::Blob(child.as_str().as_bytes()),
            ],
        )?;
        match row {
            Some(row) => Link::decode(row),
            None => Err(corrupt(
                "a fork that is missing",
                at("fork_ref", format!("{parent} {child}")),
            )),
        }
    }
}

/// Children of a process that depend on its history below a version, in order.
pub(crate) fn dependents(
    connection: &mut Connection,
    parent: &Address,
    below: u64,
    limit: usize,
) -> Result<Vec<ForkRef>, Fault> {
    let mut found = Vec::new();
    connection.for_each(
        "SELECT parent, version, child, record, depends, sum FROM fork_ref WHERE parent=?1 AND version<?2 ORDER BY version, child",
        &[
            Bind::Blob(parent.as_str().as_bytes()),
            Bind::Int(i64::try_from(below).unwrap_or(i64::MAX)),
        ],
        |row| {
            if found.len() >= limit {
                return Ok(ControlFlow::Break(()));
            }
            let link = Link::decode(row)?;
            if link.depends {
                found.push(ForkRef {
                    child: link.child,
                    version: link.version,
                });
            }
            Ok::<_, Fault>(ControlFlow::Continue(()))
        },
    )?;
    Ok(found)
}

/// The first child of a process, whether it depends on it or not.
pub(crate) fn first_child(
    connection: &mut Connection,
    parent: &Address,
) -> Result<Option<Link>, Fault> {
    let row = connection.row(
        "SELECT parent, version, child, record, depends, sum FROM fork_ref WHERE parent=?1 ORDER BY version, child LIMIT 1",
        &[Bind::Blob(parent.as_str().as_bytes())],
    )?;
    row.map(Link::decode).transpose()
}

impl Applying<'_> {
    /// Refuses to drop history that a child depends on.
    pub(crate) fn refuse_forks(&mut self, address: &Address, below: u64) -> Result<(), Fault> {
        self.checked.forks(self.connection, &self.meta)?;
        let found = dependents(self.connection, address, below, 1)?;
        match found.into_iter().next() {
            None => Ok(()),
            Some(ForkRef { child, version }) => Err(Fault::Store(StoreError::Forked {
                address: address.clone(),
                child,
                version,
            })),
        }
    }

    /// Notes that a child no longer needs its parent's history.
    pub(crate) fn independent(&mut self, child: &Address, head: &HeadRow) -> Result<(), Fault> {
        let Some(shared) = &head.shared else {
            return Ok(());
        };
        let mut link = Link::of(self.connection, child, shared)?;
        if link.depends {
            link.remove(self.connection, &mut self.meta)?;
            link.depends = false;
            link.insert(self.connection, &mut self.meta)?;
        }
        Ok(())
    }
}

impl Reading<'_> {
    /// Children of a process that depend on its history below a version.
    pub(crate) fn forks(
        &mut self,
        address: &Address,
        below: u64,
        limit: usize,
    ) -> Result<Vec<ForkRef>, Fault> {
        self.head(address)?;
        self.checked.forks(self.connection, self.meta)?;
        dependents(self.connection, address, below, limit)
    }
}
