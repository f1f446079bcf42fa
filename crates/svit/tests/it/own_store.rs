//! A store of one's own, from imports of `svit` alone, passes the conformance suite.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex};

use svit::store::*;
use svit::{Address, Digest, Process, ProcessStoreExt};

#[derive(Default)]
struct OwnStore(Mutex<Tables>);

#[derive(Default)]
struct Tables {
    kept: BTreeMap<Address, Kept>,
    blocks: HashMap<Digest, Vec<u8>>,
}

struct Kept {
    head: Head,
    records: Vec<StoredRecord>,
    receipts: HashMap<ReceiptKey, Receipt>,
    events: Vec<ThreadEvent>,
}

impl Kept {
    fn add(&mut self, batch: Batch) -> StoreResult<()> {
        check_batch(&self.head, &batch)?;
        if let Some(newest) = batch.records.last() {
            self.head.version = newest.version;
            self.head.digest = newest.digest;
            self.head.root = newest.root;
        }
        self.head.next_event += batch.events.len() as u64;
        self.records.extend(batch.records);
        self.events.extend(batch.events);
        self.receipts
            .extend(batch.receipts.into_iter().map(|it| (it.key.clone(), it)));
        Ok(())
    }

    /// Whether its history holds this version with this record, or base, and root.
    fn stood_at(&self, version: u64, point: (Digest, Digest)) -> bool {
        let base = &self.head.base;
        let start = (base.version, (base.digest(), base.root));
        let later = self
            .records
            .iter()
            .map(|it| (it.version, (it.digest, it.root)));
        std::iter::once(start)
            .chain(later)
            .any(|it| it == (version, point))
    }
}

impl OwnStore {
    fn with<'a, T: Send + 'a>(
        &self,
        address: &Address,
        work: impl FnOnce(&mut Kept) -> StoreResult<T>,
    ) -> BoxFuture<'a, StoreResult<T>> {
        let mut tables = self.0.lock().unwrap();
        let missing = StoreError::NotFound {
            address: address.clone(),
        };
        let result = tables.kept.get_mut(address).ok_or(missing).and_then(work);
        Box::pin(std::future::ready(result))
    }

    fn insert(&self, base: Base, blocks: Vec<Block>, batch: Batch) -> StoreResult<u64> {
        let address = base.address.clone();
        let bad = |why: &str| StoreError::BadBatch {
            address: base.address.clone(),
            why: why.into(),
        };
        let mut tables = self.0.lock().unwrap();
        if tables.kept.contains_key(&address) {
            return Err(StoreError::AlreadyExists { address });
        }
        if let BaseKind::Forked { parent, record, .. } = &base.kind {
            let missing = StoreError::NotFound {
                address: parent.clone(),
            };
            let parent = tables.kept.get(parent).ok_or(missing)?;
            if !parent.stood_at(base.version, (*record, base.root)) {
                return Err(bad("the parent was never there"));
            }
        }
        if blocks
            .iter()
            .any(|block| Digest::of(&block.data) != block.digest)
        {
            return Err(bad("a block has another digest"));
        }
        let (version, digest, root) = (base.version, base.head(), base.root);
        let shared = base.shared();
        let next_event = base.first_event();
        let head = Head {
            version,
            digest,
            root,
            epoch: 1,
            base,
            first_event: next_event,
            next_event,
            shared,
        };
        let (records, receipts, events) = Default::default();
        let mut kept = Kept {
            head,
            records,
            receipts,
            events,
        };
        kept.add(batch)?;
        tables
            .blocks
            .extend(blocks.into_iter().map(|block| (block.digest, block.data)));
        tables.kept.insert(address, kept);
        Ok(1)
    }
}

