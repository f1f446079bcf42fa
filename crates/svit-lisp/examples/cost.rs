//! Measures what one activation costs: `cargo run --release -p svit-lisp --example cost`.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a program for people"
)]

use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

use svit_lisp::{LANGUAGE, Lisp};
use svit_tree::guest::{Guest, GuestLimits, Host, HostError, LogLevel, Meter, Program};
use svit_tree::{Mutation, Op, Path, apply, lookup};
use svit_value::{Map, Text, Value, ValueLimits, value};

struct World {
    meter: Meter,
    tree: Mutex<Value>,
}

impl Host for World {
    fn meter(&self) -> &Meter {
        &self.meter
    }
    fn discover(&self, _: &Path) -> Result<Vec<Text>, HostError> {
        Ok(Vec::new())
    }
    fn read(&self, path: &Path) -> Result<Option<Value>, HostError> {
        Ok(lookup(&self.tree.lock().unwrap(), path).cloned())
    }
    fn stat(&self, _: &Path) -> Result<Value, HostError> {
        Ok(Value::Null)
    }
    fn write(&self, path: &Path, value: Value) -> Result<(), HostError> {
        let mut tree = self.tree.lock().unwrap();
        let edit = Mutation {
            path: path.clone(),
            op: Op::Set(value),
        };
        *tree = apply(&tree, &[edit]).unwrap();
        Ok(())
    }
    fn remove(&self, _: &Path) -> Result<bool, HostError> {
        Ok(false)
    }
    fn exec(&self, _: &Path, input: Value) -> Result<Value, HostError> {
        Ok(input)
    }
    fn log(&self, _: LogLevel, _: Text, _: Value) -> Result<(), HostError> {
        Ok(())
    }
    fn send(&self, _: Value) -> Result<(), HostError> {
        Ok(())
    }
    fn port_call(&self, _: &str, input: Value) -> Result<Value, HostError> {
        Ok(input)
    }
}

const COUNTER: &str = r#"(define (main input)
  (let ((count (+ (read "/memory/count") (value-get input "/by"))))
    (do (write "/memory/count" count)
        (log-info! "counted" (value-map "count" count))
        (value-map "count" count))))"#;

fn limits() -> GuestLimits {
    GuestLimits {
        max_execution: Duration::from_secs(60),
        max_memory: 64 << 20,
        max_call_stack: 1_024,
        max_value_stack: 4_096,
        max_names: 1_024,
        max_syntax_depth: 64,
        max_integer_bits: 64,
        max_source_bytes: 64 << 10,
        value: ValueLimits::default(),
    }
}

fn main() {
    bare();
    let entries = (0..10_000).map(|i| (format!("key-{i:05}"), Value::from(i)));
    let large = Value::Map(Map::from_entries(entries).unwrap());
    let rows = [
        ("identity", "(define (main input) input)".to_owned(), 1, 2_000),
        ("counter", COUNTER.to_owned(), 1, 2_000),
        ("tail loop", "(define (loop n acc) (if (= n 0) acc (loop (- n 1) (+ acc n)))) (define (main i) (loop 100000 0))".into(), 100_000, 10),
        ("fib 20", "(define (fib n) (if (< n 2) n (+ (fib (- n 1)) (fib (- n 2))))) (define (main i) (fib 20))".into(), 21_891, 10),
        ("read", loop_of("(read \"/memory/count\")"), 10_000, 10),
        ("read 10,000 entries", loop_of("(read \"/memory/large\")"), 10_000, 10),
        ("write", loop_of("(write \"/memory/count\" n)"), 10_000, 10),
        ("map-set in 10,000", "(define (loop n m) (if (= n 0) m (loop (- n 1) (map-set m \"key-04321\" n)))) (define (main i) (do (loop 10000 (read \"/memory/large\")) null))".into(), 10_000, 10),
        ("list-push to 10,000", "(define (loop n l) (if (= n 0) l (loop (- n 1) (list-push l n)))) (define (main i) (do (loop 10000 ()) null))".into(), 10_000, 10),
        ("map over 10,000", "(define (main i) (do (map (lambda (x) (+ x 1)) (range 10000)) null))".into(), 10_000, 10),
        ("empty loop", loop_of("1"), 10_000, 10),
    ];
    let lisp = Lisp::new();
    println!(
        "{:22} {:>10} {:>10} {:>8}",
        "", "us a run", "ns a step", "ticks"
    );
    for (name, source, steps, times) in rows {
        let program = Program {
            name: Text::from("/lib/cost"),
            source: Text::from(source),
            language: Text::from(LANGUAGE),
        };
        let mut best = Duration::MAX;
        let mut ticks = 0;
        for _ in 0..5 {
            let start = spent();
            for _ in 0..times {
                let world = Arc::new(World {
                    meter: Meter::new(1 << 40),
                    tree: Mutex::new(value!({"memory": {"count": 6, "large": (large.clone())}})),
                });
                let host: Arc<dyn Host> = world.clone();
                lisp.run(&program, value!({"by": 3}), host, &limits())
                    .unwrap();
                ticks = world.meter.used();
            }
            best = best.min((spent() - start) / times);
        }
        let step = best.as_nanos() / steps;
        println!(
            "{name:22} {:>10.1} {step:>10} {ticks:>8}",
            best.as_nanos() as f64 / 1e3
        );
    }
}

/// Time that the threads of this process spent on a processor, which other programs do not disturb as
/// much as the wall clock; the wall clock where the system does not tell.
fn spent() -> Duration {
    static START: OnceLock<Instant> = OnceLock::new();
    let start = START.get_or_init(Instant::now);
    let Ok(tasks) = std::fs::read_dir("/proc/self/task") else {
        return start.elapsed();
    };
    let nanos = |task: std::fs::DirEntry| -> Option<u64> {
        let text = std::fs::read_to_string(task.path().join("schedstat")).ok()?;
        text.split(' ').next()?.parse().ok()
    };
    Duration::from_nanos(tasks.flatten().filter_map(nanos).sum())
}

/// The same loops in the bare engine, without metering, names of ours, or limits.
fn bare() {
    let rows = [
        (
            "bare tail loop",
            "(define (loop n acc) (if (= n 0) acc (loop (- n 1) (+ acc n)))) (define (main n) (loop n 0))",
            100_000_i64,
            100_000_u128,
        ),
        (
            "bare fib 20",
            "(define (fib n) (if (< n 2) n (+ (fib (- n 1)) (fib (- n 2))))) (define (main n) (fib n))",
            20,
            21_891,
        ),
        (
            "bare list building",
            "(define (b n l) (if (= n 0) () (b (- n 1) (append l n)))) (define (main n) (b n ()))",
            10_000,
            10_000,
        ),
    ];
    for (name, source, input, steps) in rows {
        let engine = ketos::Interpreter::new();
        engine.run_code(source, None).unwrap();
        let mut best = Duration::MAX;
        for _ in 0..5 {
            let start = spent();
            engine.call("main", vec![input.into()]).unwrap();
            best = best.min(spent() - start);
        }
        let step = best.as_nanos() / steps;
        println!(
            "{name:22} {:>10.1} {step:>10}",
            best.as_nanos() as f64 / 1e3
        );
    }
}

fn loop_of(body: &str) -> String {
    format!(
        "(define (loop n) (if (= n 0) null (do {body} (loop (- n 1))))) (define (main i) (loop 10000))"
    )
}
