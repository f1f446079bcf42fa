//! The rows `ticks-*`: metered against unmetered.

use svit_lisp::Lisp;
use svit_value::Value;

use super::harness::{Report, Row, nanoseconds, race};
use super::{bare, ours, small_tree};

const LOOP: &str =
    "(define (loop n acc) (if (= n 0) acc (loop (- n 1) (+ acc n)))) (define (main n) (loop n 0))";
const FIB: &str =
    "(define (fib n) (if (< n 2) n (+ (fib (- n 1)) (fib (- n 2))))) (define (main n) (fib n))";
/// The bare engine cannot return what it builds; ours gives it back.
const LIST: &str = "(define (build n l) (if (= n 0) (length l) (build (- n 1) (list-push l n)))) (define (main n) (build n ()))";
const BARE_LIST: &str = "(define (build n l) (if (= n 0) (len l) (build (- n 1) (append l n)))) (define (main n) (build n ()))";

pub(super) fn rows(report: &Report) {
    row(report, "ticks-loop", (LOOP, LOOP), 100_000, ("<= 1.5", 1.5));
    row(report, "ticks-fib", (FIB, FIB), 20, ("<= 1.5", 1.5));
    row(
        report,
        "ticks-list",
        (LIST, BARE_LIST),
        10_000,
        ("<= 0.2", 0.2),
    );
}

fn row(
    report: &Report,
    name: &'static str,
    (source, bare_source): (&str, &str),
    n: i64,
    (target, most): (&'static str, f64),
) {
    if !report.wants(name) {
        return;
    }
    let engine = bare();
    engine.run_code(bare_source, None).unwrap();
    let other = || nanoseconds(|| drop(engine.call("main", vec![n.into()]).unwrap()));
    let lisp = Lisp::new();
    let (tree, input) = (small_tree(), Value::from(n));
    let [ours, other] = race(11, || ours(&lisp, &tree, source, &input), other);
    report.row(Row::new(
        name,
        "ns",
        ours,
        other,
        target,
        ours / other <= most,
    ));
}
