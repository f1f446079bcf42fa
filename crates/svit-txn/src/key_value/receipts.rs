//! Receipts in rows: by key, the loose ones by age for eviction, the pinned ones by message.

use std::collections::BTreeSet;

use svit_tree::Address;
use svit_value::Text;

use super::draft::{Draft, PAGE, corrupt};
use super::{keys, rows};
use crate::store::{Receipt, ReceiptKey, StoreResult};

impl Draft<'_> {
    /// A receipt, and when it was added.
    pub(super) async fn receipt(
        &self,
        address: &Address,
        key: &ReceiptKey,
    ) -> StoreResult<Option<(Receipt, u64)>> {
        let row = keys::receipt(address, key);
        let body = self.get(&row).await?;
        body.map(|body| rows::decode_receipt(&row, &body, key))
            .transpose()
    }

    /// Adds receipts, lets go of those that messages pinned, and evicts what is too many.
    pub(super) async fn take_receipts(
        &mut self,
        address: &Address,
        added: &mut u64,
        receipts: Vec<Receipt>,
        unpin: Vec<u64>,
        keep: u64,
    ) -> StoreResult<()> {
        let mut touched = BTreeSet::new();
        for receipt in receipts {
            touched.insert(receipt.key.client.clone());
            self.forget_receipt(address, &receipt.key).await?;
            *added += 1;
            self.put_receipt(address, &receipt, *added).await?;
        }
        for message in unpin {
            self.unpin(address, message, &mut touched).await?;
        }
        for client in touched {
            self.evict(address, &client, keep).await?;
        }
        Ok(())
    }

    async fn put_receipt(
        &mut self,
        address: &Address,
        receipt: &Receipt,
        added: u64,
    ) -> StoreResult<()> {
        let key = &receipt.key;
        let body = rows::encode_receipt(address, receipt, added)?;
        self.put(keys::receipt(address, key), body);
        let index = match receipt.pinned_by {
            Some(message) => keys::pinned(address, message, added),
            None => {
                self.count_loose(address, &key.client, 1).await?;
                keys::loose(address, &key.client, added)
            }
        };
        self.put(index, rows::encode_key(key));
        Ok(())
    }

    async fn forget_receipt(&mut self, address: &Address, key: &ReceiptKey) -> StoreResult<()> {
        let Some((receipt, added)) = self.receipt(address, key).await? else {
            return Ok(());
        };
        self.remove(keys::receipt(address, key));
        match receipt.pinned_by {
            Some(message) => self.remove(keys::pinned(address, message, added)),
            None => {
                self.count_loose(address, &key.client, -1).await?;
                self.remove(keys::loose(address, &key.client, added));
            }
        }
        Ok(())
    }

    async fn unpin(
        &mut self,
        address: &Address,
        message: u64,
        touched: &mut BTreeSet<Text>,
    ) -> StoreResult<()> {
        let pinned = keys::pinned(address, message, 0)..keys::pinned(address, message, u64::MAX);
        for (row, body) in self.scan_all(pinned).await? {
            let key = rows::decode_key(&row, &body)?;
            let Some((mut receipt, added)) = self.receipt(address, &key).await? else {
                return Err(corrupt(&row, "the receipt that it points at is missing"));
            };
            self.remove(row);
            receipt.pinned_by = None;
            self.put_receipt(address, &receipt, added).await?;
            touched.insert(key.client);
        }
        Ok(())
    }

    async fn evict(&mut self, address: &Address, client: &str, keep: u64) -> StoreResult<()> {
        loop {
            let excess = self.loose(address, client).await?.saturating_sub(keep);
            if excess == 0 {
                return Ok(());
            }
            let page = usize::try_from(excess).map_or(PAGE, |excess| excess.min(PAGE));
            let loose = keys::loose(address, client, 0)..keys::loose(address, client, u64::MAX);
            let oldest = self.scan(loose, page).await?;
            if oldest.is_empty() {
                let count = keys::loose_count(address, client);
                return Err(corrupt(&count, "receipts that it counts are missing"));
            }
            for (row, body) in oldest {
                self.forget_receipt(address, &rows::decode_key(&row, &body)?)
                    .await?;
            }
        }
    }

    async fn loose(&self, address: &Address, client: &str) -> StoreResult<u64> {
        let row = keys::loose_count(address, client);
        let body = self.get(&row).await?;
        body.map_or(Ok(0), |body| rows::decode_count(&row, &body))
    }

    async fn count_loose(&mut self, address: &Address, client: &str, more: i64) -> StoreResult<()> {
        let count = self.loose(address, client).await?;
        let count = count.saturating_add_signed(more);
        self.put(
            keys::loose_count(address, client),
            rows::encode_count(count),
        );
        Ok(())
    }
}
