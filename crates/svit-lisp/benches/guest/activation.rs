//! The rows `activation*`: the counter in a fresh interpreter, against the bare engine in one.
//!
//! The bare side does what an embedder of the engine does to run the same script: a fresh restricted
//! interpreter, the host's functions registered in it, the encoded program loaded, `main` called. How many
//! functions those are decides what it costs, so three rows say it: all that a script of ours could call of
//! its host and on values (`activation`, the row with the target), only the four that this one calls, and none
//! at all with a script that only adds.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use ketos::{Interpreter, Value as K};
use svit_lisp::Lisp;
use svit_value::value;

use super::harness::{Report, Row, nanoseconds, race};
use super::{bare, ours, small_tree};

const COUNTER: &str = r#"(define (main input)
  (let ((count (+ (read "/memory/count") (value-get input "/by"))))
    (do (write "/memory/count" count)
        (value-map "count" count))))"#;
const ADDING: &str = "(define (main input) (+ 6 input))";

/// The functions that the counter calls, and the others that a script may call of its host and on values.
const CALLED: [&str; 4] = ["read", "write", "value-get", "value-map"];
const OTHERS: [&str; 36] = [
    "discover",
    "stat",
    "remove",
    "exec",
    "log-info!",
    "log-warn!",
    "log-error!",
    "send!",
    "port-call",
    "ticks-left",
    "runtime-builtins",
    "jq",
    "search",
    "value-array",
    "value-at",
    "value-at-safe",
    "value-has-path?",
    "value-null?",
    "map-get",
    "map-get-safe",
    "map-has?",
    "map-set",
    "map-remove",
    "map-keys",
    "map-values",
    "map-entries",
    "list-get",
    "list-set",
    "list-push",
    "list-slice",
    "json-parse",
    "json-parse-safe",
    "json-stringify",
    "safe-call",
    "string-format",
    "split",
];

pub(super) fn rows(report: &Report) {
    let all: Vec<&str> = CALLED.into_iter().chain(OTHERS).collect();
    let target = Some(("<= 2.0, and <= 60 us", 2.0));
    row(
        report,
        "activation",
        COUNTER,
        &all,
        target,
        "the host's 40 functions registered",
    );
    let note = "only the 4 that the script calls";
    row(report, "activation-four", COUNTER, &CALLED, None, note);
    let note = "none, and a script that only adds";
    row(report, "activation-none", ADDING, &[], None, note);
}

fn row(
    report: &Report,
    name: &'static str,
    source: &str,
    functions: &[&'static str],
    target: Option<(&'static str, f64)>,
    note: &str,
) {
    if !report.wants(name) {
        return;
    }
    let tree = Rc::new(RefCell::new(BTreeMap::from([(
        "/memory/count".to_owned(),
        K::from(6),
    )])));
    let engine = bare();
    register(&engine, functions, &tree);
    engine.run_code(source, None).unwrap();
    let code = ketos::module::ModuleCode::new(Vec::<Rc<ketos::Code>>::new(), engine.scope());
    let mut bytes = Vec::new();
    let place = std::path::PathBuf::new();
    let names = engine.scope().borrow_names();
    ketos::encode::write_bytecode(&mut bytes, &place, &code, &names).unwrap();
    let bare_input: K = match functions.is_empty() {
        true => 3.into(),
        false => vec![K::from("/by"), K::from(3)].into(),
    };
    let other = || {
        nanoseconds(|| {
            let engine = bare();
            register(&engine, functions, &tree);
            let mut bytes = bytes.as_slice();
            let loaded =
                ketos::encode::read_bytecode(&mut bytes, &place, engine.context()).unwrap();
            for (name, value) in loaded.values {
                // Functions of the host are there already.
                if matches!(value, K::Lambda(_)) {
                    engine.scope().add_value(name, value);
                }
            }
            engine.call("main", vec![bare_input.clone()]).unwrap();
        })
    };
    let lisp = Lisp::new();
    let input = match functions.is_empty() {
        true => value!(3),
        false => value!({"by": 3}),
    };
    let before = small_tree();
    let [ours, other] = race(3_000, || ours(&lisp, &before, source, &input), other);
    let row = match target {
        Some((text, most)) => {
            let met = ours / other <= most && ours <= 60_000.0;
            Row::new(name, "ns", ours, other, text, met)
        }
        None => Row::info(name, "ns", ours, other),
    };
    report.row(row.note(note));
}

/// Registers host functions as an embedder does, over a tree that is as simple as can be.
fn register(
    engine: &Interpreter,
    functions: &[&'static str],
    tree: &Rc<RefCell<BTreeMap<String, K>>>,
) {
    let scope = engine.scope();
    for &function in functions {
        let tree = tree.clone();
        scope.add_value_with_name(function, |name| {
            K::new_foreign_fn(name, move |_, args| {
                Ok(match (function, &*args) {
                    ("read", [K::String(path)]) => {
                        tree.borrow().get(&**path).cloned().unwrap_or(K::Unit)
                    }
                    ("write", [K::String(path), value]) => {
                        tree.borrow_mut().insert(path.to_string(), value.clone());
                        K::Unit
                    }
                    ("value-get", [K::List(list), path]) => list
                        .chunks(2)
                        .find(|pair| pair[0].is_identical(path))
                        .map_or(K::Unit, |pair| pair[1].clone()),
                    ("value-map", args) => args.to_vec().into(),
                    _ => K::Unit,
                })
            })
        });
    }
}
