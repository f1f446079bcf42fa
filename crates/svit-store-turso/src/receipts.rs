//! Receipts in a batch: adding, unpinning, and evicting what is too many.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use svit_tree::Address;

use crate::apply::Applying;
use crate::fault::{Fault, at, corrupt};
use crate::head::HeadRow;
use crate::prepared::{ReceiptRow, Rows};
use crate::schema::int;
use crate::sql::Bind;
use crate::sums::Sum;

impl Applying<'_> {
    /// Takes the receipts of a batch, lets go of those that it unpins, and removes the oldest of
    /// each client that either touched.
    pub(crate) fn receipts(
        &mut self,
        address: &Address,
        head: &mut HeadRow,
        rows: &Rows,
    ) -> Result<(), Fault> {
        let mut clients: BTreeSet<Vec<u8>> = BTreeSet::new();
        for receipt in &rows.receipts {
            self.receipt(address, head, receipt)?;
            if !clients.contains(&receipt.client) {
                clients.insert(receipt.client.clone());
            }
        }
        for message in &rows.unpin {
            clients.extend(self.unpin(address, head, *message)?);
        }
        for client in &clients {
            self.evict(address, head, client, rows.max_receipts)?;
        }
        Ok(())
    }

    fn receipt(
        &mut self,
        address: &Address,
        head: &mut HeadRow,
        receipt: &ReceiptRow,
    ) -> Result<(), Fault> {
        let key = address.as_str().as_bytes();
        let name = (&receipt.client[..], &receipt.request[..]);
        let made = head.receipts_made;
        let sum = receipt.sum(address, made);
        let replaced = self.connection.row(
            "SELECT made, sum FROM receipt WHERE address=?1 AND client=?2 AND request=?3",
            &[Bind::Blob(key), Bind::Blob(name.0), Bind::Blob(name.1)],
        )?;
        let loose = self.checked.loose(self.connection, address, name.0)?;
        if let Some(mut row) = replaced {
            loose.remove(&row.count(0)?);
            head.receipts.remove(&row.array(1)?);
        }
        if receipt.pinned == 0 {
            loose.insert(made, receipt.request.clone());
        }
        self.connection.execute(
            "INSERT OR REPLACE INTO receipt(address, client, request, content, outcome, version, made, pinned, sum) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
            &[
                Bind::Blob(key),
                Bind::Blob(name.0),
                Bind::Blob(name.1),
                Bind::Blob(receipt.content.as_bytes()),
                Bind::Blob(&receipt.outcome),
                Bind::Int(int(receipt.version)?),
                Bind::Int(int(made)?),
                Bind::Int(int(receipt.pinned)?),
                Bind::Blob(&sum),
            ],
        )?;
        self.checked.added(address, name);
        head.receipts.add(&sum);
        head.receipts_made += 1;
        Ok(())
    }

    /// Lets go of the receipts that a message pinned. Gives their clients.
    fn unpin(
        &mut self,
        address: &Address,
        head: &mut HeadRow,
        message: u64,
    ) -> Result<Vec<Vec<u8>>, Fault> {
        let key = address.as_str().as_bytes();
        let mut pinned = Vec::new();
        self.connection.for_each(
            "SELECT client, request, content, outcome, version, made, pinned, sum FROM receipt WHERE address=?1 AND pinned=?2 AND pinned>0",
            &[Bind::Blob(key), Bind::Int(int(message + 1)?)],
            |row| {
                pinned.push(ReceiptRow::decode(address, row)?);
                Ok::<_, Fault>(ControlFlow::Continue(()))
            },
        )?;
        let mut clients = Vec::with_capacity(pinned.len());
        for (mut receipt, made, before) in pinned {
            receipt.pinned = 0;
            let sum = receipt.sum(address, made);
            // Before the row changes: what is read for the first time is as it was.
            let loose = self
                .checked
                .loose(self.connection, address, &receipt.client)?;
            loose.insert(made, receipt.request.clone());
            let changed = self.connection.execute(
                "UPDATE receipt SET pinned=0, sum=?4 WHERE address=?1 AND client=?2 AND request=?3",
                &[
                    Bind::Blob(key),
                    Bind::Blob(&receipt.client),
                    Bind::Blob(&receipt.request),
                    Bind::Blob(&sum),
                ],
            )?;
            if changed != 1 {
                return Err(damaged("a receipt that cannot be unpinned", address));
            }
            head.receipts.remove(&before);
            head.receipts.add(&sum);
            clients.push(receipt.client);
        }
        Ok(clients)
    }

    /// Removes a client's oldest receipts that are not pinned, until so many are left.
    fn evict(
        &mut self,
        address: &Address,
        head: &mut HeadRow,
        client: &[u8],
        keep: u64,
    ) -> Result<(), Fault> {
        let key = address.as_str().as_bytes();
        loop {
            let loose = self.checked.loose(self.connection, address, client)?;
            if loose.len() as u64 <= keep {
                return Ok(());
            }
            let Some((_, request)) = loose.pop_first() else {
                return Ok(());
            };
            let binds = [Bind::Blob(key), Bind::Blob(client), Bind::Blob(&request)];
            let row = self.connection.row(
                "SELECT sum FROM receipt WHERE address=?1 AND client=?2 AND request=?3",
                &binds,
            )?;
            let sum: Option<Sum> = row.map(|mut row| row.array(0)).transpose()?;
            let removed = self.connection.execute(
                "DELETE FROM receipt WHERE address=?1 AND client=?2 AND request=?3",
                &binds,
            )?;
            match (sum, removed) {
                (Some(sum), 1) => head.receipts.remove(&sum),
                _ => return Err(damaged("a receipt that cannot be removed", address)),
            }
            self.checked.removed(address, (client, &request));
        }
    }
}

fn damaged(what: &str, address: &Address) -> Fault {
    corrupt(what, at("receipt", address))
}
