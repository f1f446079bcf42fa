//! The receipts of one process: by key, the newest of each client, and those that are pinned.

use std::collections::{BTreeMap, BTreeSet};

use svit_value::Text;

use crate::store::{Batch, Receipt, ReceiptKey};

#[derive(Debug, Default)]
pub(super) struct Receipts {
    clients: BTreeMap<Text, Client>,
    /// Counts receipts as they are added.
    added: u64,
}

#[derive(Debug, Default)]
struct Client {
    by_request: BTreeMap<Text, (u64, Receipt)>,
    /// Those that may be evicted, oldest first.
    loose: BTreeMap<u64, Text>,
}

impl Receipts {
    pub(super) fn get(&self, key: &ReceiptKey) -> Option<Receipt> {
        let (_, receipt) = self
            .clients
            .get(&key.client)?
            .by_request
            .get(&key.request)?;
        Some(receipt.clone())
    }

    /// Takes the receipts of a batch, lets go of those that it unpins, and evicts what is too many.
    pub(super) fn take(&mut self, batch: &mut Batch) {
        let mut touched = BTreeSet::new();
        for receipt in batch.receipts.drain(..) {
            touched.insert(receipt.key.client.clone());
            self.added += 1;
            let client = self.clients.entry(receipt.key.client.clone());
            client.or_default().add(self.added, receipt);
        }
        for (name, client) in &mut self.clients {
            if client.unpin(&batch.unpin) {
                touched.insert(name.clone());
            }
        }
        for name in touched {
            if let Some(client) = self.clients.get_mut(&name) {
                client.evict(batch.max_receipts);
            }
        }
    }
}

impl Client {
    fn add(&mut self, order: u64, receipt: Receipt) {
        let request = receipt.key.request.clone();
        if receipt.pinned_by.is_none() {
            self.loose.insert(order, request.clone());
        }
        if let Some((before, _)) = self.by_request.insert(request, (order, receipt)) {
            self.loose.remove(&before);
        }
    }

    fn unpin(&mut self, messages: &[u64]) -> bool {
        let mut any = false;
        for (request, (order, receipt)) in &mut self.by_request {
            if receipt.pinned_by.is_some_and(|by| messages.contains(&by)) {
                receipt.pinned_by = None;
                self.loose.insert(*order, request.clone());
                any = true;
            }
        }
        any
    }

    fn evict(&mut self, keep: u64) {
        while self.loose.len() as u64 > keep
            && let Some((_, request)) = self.loose.pop_first()
        {
            self.by_request.remove(&request);
        }
    }
}
