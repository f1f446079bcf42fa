//! Taking turns, medians, rows.

use std::time::Instant;

/// A small deterministic generator (splitmix64), so that every run measures the same work.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }

    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(bound)) >> 64) as u64
    }

    pub(crate) fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            items.swap(i, self.below(i as u64 + 1) as usize);
        }
    }
}

pub(crate) fn nanoseconds(work: impl FnOnce()) -> f64 {
    let start = Instant::now();
    work();
    start.elapsed().as_nanos() as f64
}

pub(crate) fn median(times: &mut [f64]) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

/// Both sides in turn, once to warm up and then `rounds` times; the medians.
pub(crate) fn race(
    rounds: usize,
    mut ours: impl FnMut() -> f64,
    mut other: impl FnMut() -> f64,
) -> [f64; 2] {
    ours();
    other();
    let (mut a, mut b) = (vec![], vec![]);
    for _ in 0..rounds {
        a.push(ours());
        b.push(other());
    }
    [median(&mut a), median(&mut b)]
}

/// Bytes of this process that are in memory, where the system tells.
pub(crate) fn resident() -> f64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = statm
        .split_whitespace()
        .nth(1)
        .and_then(|pages| pages.parse().ok());
    pages.map_or(f64::NAN, |pages: f64| pages * 4096.0)
}

/// The most that this process has had in memory.
pub(crate) fn peak() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM:"));
    let kib = line.and_then(|line| line.split_whitespace().nth(1)?.parse().ok());
    kib.map_or(f64::NAN, |kib: f64| kib * 1024.0)
}

pub(crate) struct Row {
    name: &'static str,
    unit: &'static str,
    ours: f64,
    other: Option<f64>,
    ratio: Option<f64>,
    target: &'static str,
    ok: Option<bool>,
    note: String,
}

impl Row {
    pub(crate) fn new(
        name: &'static str,
        unit: &'static str,
        ours: f64,
        other: f64,
        target: &'static str,
        ok: bool,
    ) -> Row {
        Row {
            ok: Some(ok),
            target,
            ..Row::info(name, unit, ours, other)
        }
    }

    /// For information, without a target.
    pub(crate) fn info(name: &'static str, unit: &'static str, ours: f64, other: f64) -> Row {
        Row {
            other: Some(other),
            ratio: Some(ours / other),
            ..Row::alone(name, unit, ours)
        }
    }

    pub(crate) fn alone(name: &'static str, unit: &'static str, ours: f64) -> Row {
        Row {
            name,
            unit,
            ours,
            other: None,
            ratio: None,
            target: "",
            ok: None,
            note: String::new(),
        }
    }

    pub(crate) fn ratio(mut self, ratio: f64) -> Row {
        self.ratio = Some(ratio);
        self
    }

    pub(crate) fn note(mut self, note: &str) -> Row {
        self.note = note.to_owned();
        self
    }
}

pub(crate) struct Report {
    rows: bool,
    only: Option<String>,
}

impl Report {
    pub(crate) fn from_args(args: &[String]) -> Report {
        let only = args.iter().position(|arg| arg == "--only");
        Report {
            rows: args.iter().any(|arg| arg == "--rows"),
            only: only.and_then(|at| args.get(at + 1)).cloned(),
        }
    }

    pub(crate) fn wants(&self, name: &str) -> bool {
        self.only.as_ref().is_none_or(|only| only == name)
    }

    pub(crate) fn wants_any(&self, names: &[&str]) -> bool {
        names.iter().any(|name| self.wants(name))
    }

    pub(crate) fn row(&self, row: Row) {
        if !self.wants(row.name) {
            return;
        }
        if self.rows {
            let json = serde_json::json!({
                "row": "svit-bench@1",
                "name": row.name,
                "unit": row.unit,
                "ours": row.ours,
                "other": row.other,
                "ratio": row.ratio,
                "target": row.target,
                "ok": row.ok,
                "note": row.note,
            });
            println!("{json}");
            return;
        }
        let number = |number: Option<f64>| number.map_or("-".into(), |n| format!("{n:.2}"));
        let ok = match row.ok {
            Some(true) => "ok",
            Some(false) => "short",
            None => "",
        };
        println!(
            "{:22} {:>10.1} {:>12} {:5} ratio {:>8}  {:5} {} {}",
            row.name,
            row.ours,
            number(row.other),
            row.unit,
            number(row.ratio),
            ok,
            row.target,
            row.note
        );
    }
}
