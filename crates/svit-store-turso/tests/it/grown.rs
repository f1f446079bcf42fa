//! A process whose states are real values with blocks, and what must be loaded of them.

use std::collections::{BTreeMap, BTreeSet};

use svit_store_turso::TursoProcessStore;
use svit_txn::{
    Base, BaseKind, Batch, Block, Checkpoint, CheckpointPart, CheckpointRef, ProcessStore,
    StoreError,
};
use svit_value::{Digest, Map, Value, ValueLimits};

use crate::common::{Model, address};

/// Numbers that are the same in every run.
#[derive(Clone, Debug)]
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    /// A number below `sides`.
    pub(crate) fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % sides
    }
}

pub(crate) fn blocks(value: &Value) -> Vec<Block> {
    let blocks = value.blocks();
    blocks
        .map(|(digest, data)| Block { digest, data })
        .collect()
}

/// A model, and the state after each version that is kept.
#[derive(Clone, Debug)]
pub(crate) struct Grown {
    pub(crate) model: Model,
    pub(crate) states: BTreeMap<u64, Value>,
    /// Versions with a whole checkpoint.
    pub(crate) whole: BTreeSet<u64>,
}

impl Grown {
    /// A process with so many entries.
    pub(crate) async fn create(name: &str, entries: u64, store: &TursoProcessStore) -> Grown {
        let entries = (0..entries).map(|n| (format!("key {n}"), format!("{name} {n}")));
        let state = Value::Map(Map::from_entries(entries).unwrap());
        let mut model = Model::new(name);
        model.base.root = state.digest();
        model.digest = model.base.digest();
        model
            .root
            .clone_from(blocks(&state).first().expect("a root"));
        model.epoch = store
            .insert_base(model.base.clone(), blocks(&state), Batch::default())
            .await
            .unwrap();
        Grown {
            states: BTreeMap::from([(model.version, state)]),
            model,
            whole: BTreeSet::new(),
        }
    }

    /// The newest state.
    pub(crate) fn state(&self) -> &Value {
        &self.states[&self.model.version]
    }

    /// Changes an entry, or adds one.
    pub(crate) async fn set(
        &mut self,
        key: u64,
        store: &TursoProcessStore,
    ) -> Result<(), StoreError> {
        let mut map = self.state().as_map().unwrap().clone();
        let text = format!("changed at {} {}", self.model.version, "x".repeat(40));
        map.insert(format!("key {key}"), text).unwrap();
        self.commit(Value::Map(map), store).await
    }

    pub(crate) async fn commit(
        &mut self,
        state: Value,
        store: &TursoProcessStore,
    ) -> Result<(), StoreError> {
        let mut batch = self.model.batch(10);
        batch.records[0].root = state.digest();
        self.model.try_append(store, &batch).await?;
        self.model.landed(&batch);
        self.states.insert(self.model.version, state);
        Ok(())
    }

    /// What the history says of a version.
    pub(crate) fn point(&self, version: u64) -> Checkpoint {
        let record = match version == self.model.base.version {
            true => self.model.base.head(),
            false => {
                let mut records = self.model.records.iter();
                let record = records.find(|record| record.version == version);
                record.expect("a version that is kept").digest
            }
        };
        Checkpoint {
            version,
            record,
            root: self.states[&version].digest(),
        }
    }

    /// The parts of a checkpoint of a version, so many blocks in each.
    pub(crate) fn parts(
        &self,
        version: u64,
        since: Option<(&Grown, u64)>,
        size: usize,
    ) -> Vec<CheckpointPart> {
        let state = &self.states[&version];
        let blocks: Vec<Block> = match since {
            None => blocks(state),
            Some((of, older)) => {
                let blocks = state.new_blocks(&of.states[&older]);
                blocks
                    .map(|(digest, data)| Block { digest, data })
                    .collect()
            }
        };
        let since = since.map(|(of, version)| CheckpointRef {
            address: of.model.address().clone(),
            version,
            root: of.states[&version].digest(),
        });
        let mut chunks: Vec<Vec<Block>> = blocks.chunks(size).map(<[Block]>::to_vec).collect();
        if chunks.is_empty() {
            chunks.push(Vec::new());
        }
        let count = chunks.len();
        chunks
            .into_iter()
            .enumerate()
            .map(|(index, blocks)| CheckpointPart {
                checkpoint: self.point(version),
                since: since.clone(),
                index: index as u64,
                blocks,
                last: index + 1 == count,
            })
            .collect()
    }

