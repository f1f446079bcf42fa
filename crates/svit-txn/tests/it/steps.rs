//! `steps@1`: a guest language for tests, one host call or failure a line, and what tests share.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};

use svit_tree::Path;
use svit_tree::guest::{
    Guest, GuestError, GuestErrorKind, GuestLimits, Host, HostError, HostErrorKind, LogLevel,
    Program,
};
use svit_txn::{DurableProcess, MemoryStore, Process, ProcessBuilder, ProcessStore};
use svit_value::{Value, value};

pub(crate) const LANGUAGE: &str = "steps@1";

/// The guest. `wait` in a program says that it was reached and goes on when the test says so; `turn` goes on when
/// nobody holds the turn.
#[derive(Default)]
pub(crate) struct Steps {
    gate: Option<Gate>,
    turn: Arc<Mutex<()>>,
}

struct Gate {
    reached: Mutex<Sender<()>>,
    go_on: Mutex<Receiver<()>>,
}

/// The test's side of `wait`.
pub(crate) struct Waiting {
    pub(crate) reached: Receiver<()>,
    pub(crate) go_on: Sender<()>,
}

impl Waiting {
    /// Waits until a program has come to `wait`.
    pub(crate) fn reached(&self) {
        let soon = std::time::Duration::from_secs(20);
        self.reached.recv_timeout(soon).unwrap();
    }
}

impl Steps {
    pub(crate) fn guest() -> Arc<dyn Guest> {
        Arc::new(Self::default())
    }

    /// A guest whose `turn` waits for this.
    pub(crate) fn in_turn(turn: Arc<Mutex<()>>) -> Arc<dyn Guest> {
        Arc::new(Self { gate: None, turn })
    }

    pub(crate) fn gated() -> (Arc<dyn Guest>, Waiting) {
        let (reached, reached_here) = channel();
        let (go_on, go_on_there) = channel();
        let gate = Gate {
            reached: Mutex::new(reached),
            go_on: Mutex::new(go_on_there),
        };
        let waiting = Waiting {
            reached: reached_here,
            go_on,
        };
        let gated = Self {
            gate: Some(gate),
            ..Self::default()
        };
        (Arc::new(gated), waiting)
    }

