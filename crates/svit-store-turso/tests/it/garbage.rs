//! Garbage collection against a model: everything that may happen, in any order, in small pieces.

use std::collections::BTreeSet;

use svit_store_turso::{OpenOptions, TursoProcessStore};
use svit_txn::{CheckpointPart, ForkRef, ProcessStore, StoreError};
use svit_value::Digest;

use crate::common::{code, place};
use crate::grown::{Dice, Grown, blocks, collect};

/// A checkpoint that is being written.
struct Unfinished {
    of: usize,
    version: u64,
    parts: std::vec::IntoIter<CheckpointPart>,
}

struct World {
    store: TursoProcessStore,
    dice: Dice,
    grown: Vec<Grown>,
    unfinished: Vec<Unfinished>,
    made: u64,
    told: [u64; 8],
}

impl World {
    async fn step(&mut self) {
        let roll = self.dice.roll(100);
        let at = self.dice.roll(self.grown.len().max(1) as u64) as usize;
        match roll {
            _ if self.grown.len() < 2 => self.create().await,
            0..3 if self.grown.len() < 9 => self.create().await,
            0..30 => {
                let key = self.dice.roll(400);
                self.grown[at].set(key, &self.store).await.unwrap();
            }
            30..45 => self.begin(at),
            45..75 => self.go_on().await,
            75..80 => self.cut(at).await,
            80..86 if self.grown.len() < 9 => self.fork(at).await,
            86..88 => self.delete(at).await,
            88..89 => drop(self.unfinished.pop()),
            _ => {
                let steps = 1 + self.dice.roll(60);
                let piece = self.store.collect(steps).await.unwrap();
                self.told[0] += piece.blocks;
                self.told[1] += u64::from(piece.done);
            }
        }
    }

    async fn create(&mut self) {
        self.made += 1;
        // Few names of contents, so that processes have blocks in common.
        let entries = 100 + self.dice.roll(3) * 50;
        let mut one = Grown::create(&format!("p{}", self.made), entries, &self.store).await;
        one.set(1, &self.store).await.unwrap();
        self.grown.push(one);
    }

    /// Begins a checkpoint of some version, built on some older one.
    fn begin(&mut self, at: usize) {
        let grown = &self.grown[at];
        let versions: Vec<u64> = grown.states.keys().copied().collect();
        let version = versions[self.dice.roll(versions.len() as u64) as usize];
        let size = 1 + self.dice.roll(20) as usize;
        let since: Option<u64> = grown
            .whole
            .iter()
            .copied()
            .filter(|_| self.dice.roll(3) > 0)
            .last();
        let since = since.or(grown
            .model
            .base
            .has_blocks()
            .then_some(grown.model.base.version));
        let parts = grown.parts(version, since.map(|since| (grown, since)), size);
        self.unfinished.push(Unfinished {
            of: at,
            version,
            parts: parts.into_iter(),
        });
    }

    /// Writes the next part of some checkpoint.
    async fn go_on(&mut self) {
        if self.unfinished.is_empty() {
            return;
        }
        let which = self.dice.roll(self.unfinished.len() as u64) as usize;
        let unfinished = &mut self.unfinished[which];
        let (of, version) = (unfinished.of, unfinished.version);
        let Some(part) = unfinished.parts.next() else {
            return;
        };
        let last = part.last;
        let grown = &mut self.grown[of];
        let already = grown.whole.contains(&version);
        match self.store.put_checkpoint(grown.model.address(), part).await {
            Ok(()) if last => {
                grown.whole.insert(version);
                self.told[2] += 1;
                self.unfinished.swap_remove(which);
            }
            Ok(()) => {}
            // Its version was cut, or what it builds on; or another became whole, or took its place.
            Err(StoreError::BadBatch { .. }) => {
                assert!(!already);
                self.told[3] += 1;
                self.unfinished.swap_remove(which);
            }
            Err(other) => panic!("{other}"),
        }
    }

    async fn cut(&mut self, at: usize) {
        let grown = &mut self.grown[at];
        let Some(version) = grown.whole.iter().next_back().copied() else {
            return;
        };
        match grown.cut(version, &self.store).await {
            Ok(()) => self.told[4] += 1,
            Err(StoreError::Forked { .. }) => self.told[5] += 1,
            Err(other) => panic!("{other}"),
        }
    }

    async fn fork(&mut self, at: usize) {
        self.made += 1;
        let grown = &self.grown[at];
        let versions: Vec<u64> = grown.states.keys().copied().collect();
        let version = versions[self.dice.roll(versions.len() as u64) as usize];
        let name = format!("p{}", self.made);
        let fork = grown.fork(&name, version, &self.store).await.unwrap();
        self.grown.push(fork);
        self.told[6] += 1;
    }

    async fn delete(&mut self, at: usize) {
        let mut heirs = Vec::new();
        for (index, grown) in self.grown.iter().enumerate() {
            let head = self.store.load(grown.model.address()).await.unwrap();
            if let Some(shared) = head.shared
                && shared.parent == *self.grown[at].model.address()
            {
                heirs.push((index, shared.events));
            }
        }
        let grown = &self.grown[at];
        let (address, epoch) = (grown.model.address(), grown.model.epoch);
        match self.store.delete(address, epoch).await {
            Ok(()) => {
                self.told[7] += 1;
                let inherited = grown.model.events.clone();
                for (index, end) in heirs {
                    let shared = inherited.iter().filter(|event| event.seq < end).cloned();
                    self.grown[index].model.events.splice(..0, shared);
                }
                self.grown.remove(at);
                self.unfinished.retain(|it| it.of != at);
                for it in &mut self.unfinished {
                    it.of -= usize::from(it.of > at);
                }
            }
            Err(StoreError::Forked { child, version, .. }) => {
                let forks = self.store.forks(address, u64::MAX, 1).await.unwrap();
                assert_eq!(forks, [ForkRef { child, version }]);
            }
            Err(other) => panic!("{other}"),
        }
    }