    /// Writes a whole checkpoint of the newest version, building on the newest one before.
    pub(crate) async fn checkpoint(&mut self, store: &TursoProcessStore) -> Result<(), StoreError> {
        let version = self.model.version;
        let since = self.whole.iter().next_back().copied();
        for part in self.parts(version, since.map(|since| (&*self, since)), 7) {
            store.put_checkpoint(self.model.address(), part).await?;
        }
        self.whole.insert(version);
        Ok(())
    }

    /// The base that a cut at a version makes.
    pub(crate) fn cut_base(&self, version: u64) -> Base {
        let Checkpoint { record, root, .. } = self.point(version);
        Base {
            address: self.model.address().clone(),
            version,
            root,
            kind: BaseKind::Checkpoint {
                record,
                thread: self.model.base.shared(),
            },
        }
    }

    /// Cuts at a version.
    pub(crate) async fn cut(
        &mut self,
        version: u64,
        store: &TursoProcessStore,
    ) -> Result<(), StoreError> {
        let base = self.cut_base(version);
        let (address, epoch) = (self.model.address().clone(), self.model.epoch);
        store.cut(&address, epoch, base.clone()).await?;
        self.landed_cut(base);
        Ok(())
    }

    /// Takes a cut as done.
    pub(crate) fn landed_cut(&mut self, base: Base) {
        let version = base.version;
        self.model.base = base;
        self.model
            .root
            .clone_from(&blocks(&self.states[&version])[0]);
        self.model.records.retain(|record| record.version > version);
        self.states = self.states.split_off(&version);
        self.whole = self.whole.split_off(&version);
    }

    /// A child that starts from a version.
    pub(crate) async fn fork(
        &self,
        name: &str,
        version: u64,
        store: &TursoProcessStore,
    ) -> Result<Grown, StoreError> {
        let Checkpoint { record, root, .. } = self.point(version);
        let base = Base {
            address: address(name),
            version,
            root,
            kind: BaseKind::Forked {
                parent: self.model.address().clone(),
                record,
                events: self.model.next_event,
            },
        };
        let mut model = Model::new(name);
        model.version = version;
        model.digest = base.digest();
        model.next_event = self.model.next_event;
        model.root.clone_from(&blocks(&self.states[&version])[0]);
        model.epoch = store
            .insert_base(base.clone(), Vec::new(), Batch::default())
            .await?;
        model.base = base;
        Ok(Grown {
            states: BTreeMap::from([(version, self.states[&version].clone())]),
            model,
            whole: BTreeSet::new(),
        })
    }

    /// Every state that the store must be able to load from blocks alone.
    pub(crate) fn loadable(&self) -> impl Iterator<Item = &Value> {
        let base = self
            .model
            .base
            .has_blocks()
            .then_some(self.model.base.version);
        let versions = self.whole.iter().copied().chain(base);
        versions.map(|version| &self.states[&version])
    }

    /// Loads each of them, and compares the list of checkpoints.
    pub(crate) async fn check_blocks(&self, store: &TursoProcessStore) -> Result<(), StoreError> {
        let found = store
            .checkpoints(self.model.address(), u64::MAX, usize::MAX)
            .await?;
        let wanted: Vec<Checkpoint> = self.whole.iter().rev().map(|at| self.point(*at)).collect();
        assert_eq!(found, wanted, "{}", self.model.address());
        for state in self.loadable() {
            let wanted = blocks(state);
            let digests: Vec<Digest> = wanted.iter().map(|block| block.digest).collect();
            let found = store.blocks(digests).await?;
            let mut by_digest = BTreeMap::new();
            for (block, found) in wanted.iter().zip(found) {
                let found = found.unwrap_or_else(|| panic!("block {} is gone", block.digest));
                by_digest.insert(block.digest, found);
            }
            let mut source = |digest: Digest| by_digest.get(&digest).cloned();
            let loaded = Value::from_blocks(state.digest(), &mut source, &ValueLimits::default());
            assert_eq!(&loaded.unwrap(), state);
        }
        Ok(())
    }
}

/// Collects in pieces of so many steps until it is at the end. Gives the number of blocks removed.
pub(crate) async fn collect(store: &TursoProcessStore, steps: u64) -> u64 {
    let mut removed = 0;
    loop {
        let piece = store.collect(steps).await.unwrap();
        removed += piece.blocks;
        if piece.done {
            return removed;
        }
    }
}
