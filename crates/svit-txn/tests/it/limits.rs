//! Every limit that `svit-txn` enforces: below its edge, at it, and one past it.

use std::sync::Arc;

use svit_txn::{Error, LimitKind, Limits, Process};
use svit_value::{List, Map, Value, value};

use crate::steps::{Steps, builder, script, seen_in_memory};

fn limited(kind: LimitKind, chosen: u64) -> Limits {
    let mut rows = Limits::default().to_map();
    rows.insert(kind.name(), i64::try_from(chosen).unwrap())
        .unwrap();
    Limits::from_map(&rows).unwrap()
}

fn process(kind: LimitKind, chosen: u64) -> Process {
    builder("svit://local/limits")
        .limits(limited(kind, chosen))
        .build()
        .unwrap()
}

fn exec(process: &Process, source: &str) -> Result<(), Error> {
    process.write("/lib/row", script(source)).unwrap();
    process.exec("/lib/row", value!(null)).map(drop)
}

fn repeat(line: &str, count: u64) -> String {
    (0..count)
        .map(|n| line.replace('#', &n.to_string()) + ";")
        .collect()
}

fn nested(levels: u64) -> Value {
    (1..levels).fold(value!([]), |inner, _| {
        List::from_values([inner]).unwrap().into()
    })
}

fn wide(nodes: u64) -> Value {
    List::from_values(1..i64::try_from(nodes).unwrap())
        .unwrap()
        .into()
}

type Attempt = fn(&Process, u64) -> Result<(), Error>;

/// A limit, what it is set to, and something of a size.
const ROWS: &[(LimitKind, u64, Attempt)] = &[
    (LimitKind::Ticks, 500, |p, n| {
        exec(p, &format!("ticks {}", n - 1))
    }),
    (LimitKind::Logs, 3, |p, n| exec(p, &repeat("log x", n))),
    (LimitKind::Messages, 3, |p, n| exec(p, &repeat("send 1", n))),
    (LimitKind::StagedScripts, 3, |p, n| {
        exec(p, &repeat("stage s# return 1", n))
    }),
    // One script that is written twice, or removed, is one script.
    (LimitKind::StagedScripts, 3, |p, n| {
        let twice = "stage s0 return 1;stage s0 return 2;remove /lib/counter;".to_owned();
        exec(p, &(twice + &repeat("stage t# return 1", n - 2)))
    }),
    (LimitKind::ExecDepth, 4, |p, n| {
        for depth in 0..n {
            let source = format!("exec d{}", depth + 1);
            p.write(format!("/lib/d{depth}"), script(&source)).unwrap();
        }
        p.write(format!("/lib/d{n}"), script("return 1")).unwrap();
        p.exec("/lib/d0", value!(null)).map(drop)
    }),
    // Ten in a row are not ten inside each other.
    (LimitKind::ExecDepth, 1, |p, n| {
        p.write(
            "/lib/leaf",
            script(if n > 1 { "exec end" } else { "return 1" }),
        )
        .unwrap();
        p.write("/lib/end", script("return 1")).unwrap();
        exec(p, &repeat("exec leaf", 10))
    }),
    (LimitKind::ValueDepth, 9, |p, n| {
        p.write("/memory/x", nested(n)).map(drop)
    }),
    (LimitKind::ValueDepth, 9, |p, n| {
        p.enqueue(nested(n)).map(drop)
    }),
    (LimitKind::ValueDepth, 9, |p, n| {
        p.exec("/lib/counter", nested(n)).map(drop)
    }),
    (LimitKind::ValueDepth, 9, |p, n| {
        exec(p, &format!("return {}", nested(n)))
    }),
    (LimitKind::ValueDepth, 9, |p, n| {
        exec(p, &format!("write /memory/x {}", nested(n)))
    }),
    (LimitKind::ValueDepth, 9, |p, n| {
        exec(p, &format!("send {}", nested(n)))
    }),
    (LimitKind::ValueNodes, 50, |p, n| {
        p.write("/memory/x", wide(n)).map(drop)
    }),
    (LimitKind::ValueNodes, 50, |p, n| {
        p.enqueue(wide(n)).map(drop)
    }),
    (LimitKind::ValueNodes, 50, |p, n| {
        p.exec("/lib/counter", wide(n)).map(drop)
    }),
    (LimitKind::TextBytes, 500, |p, n| {
        p.write("/memory/x", "x".repeat(n as usize)).map(drop)
    }),
    (LimitKind::TextBytes, 500, |p, n| {
        p.write(
            "/memory/x",
            Map::from_entries([("k".repeat(n as usize - 1), "v")]).unwrap(),
        )
        .map(drop)
    }),
    (LimitKind::TextBytes, 500, |p, n| {
        p.exec("/lib/counter", "x".repeat(n as usize)).map(drop)
    }),
    // The text of a log record is one as well; the row is a program of 21 octets more.
    (LimitKind::TextBytes, 500, |p, n| {
        p.write("/lib/long", script("input /memory/x")).unwrap();
        p.exec("/lib/long", "x".repeat(n as usize)).map(drop)
    }),
    (LimitKind::Inbox, 3, |p, n| {
        (0..n).try_for_each(|_| p.enqueue(1).map(drop))
    }),
    (LimitKind::Outbox, 3, |p, n| exec(p, &repeat("send 1", n))),
    (LimitKind::ScriptBytes, 100, |p, n| {
        p.write("/lib/x", script(&" ".repeat(n as usize))).map(drop)
    }),
];