    fn step(
        &self,
        line: &str,
        input: &Value,
        host: &Arc<dyn Host>,
        limits: &GuestLimits,
    ) -> Result<Option<Value>, GuestError> {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        let (first, second) = rest.split_once(' ').unwrap_or((rest, ""));
        let path = |text: &str| Path::parse(text).map_err(|e| runtime(&e.to_string()));
        let json = |text: &str| Value::from_json(text).map_err(|e| runtime(&e.to_string()));
        let json_or_null = |text: &str| {
            let text = if text.is_empty() { "null" } else { text };
            json(text)
        };
        let in_library = |name: &str| path(&format!("/lib/{name}"));
        let fail = |kind, code: &str| Err(GuestError::new(kind, code, "as the program says"));
        host.meter().charge(1).map_err(|e| hosted(e.into()))?;
        match word {
            "write" => host.write(&path(first)?, json(second)?).map_err(hosted)?,
            "input" => host.write(&path(first)?, input.clone()).map_err(hosted)?,
            "remove" => {
                host.remove(&path(first)?).map_err(hosted)?;
            }
            "read" => {
                host.read(&path(first)?).map_err(hosted)?;
            }
            "discover" => {
                host.discover(&path(first)?).map_err(hosted)?;
            }
            "stat" => {
                host.stat(&path(first)?).map_err(hosted)?;
            }
            "add" => {
                let path = path(first)?;
                let by = if second == "input" {
                    input.clone()
                } else {
                    json(second)?
                };
                let before = host.read(&path).map_err(hosted)?;
                let before = before.as_ref().and_then(Value::as_int).unwrap_or(0);
                let sum = Value::Int(before + by.as_int().unwrap_or(0));
                host.write(&path, sum.clone()).map_err(hosted)?;
                return Ok(Some(sum));
            }
            "stage" => {
                let entry = script(&second.replace(',', ";"));
                host.write(&in_library(first)?, entry).map_err(hosted)?;
            }
            // What there is, as output.
            "give" => {
                return host
                    .read(&path(first)?)
                    .map_err(hosted)
                    .map(|v| v.or(Some(Value::Null)));
            }
            "names" => {
                let names = host.discover(&path(first)?).map_err(hosted)?;
                return Ok(Some(svit_value::List::from_values(names).unwrap().into()));
            }
            "facts" => {
                let facts = host.stat(&path(first)?).map_err(hosted)?;
                let Some(kind) = facts.get("kind").and_then(Value::as_str) else {
                    return Ok(Some("nothing".into()));
                };
                let bytes = facts
                    .get("bytes")
                    .map_or("unknown".to_owned(), Value::to_string);
                return Ok(Some(format!("{kind} {bytes}").into()));
            }
            "log" => {
                host.log(LogLevel::Info, rest.into(), Value::Null)
                    .map_err(hosted)?;
            }
            "send" => host.send(json(rest)?).map_err(hosted)?,
            "exec" => {
                let output = host
                    .exec(&in_library(first)?, Value::Null)
                    .map_err(hosted)?;
                return Ok(Some(output));
            }
            "try" => match host.exec(&in_library(first)?, Value::Null) {
                Err(error) if error.kind == HostErrorKind::Hard => return Err(hosted(error)),
                _ => {}
            },
            // A guest that breaks the contract: it goes on whatever the host says.
            "swallow" => {
                let _ = host.exec(&in_library(first)?, Value::Null);
            }
            "port" => {
                let answer = host.port_call(first, json_or_null(second)?);
                return answer.map(Some).map_err(hosted);
            }
            "try-port" => match host.port_call(first, json_or_null(second)?) {
                Err(error) if error.kind == HostErrorKind::Hard => return Err(hosted(error)),
                _ => {}
            },
            "swallow-port" => drop(host.port_call(first, json_or_null(second)?)),
            // Runs what is at a path, whatever it is.
            "call" => {
                let output = host.exec(&path(first)?, json_or_null(second)?);
                return output.map(Some).map_err(hosted);
            }
            "ticks" => {
                let ticks = first.parse().unwrap();
                host.meter().charge(ticks).map_err(|e| hosted(e.into()))?;
            }
            "wait" => {
                let gate = self.gate.as_ref().unwrap();
                gate.reached.lock().unwrap().send(()).unwrap();
                let soon = std::time::Duration::from_secs(20);
                gate.go_on.lock().unwrap().recv_timeout(soon).unwrap();
            }
            "turn" => drop(self.turn.lock().unwrap()),
            // Works until somebody stops it, and says so.
            "spin" => {
                let gate = self.gate.as_ref().unwrap();
                gate.reached.lock().unwrap().send(()).unwrap();
                while host.meter().charge(1).is_ok() {
                    std::thread::sleep(std::time::Duration::from_millis(1));
                }
                gate.reached.lock().unwrap().send(()).unwrap();
                return fail(GuestErrorKind::OutOfTicks, "out_of_ticks");
            }
            "limits" => return Ok(Some(shown(limits))),
            "return" => return Ok(Some(json(rest)?)),
            "echo" => return Ok(Some(input.clone())),
            "runtime" => return fail(GuestErrorKind::Runtime, "runtime"),
            "conversion" => return fail(GuestErrorKind::Conversion, "conversion"),
            "limit" => return fail(GuestErrorKind::Limit, "some_limit"),
            "timeout" => return fail(GuestErrorKind::Timeout, "timeout"),
            "cancelled" => return fail(GuestErrorKind::Cancelled, "cancelled"),
            "panic" => panic!("a guest panics, as the program says"),
            _ => return Err(runtime(&format!("unknown step {word:?}"))),
        }
        Ok(None)
    }
}

