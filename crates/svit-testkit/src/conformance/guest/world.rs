//! A host that grants a few paths, keeps a journal of what it was asked, and runs nested programs.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use svit_tree::Path;
use svit_tree::guest::{Guest, GuestError, GuestLimits, Host, HostError, LogLevel, Meter, Program};
use svit_value::{Text, Value};

use super::Subject;

/// Ticks of a run that needs few.
pub(super) const BUDGET: u64 = 1_000_000;

/// Programs inside one another that the host allows.
const MAX_EXEC: usize = 8;

pub(super) fn limits() -> GuestLimits {
    GuestLimits {
        max_execution: Duration::from_secs(30),
        ..GuestLimits::default()
    }
}

pub(super) struct World {
    this: Weak<World>,
    guest: Arc<dyn Guest>,
    limits: GuestLimits,
    meter: Meter,
    inner: Mutex<Option<String>>,
    port_wait: Mutex<Duration>,
    open: Mutex<usize>,
    values: Mutex<BTreeMap<String, Value>>,
    journal: Mutex<Vec<String>>,
}

fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What one run came to.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Ran {
    pub(super) result: Result<Value, GuestError>,
    pub(super) ticks: u64,
    /// What the host was asked, in order.
    pub(super) journal: Vec<String>,
}

impl Ran {
    /// The result as text.
    pub(super) fn shown(&self) -> String {
        match &self.result {
            Ok(value) => value.to_string(),
            Err(error) => format!("{:?} {}: {}", error.kind, error.code, error.message),
        }
    }
}

impl Subject {
    pub(super) fn program(&self, source: &str) -> Program {
        Program {
            name: Text::from("/lib/subject"),
            source: Text::from(source),
            language: Text::from(self.guest.language()),
        }
    }

    /// Runs a program with a budget that it does not need.
    pub(super) fn run(&self, source: &str, input: Value) -> Ran {
        self.run_in(&self.world(BUDGET, limits()), source, input)
    }

    pub(super) fn run_in(&self, world: &Arc<World>, source: &str, input: Value) -> Ran {
        let program = self.program(source);
        let host: Arc<dyn Host> = world.clone();
        let result = self.guest.run(&program, input, host, &world.limits);
        Ran {
            result,
            ticks: world.meter.used(),
            journal: held(&world.journal).clone(),
        }
    }

    pub(super) fn world(&self, ticks: u64, limits: GuestLimits) -> Arc<World> {
        let values = [("/memory/a", 1), ("/memory/c", 3)];
        let values = values.map(|(path, n)| (path.to_owned(), Value::from(n)));
        Arc::new_cyclic(|this| World {
            this: this.clone(),
            guest: self.guest.clone(),
            limits,
            meter: Meter::new(ticks),
            inner: Mutex::default(),
            port_wait: Mutex::default(),
            open: Mutex::default(),
            values: Mutex::new(BTreeMap::from(values)),
            journal: Mutex::default(),
        })
    }
}

impl World {
    /// Sets the program at `/lib/inner`.
    pub(super) fn with_inner(self: Arc<Self>, source: &str) -> Arc<Self> {
        *held(&self.inner) = Some(source.to_owned());
        self
    }

    /// Lets the port take its time.
    pub(super) fn with_port_wait(self: Arc<Self>, wait: Duration) -> Arc<Self> {
        *held(&self.port_wait) = wait;
        self
    }

    fn note(&self, text: String) {
        held(&self.journal).push(text);
    }
}

impl Host for World {
    fn meter(&self) -> &Meter {
        &self.meter
    }

    fn discover(&self, path: &Path) -> Result<Vec<Text>, HostError> {
        self.note(format!("discover {path}"));
        Ok(Vec::new())
    }

    fn read(&self, path: &Path) -> Result<Option<Value>, HostError> {
        self.note(format!("read {path}"));
        Ok(held(&self.values).get(&path.to_string()).cloned())
    }

    fn stat(&self, path: &Path) -> Result<Value, HostError> {
        self.note(format!("stat {path}"));
        Ok(Value::Null)
    }

    fn write(&self, path: &Path, value: Value) -> Result<(), HostError> {
        self.note(format!("write {path} {}", value.digest()));
        match path.to_string().as_str() {
            "/denied" => Err(HostError::soft("denied", "nobody may write there")),
            "/hard" => Err(HostError::hard("max_writes", "that was one too many")),
            path => {
                held(&self.values).insert(path.to_owned(), value);
                Ok(())
            }
        }
    }

    fn remove(&self, path: &Path) -> Result<bool, HostError> {
        self.note(format!("remove {path}"));
        Ok(held(&self.values).remove(&path.to_string()).is_some())
    }

    fn exec(&self, path: &Path, input: Value) -> Result<Value, HostError> {
        self.note(format!("exec {path}"));
        let inner = held(&self.inner).clone();
        let (Some(inner), Some(this)) = (inner, self.this.upgrade()) else {
            return Err(HostError::soft("no_script", "there is no such script"));
        };
        if *held(&self.open) >= MAX_EXEC {
            return Err(HostError::hard(
                "max_exec_depth",
                "too many runs inside one another",
            ));
        }
        *held(&self.open) += 1;
        let program = Program {
            name: Text::from(path.to_string()),
            source: Text::from(inner),
            language: Text::from(self.guest.language()),
        };
        let result = self.guest.run(&program, input, this, &self.limits);
        *held(&self.open) -= 1;
        result.map_err(|error| match error.is_hard() {
            true => HostError::hard(error.code, error.message),
            false => HostError::soft(error.code, error.message),
        })
    }

    fn log(&self, level: LogLevel, message: Text, fields: Value) -> Result<(), HostError> {
        let _ = fields;
        self.note(format!("log {} {message}", level.as_str()));
        Ok(())
    }

    fn send(&self, message: Value) -> Result<(), HostError> {
        self.note(format!("send {}", message.digest()));
        Ok(())
    }

    fn port_call(&self, name: &str, input: Value) -> Result<Value, HostError> {
        self.note(format!("port {name} {}", input.digest()));
        std::thread::sleep(*held(&self.port_wait));
        match name {
            "echo" => Ok(input),
            _ => Err(HostError::soft("no_port", "there is no such port")),
        }
    }
}