impl ProcessStore for OwnStore {
    fn insert_base(
        &self,
        base: Base,
        blocks: Vec<Block>,
        batch: Batch,
    ) -> BoxFuture<'_, StoreResult<u64>> {
        Box::pin(std::future::ready(self.insert(base, blocks, batch)))
    }

    fn load(&self, address: &Address) -> BoxFuture<'_, StoreResult<Head>> {
        self.with(address, |kept| Ok(kept.head.clone()))
    }

    fn claim(&self, address: &Address) -> BoxFuture<'_, StoreResult<Head>> {
        self.with(address, |kept| {
            kept.head.epoch += 1;
            Ok(kept.head.clone())
        })
    }

    fn append(
        &self,
        address: &Address,
        expected: Digest,
        epoch: u64,
        batch: Batch,
    ) -> BoxFuture<'_, StoreResult<()>> {
        let address = address.clone();
        self.with(&address.clone(), |kept| {
            let Head {
                epoch: actual,
                digest,
                version,
                ..
            } = kept.head;
            if epoch != actual {
                return Err(StoreError::Fenced {
                    address,
                    epoch,
                    actual,
                });
            }
            if expected != digest {
                return Err(StoreError::Conflict {
                    address,
                    expected,
                    actual: digest,
                    version,
                });
            }
            kept.add(batch)
        })
    }

    fn records(
        &self,
        address: &Address,
        query: RecordQuery,
    ) -> BoxFuture<'_, StoreResult<Vec<StoredRecord>>> {
        self.with(address, |kept| {
            let records = kept
                .records
                .iter()
                .filter(|it| (query.from..=query.to).contains(&it.version));
            Ok(records.take(query.limit).cloned().collect())
        })
    }

    fn events(
        &self,
        address: &Address,
        query: EventQuery,
    ) -> BoxFuture<'_, StoreResult<Vec<ThreadEvent>>> {
        self.with(address, |kept| {
            let mut events = kept.events.clone();
            if query.newest_first {
                events.reverse();
                events.retain(|event| event.seq <= query.from);
            } else {
                events.retain(|event| event.seq >= query.from);
            }
            events.truncate(query.limit);
            Ok(events)
        })
    }

    fn receipt(
        &self,
        address: &Address,
        key: &ReceiptKey,
    ) -> BoxFuture<'_, StoreResult<Option<Receipt>>> {
        self.with(address, |kept| Ok(kept.receipts.get(key).cloned()))
    }

    fn blocks(&self, digests: Vec<Digest>) -> BoxFuture<'_, StoreResult<Vec<Option<Vec<u8>>>>> {
        let tables = self.0.lock().unwrap();
        let found = digests
            .iter()
            .map(|digest| tables.blocks.get(digest).cloned());
        Box::pin(std::future::ready(Ok(found.collect())))
    }

    fn addresses(
        &self,
        after: Option<&Address>,
        limit: usize,
    ) -> BoxFuture<'_, StoreResult<Vec<Address>>> {
        let tables = self.0.lock().unwrap();
        let behind = tables
            .kept
            .keys()
            .filter(|it| after.is_none_or(|after| *it > after));
        Box::pin(std::future::ready(Ok(behind
            .take(limit)
            .cloned()
            .collect())))
    }
}

#[tokio::test]
async fn it_passes_the_conformance_suite() {
    svit_testkit::conformance::store(async || Arc::new(OwnStore::default()))
        .await
        .unwrap();
}

#[tokio::test]
async fn processes_live_in_it_as_in_any_other() {
    let store: Arc<dyn ProcessStore> = Arc::new(OwnStore::default());
    let process = Process::builder("svit://local/own")
        .unwrap()
        .build()
        .unwrap();
    let process = store.create(process).await.unwrap();
    process.write("/memory/color", "teal").await.unwrap();
    let child = process.fork("svit://local/own-child").await.unwrap();
    child.write("/memory/color", "red").await.unwrap();
    drop(process);
    let again = store.resume("svit://local/own").await.unwrap();
    assert_eq!(again.read("/memory/color").unwrap(), Some("teal".into()));
    assert_eq!(store.list(None, 10).await.unwrap().len(), 2);
}