fn shown(limits: &GuestLimits) -> Value {
    let count = |n: u64| Value::Int(i64::try_from(n).unwrap());
    value!({
        "max_execution_millis": (count(limits.max_execution.as_millis() as u64)),
        "max_guest_memory": (count(limits.max_memory)),
        "max_call_stack": (limits.max_call_stack),
        "max_value_stack": (limits.max_value_stack),
        "max_guest_names": (limits.max_names),
        "max_syntax_depth": (limits.max_syntax_depth),
        "max_integer_bits": (limits.max_integer_bits),
        "max_script_bytes": (count(limits.max_source_bytes)),
        "max_value_depth": (limits.value.max_depth),
        "max_value_nodes": (count(limits.value.max_nodes)),
        "max_text_bytes": (count(limits.value.max_text_bytes)),
    })
}

fn runtime(message: &str) -> GuestError {
    GuestError::new(GuestErrorKind::Runtime, "runtime", message)
}

fn hosted(error: HostError) -> GuestError {
    let kind = if &*error.code == "out_of_ticks" {
        GuestErrorKind::OutOfTicks
    } else {
        GuestErrorKind::Host
    };
    GuestError {
        host: Some(error.clone()),
        ..GuestError::new(kind, error.code, error.message)
    }
}

fn lines(program: &Program) -> impl Iterator<Item = &str> {
    let lines = program.source.as_str().split(['\n', ';']);
    lines.map(str::trim).filter(|line| !line.is_empty())
}

impl Guest for Steps {
    fn language(&self) -> &str {
        LANGUAGE
    }

    fn check(&self, program: &Program, limits: &GuestLimits) -> Result<(), GuestError> {
        if program.source.len() as u64 > limits.max_source_bytes {
            return Err(GuestError::new(
                GuestErrorKind::Limit,
                "max_script_bytes",
                "too long",
            ));
        }
        for line in lines(program) {
            match line {
                "syntax" => return Err(GuestError::new(GuestErrorKind::Syntax, "syntax", "bad")),
                "panic-in-check" => panic!("a guest panics while it checks"),
                _ => {}
            }
        }
        Ok(())
    }

    fn run(
        &self,
        program: &Program,
        input: Value,
        host: Arc<dyn Host>,
        limits: &GuestLimits,
    ) -> Result<Value, GuestError> {
        self.check(program, limits)?;
        let mut output = Value::Null;
        for line in lines(program) {
            if line == "runtime-with" {
                return Err(runtime(&output.to_string()));
            }
            if let Some(value) = self.step(line, &input, &host, limits)? {
                output = value;
            }
        }
        Ok(output)
    }
}

/// A library entry in this language.
pub(crate) fn script(source: &str) -> Value {
    value!({"source": source, "language": LANGUAGE})
}

/// A process with this guest, and with a counter in its memory.
pub(crate) fn builder(address: &str) -> ProcessBuilder {
    Process::builder(address)
        .unwrap()
        .guest(LANGUAGE, Steps::guest())
        .memory("count", 6)
        .memory("kept", "as it was")
        .library("counter", script("add /memory/count input"))
}

pub(crate) fn store() -> (Arc<MemoryStore>, Arc<dyn ProcessStore>) {
    let store = Arc::new(MemoryStore::new());
    (store.clone(), store)
}

pub(crate) async fn resume(store: &Arc<dyn ProcessStore>, address: &str) -> DurableProcess {
    DurableProcess::resume_with(store.clone(), address, [Steps::guest()])
        .await
        .unwrap()
}

/// Everything of a process that a failure must not change.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Seen {
    pub(crate) version: u64,
    pub(crate) root: svit_value::Digest,
    pub(crate) inbox: Option<Value>,
    pub(crate) outbox: Option<Value>,
    pub(crate) memory: Option<Value>,
    pub(crate) library: Option<Value>,
}

pub(crate) fn seen(process: &DurableProcess) -> Seen {
    Seen {
        version: process.version(),
        root: process.root_digest(),
        inbox: process.read("/inbox").unwrap(),
        outbox: process.read("/system/outbox").unwrap(),
        memory: process.read("/memory").unwrap(),
        library: process.read("/lib").unwrap(),
    }
}

pub(crate) fn seen_in_memory(process: &Process) -> Seen {
    Seen {
        version: process.version(),
        root: process.root_digest(),
        inbox: process.read("/inbox").unwrap(),
        outbox: process.read("/system/outbox").unwrap(),
        memory: process.read("/memory").unwrap(),
        library: process.read("/lib").unwrap(),
    }
}
