//! `Cache`: checked and compiled programs by the digest of their text, up to a bound. They live in memory
//! only, so the version of the engine is that of this build.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use svit_tree::guest::GuestLimits;
use svit_value::Digest;

use crate::engine::Compiled;

/// Programs kept.
const MAX_PROGRAMS: usize = 256;
/// Bytes of program text kept in all.
const MAX_BYTES: usize = 8 << 20;

/// What the result of a check depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Key {
    source: Digest,
    max_names: u32,
    max_syntax_depth: u32,
    max_source_bytes: u64,
}

#[derive(Debug)]
struct Kept {
    compiled: Arc<Compiled>,
    bytes: usize,
    used: u64,
}

#[derive(Debug, Default)]
struct Programs {
    kept: HashMap<Key, Kept>,
    bytes: usize,
    clock: u64,
}

/// Checked programs, least recently used dropped first.
#[derive(Debug, Default)]
pub(crate) struct Cache {
    programs: Mutex<Programs>,
}

fn key(source: &str, limits: &GuestLimits) -> Key {
    Key {
        source: Digest::of(source.as_bytes()),
        max_names: limits.max_names,
        max_syntax_depth: limits.max_syntax_depth,
        max_source_bytes: limits.max_source_bytes,
    }
}

impl Cache {
    fn lock(&self) -> MutexGuard<'_, Programs> {
        // A panic under the lock would leave at worst a wrong count of bytes.
        self.programs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn get(&self, source: &str, limits: &GuestLimits) -> Option<Arc<Compiled>> {
        let key = key(source, limits);
        let mut programs = self.lock();
        programs.clock += 1;
        let now = programs.clock;
        let kept = programs.kept.get_mut(&key)?;
        kept.used = now;
        Some(kept.compiled.clone())
    }

    pub(crate) fn put(&self, source: &str, limits: &GuestLimits, compiled: Arc<Compiled>) {
        let key = key(source, limits);
        let mut programs = self.lock();
        programs.clock += 1;
        let kept = Kept {
            compiled,
            bytes: source.len(),
            used: programs.clock,
        };
        programs.bytes += source.len();
        if let Some(old) = programs.kept.insert(key, kept) {
            programs.bytes -= old.bytes;
        }
        while programs.kept.len() > MAX_PROGRAMS || programs.bytes > MAX_BYTES {
            let oldest = programs.kept.iter().min_by_key(|(_, kept)| kept.used);
            let Some(oldest) = oldest.map(|(key, _)| *key) else {
                break;
            };
            if let Some(old) = programs.kept.remove(&oldest) {
                programs.bytes -= old.bytes;
            }
        }
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.lock().kept.len()
    }
}
