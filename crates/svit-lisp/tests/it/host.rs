//! A small host in memory: one map as the tree, logs, messages and a port that echoes.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use svit_lisp::{LANGUAGE, Lisp, Script};
use svit_tree::guest::{Guest, GuestError, GuestLimits, Host, HostError, LogLevel, Meter, Program};
use svit_tree::{Mutation, Op, Path, apply, lookup};
use svit_value::{Text, Value, value};

pub(crate) fn limits() -> GuestLimits {
    GuestLimits {
        max_execution: Duration::from_secs(20),
        ..GuestLimits::default()
    }
}

pub(crate) struct World {
    me: Weak<World>,
    lisp: Lisp,
    limits: GuestLimits,
    meter: Meter,
    depth: Mutex<u32>,
    pub(crate) max_depth: AtomicU32,
    pub(crate) tree: Mutex<Value>,
    pub(crate) logs: Mutex<Vec<String>>,
    pub(crate) sent: Mutex<Vec<Value>>,
    pub(crate) port_calls: AtomicU32,
}

impl World {
    pub(crate) fn new(lisp: &Lisp, tree: Value, limits: GuestLimits) -> Arc<World> {
        Self::with_ticks(lisp, tree, limits, 1_000_000)
    }

    pub(crate) fn with_ticks(
        lisp: &Lisp,
        tree: Value,
        limits: GuestLimits,
        ticks: u64,
    ) -> Arc<World> {
        Arc::new_cyclic(|me| World {
            me: me.clone(),
            lisp: lisp.clone(),
            meter: Meter::new(ticks),
            limits,
            depth: Mutex::new(0),
            max_depth: AtomicU32::new(16),
            tree: Mutex::new(tree),
            logs: Mutex::default(),
            sent: Mutex::default(),
            port_calls: AtomicU32::new(0),
        })
    }

    pub(crate) fn run(&self, source: &str, input: Value) -> Result<Value, GuestError> {
        let program = Program {
            name: Text::from("/lib/test"),
            source: Text::from(source),
            language: Text::from(LANGUAGE),
        };
        let host: Arc<dyn Host> = self.me.upgrade().unwrap();
        self.lisp.run(&program, input, host, &self.limits)
    }

    pub(crate) fn ticks(&self) -> u64 {
        self.meter.used()
    }

    fn edit(&self, path: &Path, op: Op) -> Result<(), HostError> {
        let mut tree = self.tree.lock().unwrap();
        let path = path.clone();
        *tree = apply(&tree, &[Mutation { path, op }])
            .map_err(|e| HostError::soft("bad_edit", e.to_string()))?;
        Ok(())
    }
}

impl Host for World {
    fn meter(&self) -> &Meter {
        &self.meter
    }

    fn discover(&self, path: &Path) -> Result<Vec<Text>, HostError> {
        let tree = self.tree.lock().unwrap();
        let map = lookup(&tree, path).and_then(Value::as_map);
        Ok(map.map_or_else(Vec::new, |m| m.keys().cloned().collect()))
    }

    fn read(&self, path: &Path) -> Result<Option<Value>, HostError> {
        Ok(lookup(&self.tree.lock().unwrap(), path).cloned())
    }

    fn stat(&self, path: &Path) -> Result<Value, HostError> {
        match self.read(path)? {
            Some(found) => Ok(value!({"kind": (found.kind().to_string())})),
            None => Ok(Value::Null),
        }
    }

    fn write(&self, path: &Path, value: Value) -> Result<(), HostError> {
        if !path.to_string().starts_with("/memory/") {
            return Err(HostError::soft("read_only", "only /memory can be written"));
        }
        self.edit(path, Op::Set(value))
    }

    fn remove(&self, path: &Path) -> Result<bool, HostError> {
        let there = self.read(path)?.is_some();
        if there {
            self.edit(path, Op::Remove)?;
        }
        Ok(there)
    }

    fn exec(&self, path: &Path, input: Value) -> Result<Value, HostError> {
        if let Some(port) = path.to_string().strip_prefix("/ports/") {
            return self.port_call(port, input);
        }
        let found = self
            .read(path)?
            .ok_or_else(|| HostError::soft("no_script", "no such script"))?;
        let script =
            Script::from_value(&found).map_err(|e| HostError::soft("no_script", e.to_string()))?;
        let program = script.to_program(path.to_string());
        let host: Arc<dyn Host> = self.me.upgrade().unwrap();
        let depth = {
            let mut depth = self.depth.lock().unwrap();
            *depth += 1;
            *depth
        };
        let result = match depth > self.max_depth.load(Ordering::Relaxed) {
            true => Err(HostError::hard("max_exec_depth", "too deep")),
            false => self
                .lisp
                .run(&program, input, host, &self.limits)
                .map_err(|e| match e.is_hard() {
                    true => HostError::hard(e.code.clone(), e.message.clone()),
                    false => HostError::soft(e.code.clone(), e.message.clone()),
                }),
        };
        *self.depth.lock().unwrap() -= 1;
        result
    }

    fn log(&self, level: LogLevel, message: Text, fields: Value) -> Result<(), HostError> {
        let line = format!("{} {message} {}", level.as_str(), fields.to_json().unwrap());
        self.logs.lock().unwrap().push(line);
        Ok(())
    }

    fn send(&self, message: Value) -> Result<(), HostError> {
        self.sent.lock().unwrap().push(message);
        Ok(())
    }

    fn port_call(&self, name: &str, input: Value) -> Result<Value, HostError> {
        self.port_calls.fetch_add(1, Ordering::Relaxed);
        match name {
            "gone" => Err(HostError::hard("cancelled", "nobody waits any more")),
            "echo" => Ok(input),
            "where" => {
                let mark = 0_u8;
                Ok(Value::from(std::ptr::from_ref(&mark).addr() as i64))
            }
            "broken" => panic!("a port with a mistake"),
            "slow" => {
                std::thread::sleep(Duration::from_millis(300));
                Ok(input)
            }
            _ => Err(HostError::soft(
                "no_port",
                format!("no port is called {name}"),
            )),
        }
    }
}

/// Runs `body` as a whole program or, if it has no `main`, as the body of one; gives JSON or the error.
pub(crate) fn show(source: &str, input: Value) -> String {
    let lisp = Lisp::new();
    let world = World::new(&lisp, value!({"memory": {}, "lib": {}}), limits());
    match world.run(&whole(source), input) {
        Ok(output) => output.to_json().unwrap(),
        Err(error) => format!("{:?} {}: {}", error.kind, error.code, error.message),
    }
}

pub(crate) fn whole(source: &str) -> String {
    if source.contains("(main") {
        source.to_owned()
    } else {
        format!("(define (main input) {source})")
    }
}