#[test]
fn every_limit_holds_below_at_and_above_its_edge() {
    for (index, &(kind, limit, attempt)) in ROWS.iter().enumerate() {
        for size in [limit - 1, limit] {
            if size == 0 {
                continue;
            }
            let row = format!("row {index}: {} of {limit} at {size}", kind.name());
            attempt(&process(kind, limit), size).unwrap_or_else(|e| panic!("{row}: {e}"));
        }
        let process = process(kind, limit);
        let row = format!("row {index}: {} of {limit} passed", kind.name());
        let error = attempt(&process, limit + 1).expect_err(&row);
        let code = match kind {
            LimitKind::Ticks => "out_of_ticks",
            _ => kind.name(),
        };
        assert_eq!(error.code(), code, "{row}: {error}");
        let text = error.to_string();
        if let Error::Limit(exceeded) = &error {
            assert_eq!(
                (exceeded.limit, exceeded.allowed, exceeded.actual),
                (kind, limit, limit + 1),
                "{row}"
            );
            assert!(
                text.contains(kind.name()) && text.contains(&limit.to_string()),
                "{text}"
            );
        }
    }
}

#[test]
fn a_limit_that_is_passed_changes_nothing() {
    for &(kind, limit, attempt) in ROWS {
        let process = process(kind, limit);
        let _ = attempt(&process, limit + 1);
        let shown = seen_in_memory(&process);
        assert_eq!(process.read("/memory/x").unwrap(), None, "{}", kind.name());
        assert_eq!(shown.outbox, Some(value!({})), "{}", kind.name());
    }
}

#[test]
fn the_whole_tree_is_bounded_at_its_edge() {
    let fresh = builder("svit://local/limits").build().unwrap();
    let root = fresh.stat("/").unwrap().unwrap();
    // A limit of another width would change the size of its own row.
    let slack = 1_000;
    let nodes = |limit: u64| process(LimitKind::TreeNodes, limit);
    let limit = root.nodes.unwrap() + slack;
    assert!(nodes(limit).write("/memory/x", wide(slack - 1)).is_ok());
    assert!(nodes(limit).write("/memory/x", wide(slack)).is_ok());
    let refused = nodes(limit)
        .write("/memory/x", wide(slack + 1))
        .unwrap_err();
    assert_eq!(refused.code(), "max_tree_nodes");

    let bytes = |limit: u64| process(LimitKind::TreeBytes, limit);
    let limit = root.bytes.unwrap() + slack;
    let base = bytes(limit).stat("/").unwrap().unwrap().bytes.unwrap();
    // The key `x` and the head of a text of this length.
    let left = (limit - base - 2 - 3) as usize;
    for (len, fits) in [(left - 1, true), (left, true), (left + 1, false)] {
        let result = bytes(limit).write("/memory/x", "x".repeat(len));
        assert_eq!(result.is_ok(), fits, "{len} of {left}");
        if let Err(error) = result {
            assert_eq!(error.code(), "max_tree_bytes");
        }
    }
}

