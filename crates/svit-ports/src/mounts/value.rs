//! `ValueMount`: a value that the host keeps outside of the process.

use std::sync::{Mutex, MutexGuard, PoisonError};

use svit_tree::mount::{
    Grant, Locality, MountDescriptor, MountError, MountPath, MountProvider, MountStat,
};
use svit_tree::{Mutation, apply, lookup};
use svit_value::{Kind, Text, Value};

/// A value in the host's memory, as a mount.
///
/// It is no part of the process: it is not in its digest, its snapshots or its history, and it is gone
/// when the host drops it. A write sets what is at a path, as in the process itself: the parent must be
/// there.
///
/// ```
/// use svit_ports::ValueMount;
/// use svit_tree::mount::{MountPath, MountProvider};
/// use svit_value::value;
///
/// let prices = ValueMount::read_only(value!({"tea": 3})).source("today's prices");
/// let tea = MountPath::parse("/tea")?;
/// assert_eq!(prices.read(&tea, 1_000)?, Some(3.into()));
/// prices.set(value!({"tea": 4}));
/// assert_eq!(prices.read(&tea, 1_000)?, Some(4.into()));
/// assert!(prices.write(&tea, &5.into()).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct ValueMount {
    value: Mutex<Value>,
    grant: Grant,
    source: Text,
}

impl ValueMount {
    /// A value to be read.
    pub fn read_only(value: impl Into<Value>) -> Self {
        Self::granting(value.into(), Grant::Read)
    }

    /// A value to be read and written.
    pub fn read_write(value: impl Into<Value>) -> Self {
        Self::granting(value.into(), Grant::ReadWrite)
    }

    fn granting(value: Value, grant: Grant) -> Self {
        Self {
            value: Mutex::new(value),
            grant,
            source: Text::from("a value of the host"),
        }
    }

    /// Says in words which value it is. The words are committed.
    #[must_use]
    pub fn source(mut self, source: impl Into<Text>) -> Self {
        self.source = source.into();
        self
    }

    /// The value as it is now.
    pub fn get(&self) -> Value {
        self.held().clone()
    }

    /// Replaces the value.
    pub fn set(&self, value: impl Into<Value>) {
        *self.held() = value.into();
    }

    fn held(&self) -> MutexGuard<'_, Value> {
        // A value is replaced in one assignment, so a panic elsewhere cannot leave half of one.
        self.value.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn check_grant(&self, path: &MountPath) -> Result<(), MountError> {
        match self.grant {
            Grant::ReadWrite => Ok(()),
            Grant::Read => Err(MountError::Denied { path: path.clone() }),
        }
    }

    fn edit(&self, path: &MountPath, edit: Mutation) -> Result<(), MountError> {
        self.check_grant(path)?;
        let mut held = self.held();
        *held = apply(&held, &[edit]).map_err(|error| MountError::Refused {
            path: path.clone(),
            why: error.to_string(),
        })?;
        Ok(())
    }
}

impl MountProvider for ValueMount {
    fn descriptor(&self) -> MountDescriptor {
        MountDescriptor {
            kind: Text::from("value"),
            source: self.source.clone(),
            locality: Locality::Local,
            grant: self.grant,
        }
    }

    fn list(&self, path: &MountPath, limit: usize) -> Result<Vec<Text>, MountError> {
        let held = self.held();
        let found = lookup(&held, path.as_path());
        let entries = found.map_or(0, entries);
        if entries > limit as u64 {
            return Err(MountError::TooLarge {
                path: path.clone(),
                unit: "entries",
                allowed: limit as u64,
                actual: entries,
            });
        }
        Ok(match found {
            Some(Value::Map(map)) => map.keys().cloned().collect(),
            Some(Value::List(list)) => (0..list.len()).map(|n| Text::from(n.to_string())).collect(),
            _ => Vec::new(),
        })
    }

    fn read(&self, path: &MountPath, max_bytes: u64) -> Result<Option<Value>, MountError> {
        let held = self.held();
        let Some(found) = lookup(&held, path.as_path()) else {
            return Ok(None);
        };
        let actual = found.measure().text_bytes;
        if actual > max_bytes {
            return Err(MountError::TooLarge {
                path: path.clone(),
                unit: "bytes",
                allowed: max_bytes,
                actual,
            });
        }
        Ok(Some(found.clone()))
    }

    fn stat(&self, path: &MountPath) -> Result<Option<MountStat>, MountError> {
        Ok(lookup(&self.held(), path.as_path()).map(|found| MountStat {
            kind: found.kind(),
            entries: Some(entries(found)),
            bytes: matches!(found.kind(), Kind::Text | Kind::Bytes)
                .then(|| found.measure().text_bytes),
        }))
    }

    fn write(&self, path: &MountPath, value: &Value) -> Result<(), MountError> {
        self.edit(path, Mutation::set(path.as_path().clone(), value.clone()))
    }

    fn remove(&self, path: &MountPath) -> Result<(), MountError> {
        self.check_grant(path)?;
        if lookup(&self.held(), path.as_path()).is_none() {
            return Err(MountError::Missing { path: path.clone() });
        }
        self.edit(path, Mutation::remove(path.as_path().clone()))
    }
}

fn entries(value: &Value) -> u64 {
    match value {
        Value::Map(map) => map.len() as u64,
        Value::List(list) => list.len() as u64,
        _ => 0,
    }
}

#[cfg(test)]
mod tests;
