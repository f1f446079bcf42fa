//! Generators: values, processes and whole histories as data, from a seed. The same seed gives the
//! same, on every machine and in every version of Rust.
//!
//! ```
//! use svit_testkit::generate::{self, Random};
//!
//! let steps = generate::steps(7, 100);
//! assert_eq!(steps, generate::steps(7, 100));
//! assert_ne!(steps, generate::steps(8, 100));
//!
//! let mut random = Random::new(7);
//! let (one, other) = (generate::value(&mut random, 3), generate::value(&mut random, 3));
//! assert_ne!(one, other);
//! ```

use std::sync::Arc;

use svit_tree::Path;
use svit_tree::guest::{Guest, GuestError, GuestErrorKind, GuestLimits, Host, HostError, Program};
use svit_txn::{Error, LimitKind, Limits, Process, ProcessBuilder};
use svit_value::{Bytes, List, Map, Value, value};

/// Numbers that look random, from a seed: SplitMix64.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// Numbers from a seed.
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next number.
    pub const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `end`; 0 if that is 0.
    pub const fn below(&mut self, end: u64) -> u64 {
        match end {
            0 => 0,
            end => self.next() % end,
        }
    }

    /// One of some.
    pub const fn pick<'a, T>(&mut self, some: &'a [T]) -> Option<&'a T> {
        match some.len() {
            0 => None,
            len => Some(&some[self.below(len as u64) as usize]),
        }
    }
}

/// A value of any kind, at most so many levels deep. Small as a rule; one in sixteen texts is large
/// enough to be blocks of its own.
pub fn value(random: &mut Random, depth: u32) -> Value {
    let kinds = if depth > 1 { 9 } else { 7 };
    match random.below(kinds) {
        0 => Value::Null,
        1 => Value::from(random.below(2) == 1),
        2 => Value::Int(random.next() as i64 >> random.below(64)),
        3 => {
            Value::float(f64::from(random.below(1 << 20) as u32) / 64.0 - 99.5).unwrap_or_default()
        }
        4 => Value::Bytes(Bytes::from(&random.next().to_be_bytes()[..])),
        5 | 6 => Value::from(text(random)),
        7 => {
            let count = random.below(6);
            let values = (0..count).map(|_| value(random, depth - 1));
            List::from_values(values).map_or(Value::Null, Value::List)
        }
        _ => {
            let count = random.below(6);
            let entries = (0..count).map(|_| (text(random), value(random, depth - 1)));
            let entries: Vec<_> = entries.collect();
            Map::from_entries(entries).map_or(Value::Null, Value::Map)
        }
    }
}

fn text(random: &mut Random) -> String {
    const WORDS: [&str; 8] = ["", "a", "b/c", "~1", "\u{0}", "äöü", "\u{1f980}", "word"];
    let word = |random: &mut Random| random.pick(&WORDS).copied().unwrap_or_default();
    let count = if random.below(16) == 0 { 700 } else { 3 };
    (0..random.below(count + 1)).map(|_| word(random)).collect()
}

/// What is done to one process.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Action {
    /// `/memory/k<key>` is set.
    Write {
        /// Which key.
        key: u64,
        /// To what.
        value: Value,
    },
    /// `/memory/k<key>` is removed; refused if it is not there.
    Remove {
        /// Which key.
        key: u64,
    },
    /// A script adds to `/memory/count`.
    Exec {
        /// How much.
        by: i64,
    },
    /// A script writes, and then fails.
    ExecFailing,
    /// A message is put into the inbox.
    Enqueue {
        /// The message.
        message: Value,
    },
    /// The nth message is taken out of the inbox; refused if there are fewer.
    Acknowledge {
        /// From 0.
        nth: u64,
    },
    /// A turn ends: an event of the thread.
    Note {
        /// Its body.
        body: Value,
    },
    /// It is forked.
    Fork,
    /// It is forked where it stood.
    ForkAt {
        /// So many percent of the way back.
        back: u64,
    },
    /// A checkpoint is made.
    Checkpoint,
    /// Older versions are forgotten.
    Cut {
        /// So many percent of the way back.
        back: u64,
    },
    /// It is deleted.
    Delete,
    /// Garbage is collected, in pieces.
    Collect {
        /// Of so many blocks.
        steps: u64,
    },
    /// It is taken over, and its owner so far fenced.
    Resume,
    /// A snapshot is made and restored.
    Snapshot,
    /// An older version is read.
    ReadAt {
        /// So many percent of the way back.
        back: u64,
    },
}