#[test]
fn a_record_is_bounded_at_its_edge() {
    let sized = |len: usize, limit: u64| {
        let process = process(LimitKind::RecordBytes, limit);
        process.write("/memory/x", "x".repeat(len)).map(drop)
    };
    // Find the edge of one limit, then move both together.
    let edge = (100..2_000)
        .find(|&len| sized(len, 2_000).is_err())
        .unwrap();
    assert!(sized(edge - 1, 2_000).is_ok());
    assert_eq!(sized(edge, 2_000).unwrap_err().code(), "max_record_bytes");
    assert!(sized(edge, 2_001).is_ok());
    assert!(sized(edge + 1, 2_001).is_err());
}

#[test]
fn the_outbox_counts_what_waits_from_before() {
    let process = process(LimitKind::Outbox, 3);
    exec(&process, "send 1;send 2").unwrap();
    let refused = exec(&process, "send 3;send 4").unwrap_err();
    assert_eq!(refused.code(), "max_outbox");
    exec(&process, "send 3").unwrap();
    assert_eq!(process.discover("/system/outbox").unwrap().len(), 3);
    assert_eq!(exec(&process, "send 4").unwrap_err().code(), "max_outbox");
}

#[test]
fn a_guest_is_told_its_limits() {
    let limits = Limits {
        max_execution_millis: 50_000,
        max_guest_memory: 1,
        max_call_stack: 2,
        max_value_stack: 3,
        max_guest_names: 4,
        max_syntax_depth: 5,
        max_integer_bits: 6,
        max_script_bytes: 700,
        max_value_depth: 18,
        max_value_nodes: 109,
        max_text_bytes: 1_010,
        ..Limits::default()
    };
    let process = builder("svit://local/x")
        .limits(limits.clone())
        .library("limits", script("limits"))
        .build()
        .unwrap();
    let told = process.exec("/lib/limits", value!(null)).unwrap().output;
    let told = told.as_map().unwrap();
    for &kind in LimitKind::ALL {
        let Some(number) = told.get(kind.name()).and_then(Value::as_int) else {
            continue;
        };
        if kind == LimitKind::ExecutionMillis {
            assert!((40_000..=50_000).contains(&number), "{number}");
        } else {
            assert_eq!(number, limits.get(kind) as i64, "{}", kind.name());
        }
    }
    assert_eq!(told.len(), 11);
}

#[test]
fn a_nested_run_has_only_the_wall_clock_that_is_left() {
    let (guest, waiting) = Steps::gated();
    let process = Arc::new(
        Process::builder("svit://local/x")
            .unwrap()
            .guest(crate::steps::LANGUAGE, guest)
            .library("inner", script("limits"))
            .library("outer", script("wait;exec inner"))
            .limits(limited(LimitKind::ExecutionMillis, 30_000))
            .build()
            .unwrap(),
    );
    let running = process.clone();
    let run = std::thread::spawn(move || running.exec("/lib/outer", value!(null)).unwrap());
    waiting.reached();
    std::thread::sleep(std::time::Duration::from_millis(30));
    waiting.go_on.send(()).unwrap();
    let told = run.join().unwrap().output;
    let left = told
        .get("max_execution_millis")
        .and_then(Value::as_int)
        .unwrap();
    assert!(left <= 29_970, "{left}");
}

#[test]
fn maxima_can_be_chosen_and_one_more_cannot() {
    for &kind in LimitKind::ALL {
        let maximum = kind.maximum();
        assert!(
            (1..=maximum).contains(&kind.default_value()),
            "{}",
            kind.name()
        );
        let mut rows = Limits::default().to_map();
        for (chosen, fits) in [(1, true), (maximum, true), (maximum + 1, false), (0, false)] {
            rows.insert(kind.name(), i64::try_from(chosen).unwrap())
                .unwrap();
            assert_eq!(
                Limits::from_map(&rows).is_ok(),
                fits,
                "{} {chosen}",
                kind.name()
            );
        }
    }
}
