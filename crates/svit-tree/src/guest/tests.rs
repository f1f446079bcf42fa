//! The meter to the tick, and which failures nothing may swallow.

use std::thread;

use super::*;

#[test]
fn a_meter_is_exact_at_its_edge() {
    for (budget, charges, used) in [
        (
            10,
            vec![(9, true), (1, true), (0, true), (1, false), (0, true)],
            10,
        ),
        (10, vec![(11, false), (1, false)], 10),
        (0, vec![(0, true), (1, false)], 0),
        (
            u64::MAX,
            vec![(u64::MAX - 1, true), (1, true), (1, false)],
            u64::MAX,
        ),
        (10, vec![(5, true), (u64::MAX, false), (1, false)], 10),
    ] {
        let meter = Meter::new(budget);
        for (ticks, fits) in charges {
            assert_eq!(meter.charge(ticks).is_ok(), fits, "{ticks} of {budget}");
        }
        assert_eq!(
            (meter.used(), meter.left(), meter.budget()),
            (used, budget - used, budget)
        );
    }
}

#[test]
fn several_threads_never_take_more_than_the_budget() {
    let meter = Meter::new(10_000);
    let taken: u64 = thread::scope(|scope| {
        let workers: Vec<_> = (1..=3)
            .map(|ticks| {
                let meter = &meter;
                scope.spawn(move || {
                    std::iter::repeat_with(|| meter.charge(ticks))
                        .take_while(Result::is_ok)
                        .count() as u64
                        * ticks
                })
            })
            .collect();
        workers
            .into_iter()
            .map(|worker| worker.join().unwrap())
            .sum()
    });
    assert!(taken <= 10_000 && taken > 9_990, "{taken}");
    assert_eq!(meter.left(), 0);
}

#[test]
fn what_nothing_may_swallow() {
    use GuestErrorKind as Kind;
    for (kind, hard) in [
        (Kind::Syntax, false),
        (Kind::Runtime, false),
        (Kind::Conversion, false),
        (Kind::Host, false),
        (Kind::Limit, true),
        (Kind::OutOfTicks, true),
        (Kind::Timeout, true),
        (Kind::Panic, true),
        (Kind::Cancelled, true),
    ] {
        assert_eq!(
            GuestError::new(kind, "code", "message").is_hard(),
            hard,
            "{kind:?}"
        );
    }
    let of = |host| GuestError {
        host: Some(host),
        ..GuestError::new(Kind::Host, "code", "message")
    };
    assert!(of(HostError::hard("c", "m")).is_hard());
    assert!(!of(HostError::soft("c", "m")).is_hard());
    assert!(of(OutOfTicks { budget: 1 }.into()).is_hard());
}

#[test]
fn a_library_entry_is_read_strictly() {
    use svit_value::value;
    for (value, expected) in [
        (value!({"source": "x"}), None),
        (
            value!({"source": "x", "documentation": "d", "language": "l"}),
            None,
        ),
        (
            value!("x"),
            Some("expected a map with a source, found text"),
        ),
        (value!({}), Some("it has no source")),
        (value!({"documentation": "d"}), Some("it has no source")),
        (
            value!({"source": 1}),
            Some("source should be text, found int"),
        ),
        (
            value!({"source": "x", "language": null}),
            Some("language should be text, found null"),
        ),
        (
            value!({"source": "x", "Source": "y"}),
            Some("it has no field \"Source\""),
        ),
    ] {
        let read = LibraryEntry::from_value(&value);
        assert_eq!(
            read.as_ref().err().map(ToString::to_string).as_deref(),
            expected
        );
        if let Ok(entry) = read {
            assert_eq!(entry.to_value().unwrap(), value);
        }
    }
    let long = value!({("é".repeat(100)): "x"});
    let error = LibraryEntry::from_value(&long).unwrap_err().to_string();
    assert_eq!(error, format!("it has no field \"{}\"", "é".repeat(40)));
}
