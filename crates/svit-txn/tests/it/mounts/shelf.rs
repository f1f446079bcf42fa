//! `Shelf`: a mount for tests that holds a value, says what it was asked, and fails when told to.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};

use svit_tree::mount::{
    Grant, Locality, MountDescriptor, MountError, MountPath, MountProvider, MountStat,
};
use svit_tree::{Mutation, apply, lookup};
use svit_value::{Kind, Text, Value, value};

/// What the shelf does at a write.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Trouble {
    Fails,
    Panics,
}

pub(crate) struct Shelf {
    held: Mutex<Value>,
    asked: Mutex<Vec<String>>,
    /// At the write of this number, from 0.
    trouble: Mutex<Option<(usize, Trouble)>>,
    writes: Mutex<usize>,
    grant: Grant,
    gate: Option<Mutex<(Sender<()>, Receiver<()>)>>,
}

impl Shelf {
    pub(crate) fn of(held: Value) -> Arc<Self> {
        Arc::new(Self::granting(held, Grant::ReadWrite))
    }

    pub(crate) fn granting(held: Value, grant: Grant) -> Self {
        Self {
            held: Mutex::new(held),
            asked: Mutex::default(),
            trouble: Mutex::default(),
            writes: Mutex::default(),
            grant,
            gate: None,
        }
    }

    /// A shelf that says when a write has reached it, and makes it when it is told to.
    pub(crate) fn gated(held: Value) -> (Arc<Self>, Receiver<()>, Sender<()>) {
        let (reached, reached_here) = channel();
        let (go_on, go_on_there) = channel();
        let gate = Some(Mutex::new((reached, go_on_there)));
        let shelf = Self {
            gate,
            ..Self::granting(held, Grant::ReadWrite)
        };
        (Arc::new(shelf), reached_here, go_on)
    }

    /// A usual one.
    pub(crate) fn usual() -> Arc<Self> {
        Self::of(value!({"a": 1, "deep": {"x": "text"}, "list": [1, 2, 3]}))
    }

    pub(crate) fn held(&self) -> Value {
        self.held.lock().unwrap().clone()
    }

    /// What it was asked since this was last called.
    pub(crate) fn asked(&self) -> Vec<String> {
        std::mem::take(&mut self.asked.lock().unwrap())
    }

    /// The next write but `later` fails in this way.
    pub(crate) fn trouble(&self, later: usize, trouble: Trouble) {
        let writes = *self.writes.lock().unwrap();
        *self.trouble.lock().unwrap() = Some((writes + later, trouble));
    }

    fn note(&self, what: &str, path: &MountPath) {
        self.asked.lock().unwrap().push(format!("{what} {path}"));
    }

    fn edit(&self, what: &str, path: &MountPath, edit: Mutation) -> Result<(), MountError> {
        self.note(what, path);
        if let Some(gate) = &self.gate {
            let gate = gate.lock().unwrap();
            gate.0.send(()).unwrap();
            let soon = std::time::Duration::from_secs(20);
            gate.1.recv_timeout(soon).unwrap();
        }
        let number = {
            let mut writes = self.writes.lock().unwrap();
            *writes += 1;
            *writes - 1
        };
        let trouble = *self.trouble.lock().unwrap();
        match trouble {
            Some((at, Trouble::Panics)) if at == number => panic!("a mount panics, as told"),
            Some((at, Trouble::Fails)) if at == number => {
                return Err(MountError::Unavailable {
                    path: path.clone(),
                    why: "as told".to_owned(),
                });
            }
            _ => {}
        }
        let mut held = self.held.lock().unwrap();
        *held = apply(&held, &[edit]).map_err(|error| MountError::Refused {
            path: path.clone(),
            why: error.to_string(),
        })?;
        Ok(())
    }
}

impl MountProvider for Shelf {
    fn descriptor(&self) -> MountDescriptor {
        MountDescriptor {
            kind: "shelf".into(),
            source: "a shelf of the tests".into(),
            locality: Locality::Local,
            grant: self.grant,
        }
    }

    fn list(&self, path: &MountPath, limit: usize) -> Result<Vec<Text>, MountError> {
        self.note("list", path);
        let names: Vec<Text> = match lookup(&self.held(), path.as_path()) {
            Some(Value::Map(map)) => map.keys().cloned().collect(),
            Some(Value::List(list)) => (0..list.len()).map(|n| n.to_string().into()).collect(),
            _ => Vec::new(),
        };
        if names.len() > limit {
            return Err(MountError::TooLarge {
                path: path.clone(),
                unit: "entries",
                allowed: limit as u64,
                actual: names.len() as u64,
            });
        }
        Ok(names)
    }

    fn read(&self, path: &MountPath, max_bytes: u64) -> Result<Option<Value>, MountError> {
        self.note("read", path);
        if path.to_string().ends_with("panic") {
            panic!("a mount panics, as told");
        }
        let held = self.held();
        let found = lookup(&held, path.as_path());
        let actual = found.map_or(0, |value| value.measure().text_bytes);
        if actual > max_bytes {
            return Err(MountError::TooLarge {
                path: path.clone(),
                unit: "bytes",
                allowed: max_bytes,
                actual,
            });
        }
        Ok(found.cloned())
    }

    fn stat(&self, path: &MountPath) -> Result<Option<MountStat>, MountError> {
        self.note("stat", path);
        let held = self.held();
        Ok(lookup(&held, path.as_path()).map(|value| MountStat {
            kind: value.kind(),
            entries: match value {
                Value::Map(map) => Some(map.len() as u64),
                _ => None,
            },
            bytes: match value {
                Value::Text(text) => Some(text.len() as u64),
                _ => None,
            },
        }))
    }

    fn check(&self, path: &MountPath, value: Option<&Value>) -> Result<(), MountError> {
        match value.map(Value::kind) {
            Some(Kind::Bool) => Err(MountError::Refused {
                path: path.clone(),
                why: "no booleans on this shelf".to_owned(),
            }),
            _ => Ok(()),
        }
    }

    fn write(&self, path: &MountPath, value: &Value) -> Result<(), MountError> {
        let edit = Mutation::set(path.as_path().clone(), value.clone());
        self.edit("write", path, edit)
    }

    fn remove(&self, path: &MountPath) -> Result<(), MountError> {
        self.edit("remove", path, Mutation::remove(path.as_path().clone()))
    }
}
