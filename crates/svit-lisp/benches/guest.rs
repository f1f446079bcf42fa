//! What a run costs against the bare engine: one activation, and loops with and without ticks.
//!
//! `cargo bench -p svit-lisp` prints one line a row for people, `-- --only NAME` measures one,
//! `-- --rows` prints them for `cargo xtask bench`.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a program to be read by people"
)]

#[path = "../../svit-value/benches/values/harness.rs"]
#[allow(
    dead_code,
    reason = "shared with another bench, which uses other parts"
)]
mod harness;
#[path = "../tests/it/host.rs"]
#[allow(dead_code, reason = "shared with the tests")]
mod host;

use std::rc::Rc;
use std::sync::Arc;

use harness::{Report, Row, nanoseconds, race};
use host::{World, limits};
use ketos::{Builder, Interpreter, RestrictConfig};
use svit_lisp::Lisp;
use svit_tree::guest::GuestLimits;
use svit_value::{Value, value};

const COUNTER: &str = r#"(define (main input)
  (let ((count (+ (read "/memory/count") (value-get input "/by"))))
    (do (write "/memory/count" count)
        (value-map "count" count))))"#;

const LOOP: &str =
    "(define (loop n acc) (if (= n 0) acc (loop (- n 1) (+ acc n)))) (define (main n) (loop n 0))";
const FIB: &str =
    "(define (fib n) (if (< n 2) n (+ (fib (- n 1)) (fib (- n 2))))) (define (main n) (fib n))";
/// The bare engine cannot return what it builds; ours gives it back.
const LIST: &str = "(define (build n l) (if (= n 0) (length l) (build (- n 1) (list-push l n)))) (define (main n) (build n ()))";
const BARE_LIST: &str = "(define (build n l) (if (= n 0) (len l) (build (- n 1) (append l n)))) (define (main n) (build n ()))";

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let report = Report::from_args(&args);
    activation(&report);
    ticks(
        &report,
        "ticks-loop",
        (LOOP, LOOP),
        100_000,
        "<= 1.5",
        |ratio| ratio <= 1.5,
    );
    ticks(&report, "ticks-fib", (FIB, FIB), 20, "<= 1.5", |ratio| {
        ratio <= 1.5
    });
    ticks(
        &report,
        "ticks-list",
        (LIST, BARE_LIST),
        10_000,
        "<= 0.2",
        |ratio| ratio <= 0.2,
    );
}

fn world(lisp: &Lisp) -> Arc<World> {
    let limits = GuestLimits {
        max_memory: 64 << 20,
        ..limits()
    };
    World::with_ticks(lisp, value!({"memory": {"count": 6}}), limits, 1 << 40)
}

fn ours(lisp: &Lisp, source: &str, input: &Value) -> f64 {
    let world = world(lisp);
    nanoseconds(|| drop(world.run(source, input.clone()).unwrap()))
}

/// The counter in a fresh interpreter, against the bare engine that loads and calls a function of its own.
fn activation(report: &Report) {
    const BARE: &str = "(define (main count by) (let ((n (+ count by))) (list \"count\" n)))";
    if !report.wants("activation") {
        return;
    }
    let engine = bare();
    engine.run_code(BARE, None).unwrap();
    let code = ketos::module::ModuleCode::new(Vec::<Rc<ketos::Code>>::new(), engine.scope());
    let mut bytes = Vec::new();
    let place = std::path::PathBuf::new();
    let names = engine.scope().borrow_names();
    ketos::encode::write_bytecode(&mut bytes, &place, &code, &names).unwrap();
    let other = || {
        nanoseconds(|| {
            let engine = bare();
            let mut bytes = bytes.as_slice();
            let loaded =
                ketos::encode::read_bytecode(&mut bytes, &place, engine.context()).unwrap();
            for (name, value) in loaded.values {
                engine.scope().add_value(name, value);
            }
            engine.call("main", vec![6.into(), 3.into()]).unwrap();
        })
    };
    let lisp = Lisp::new();
    let input = value!({"by": 3});
    let [ours, other] = race(3_000, || ours(&lisp, COUNTER, &input), other);
    let met = ours / other <= 2.0 && ours <= 60_000.0;
    report.row(
        Row::new("activation", "ns", ours, other, "<= 2.0, and <= 60 us", met)
            .note("ours reads and writes the tree and crosses to a thread with a large stack"),
    );
}

fn bare() -> Interpreter {
    Builder::new()
        .restrict(RestrictConfig {
            execution_time: None,
            memory_limit: usize::MAX,
            ..RestrictConfig::permissive()
        })
        .finish()
}

fn ticks(
    report: &Report,
    name: &'static str,
    (source, bare_source): (&str, &str),
    n: i64,
    target: &'static str,
    met: fn(f64) -> bool,
) {
    if !report.wants(name) {
        return;
    }
    let engine = bare();
    engine.run_code(bare_source, None).unwrap();
    let other = || nanoseconds(|| drop(engine.call("main", vec![n.into()]).unwrap()));
    let lisp = Lisp::new();
    let input = Value::from(n);
    let [ours, other] = race(11, || ours(&lisp, source, &input), other);
    report.row(Row::new(name, "ns", ours, other, target, met(ours / other)));
}