    async fn check(&self) {
        for grown in &self.grown {
            grown.check_blocks(&self.store).await.unwrap();
            grown.model.check(&self.store).await.unwrap();
        }
        let found = self.store.verify().await.unwrap();
        assert!(found.is_whole(), "{found:?}");
    }
}

#[tokio::test]
async fn what_is_needed_stays_and_what_is_not_goes_whatever_the_order() {
    let seeds = match std::env::var_os("SVIT_GARBAGE_ALL") {
        Some(_) => 60,
        None => 6,
    };
    for seed in 0..seeds {
        let place = place();
        let options = OpenOptions::new().wal_pages(50);
        let mut world = World {
            store: TursoProcessStore::open_with(&place.path, options)
                .await
                .unwrap(),
            dice: Dice(seed),
            grown: Vec::new(),
            unfinished: Vec::new(),
            made: 0,
            told: [0; 8],
        };
        for round in 0..600 {
            world.step().await;
            if round % 60 == 59 {
                world.check().await;
            }
        }
        // After a reopen nothing is unfinished: exactly what the model needs is left.
        world.store.close().await.unwrap();
        world.store = TursoProcessStore::open(&place.path).await.unwrap();
        world.check().await;
        collect(&world.store, 100).await;
        world.check().await;
        let needed: BTreeSet<Digest> = world
            .grown
            .iter()
            .flat_map(Grown::loadable)
            .flat_map(|state| blocks(state).into_iter().map(|block| block.digest))
            .collect();
        let stats = world.store.stats().await.unwrap();
        println!(
            "seed {seed}: [collected, runs, whole, given up, cut, refused, forked, deleted] {:?}, {} blocks",
            world.told, stats.blocks
        );
        assert_eq!(stats.blocks, needed.len() as u64, "seed {seed}");
        assert_eq!(store_unreachable(&world.store).await, 0);
    }
}

async fn store_unreachable(store: &TursoProcessStore) -> u64 {
    store.verify().await.unwrap().unreachable
}

#[tokio::test]
async fn a_damaged_or_hidden_row_ends_a_collection_before_anything_goes() {
    let harms = [
        "UPDATE block SET data=x'00' WHERE rowid=(SELECT max(rowid) FROM block)",
        "DELETE FROM block WHERE rowid=(SELECT max(rowid) FROM block)",
        "DELETE FROM checkpoint",
        "UPDATE checkpoint SET root=record",
        "DELETE FROM head",
        "DELETE FROM base",
    ];
    for harm in harms {
        let place = place();
        let store = crate::common::open(&place.path).await;
        let mut one = Grown::create("one", 300, &store).await;
        one.set(1, &store).await.unwrap();
        one.checkpoint(&store).await.unwrap();
        let blocks = store.stats().await.unwrap().blocks;
        store.close().await.unwrap();
        let database = libsql::Builder::new_local(&place.path)
            .build()
            .await
            .unwrap();
        let connection = database.connect().unwrap();
        connection.execute(harm, ()).await.unwrap();
        drop((connection, database));

        let store = crate::common::open(&place.path).await;
        for _ in 0..2 {
            let mut ended = store.collect(1_000).await;
            while ended.as_ref().is_ok_and(|piece| !piece.done) {
                ended = store.collect(1_000).await;
            }
            assert_eq!(code(ended), "corrupt", "{harm}");
        }
        assert_eq!(store.stats().await.unwrap().blocks, blocks, "{harm}");
        assert!(!store.verify().await.unwrap().is_whole(), "{harm}");
    }
}

/// The collection has passed the child, whose checkpoint then takes over all blocks of its parent,
/// which goes before the collection comes to it.
#[tokio::test]
async fn a_checkpoint_without_blocks_of_its_own_outlives_the_one_that_it_builds_on() {
    for steps in 1..12 {
        let place = place();
        let store = crate::common::open(&place.path).await;
        let parent = Grown::create("parent", 200, &store).await;
        let at = parent.model.base.version;
        let mut child = parent.fork("child", at, &store).await.unwrap();
        for _ in 0..steps {
            assert_eq!(store.collect(1).await.unwrap().blocks, 0);
        }
        let mut part = child.parts(at, Some((&parent, at)), 99).remove(0);
        assert!(part.blocks.is_empty() && part.last);
        part.since.as_mut().unwrap().root = Digest::of(b"another");
        let address = child.model.address().clone();
        let wrong = store.put_checkpoint(&address, part.clone()).await;
        assert_eq!(code(wrong), "bad_batch");
        part.since.as_mut().unwrap().root = parent.model.base.root;
        store.put_checkpoint(&address, part).await.unwrap();
        child.whole.insert(at);
        store
            .delete(parent.model.address(), parent.model.epoch)
            .await
            .unwrap();
        assert_eq!(collect(&store, 1).await, 0);
        child.check_blocks(&store).await.unwrap();
    }
}