/// A step of a history of some processes.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// Which of the processes that are there, counted around.
    pub process: usize,
    /// What is done to it.
    pub action: Action,
}

/// A history: how it goes with so many steps. Ordinary changes are most of it.
pub fn steps(seed: u64, count: usize) -> Vec<Step> {
    let mut random = Random::new(seed);
    let step = |_| Step {
        process: random.below(8) as usize,
        action: action(&mut random),
    };
    (0..count).map(step).collect()
}

/// What may be done to a process.
pub fn action(random: &mut Random) -> Action {
    let back = random.below(101);
    match random.below(40) {
        0..8 => Action::Write {
            key: random.below(5),
            value: value(random, 4),
        },
        8..11 => Action::Remove {
            key: random.below(5),
        },
        11..17 => Action::Exec {
            by: random.below(7) as i64 - 3,
        },
        17 => Action::ExecFailing,
        18..22 => Action::Enqueue {
            message: value(random, 2),
        },
        22..24 => Action::Acknowledge {
            nth: random.below(3),
        },
        24..26 => Action::Note {
            body: value(random, 2),
        },
        26 | 27 => Action::Fork,
        28 => Action::ForkAt { back },
        29..31 => Action::Checkpoint,
        31 => Action::Cut { back },
        32 => Action::Delete,
        33 | 34 => Action::Collect {
            steps: random.below(20) + 1,
        },
        35 | 36 => Action::Resume,
        37 => Action::Snapshot,
        _ => Action::ReadAt { back },
    }
}

/// A process for these actions, before the first: it counts from 0, and has the scripts that they run.
///
/// # Errors
/// [`Error`] if the address is none.
pub fn process(address: &str) -> Result<ProcessBuilder, Error> {
    let script = |source: &str| value!({"source": source, "language": LANGUAGE});
    Ok(Process::builder(address)?
        .guest(LANGUAGE, guest())
        // A machine that is busy must not make a history another one.
        .limits(Limits {
            max_execution_millis: LimitKind::ExecutionMillis.maximum(),
            ..Limits::default()
        })
        .memory("count", 0)
        .library("add", script("add"))
        .library("fail", script("fail")))
}

/// The language of the scripts of [`process`].
pub const LANGUAGE: &str = "svit-testkit-count@1";

/// The guest for [`LANGUAGE`].
pub fn guest() -> Arc<dyn Guest> {
    Arc::new(Count)
}

/// `add` adds the input to `/memory/count`, and `fail` does so and fails.
struct Count;

impl Guest for Count {
    fn language(&self) -> &str {
        LANGUAGE
    }

    fn check(&self, _: &Program, _: &GuestLimits) -> Result<(), GuestError> {
        Ok(())
    }

    fn run(
        &self,
        program: &Program,
        input: Value,
        host: Arc<dyn Host>,
        _: &GuestLimits,
    ) -> Result<Value, GuestError> {
        let failed = |why: String| GuestError::new(GuestErrorKind::Runtime, "failed", why);
        let refused = |error: HostError| failed(error.message.to_string());
        let path = Path::parse("/memory/count").map_err(|error| failed(error.to_string()))?;
        let before = host.read(&path).map_err(refused)?;
        let number = |value: Option<&Value>| value.and_then(Value::as_int).unwrap_or(0);
        let sum = Value::Int(number(before.as_ref()) + number(Some(&input)));
        host.write(&path, sum.clone()).map_err(refused)?;
        match &*program.source {
            "add" => Ok(sum),
            _ => Err(failed("as it is meant to".to_owned())),
        }
    }
}

#[cfg(test)]
mod tests;
