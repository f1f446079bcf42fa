//! Values, checking, and that a run depends on its program, input and host alone.

use std::thread;

use svit_tree::guest::{GuestErrorKind, Program};
use svit_value::{Bytes, List, Map, Value, value};

use super::world::{BUDGET, limits};
use super::{Subject, checks, ensure, ensure_eq};

checks! {
    values_pass_unchanged
    what_is_no_value_does_not_leave
    a_good_program_passes_the_check
    a_broken_program_is_refused_before_it_runs
    another_language_is_refused
    runs_are_the_same_on_every_thread
    nothing_survives_a_run
}

fn samples() -> Result<Vec<Value>, svit_value::ValueError> {
    let mut deep = Value::from(1);
    for _ in 0..30 {
        deep = Value::List(List::from_values([deep])?);
    }
    let wide = Map::from_entries((0..2_000).map(|n| (format!("key {n}"), Value::from(n))))?;
    Ok(vec![
        Value::Null,
        value!(true),
        value!(0),
        Value::Int(i64::MIN),
        Value::Int(i64::MAX),
        Value::float(0.1)?,
        Value::float(1.0)?,
        Value::float(f64::MIN_POSITIVE)?,
        Value::float(f64::MAX)?,
        value!(""),
        value!("a \"quoted\" \\ text\nof {} 日本 \u{1f600} and \0"),
        Value::Bytes(Bytes::from(vec![0, 255, 128])),
        value!([]),
        value!({}),
        value!({"": {"a": [null, false, [[]], {}]}, "b/c~d": "x"}),
        deep,
        Value::Map(wide),
    ])
}

fn values_pass_unchanged(subject: &Subject) -> Result<(), String> {
    for value in samples().map_err(|e| e.to_string())? {
        let ran = subject.run(&subject.scripts.echo, value.clone());
        match &ran.result {
            Ok(found) => {
                ensure_eq!(
                    found.digest(),
                    value.digest(),
                    "{value} came back as {found}"
                );
            }
            Err(_) => return Err(format!("{value} did not come back: {}", ran.shown())),
        }
    }
    Ok(())
}

fn what_is_no_value_does_not_leave(subject: &Subject) -> Result<(), String> {
    let ran = subject.run(&subject.scripts.unstorable, Value::Null);
    match &ran.result {
        Err(error) if error.kind == GuestErrorKind::Conversion && !error.is_hard() => Ok(()),
        _ => Err(format!("it gave {}", ran.shown())),
    }
}

fn a_good_program_passes_the_check(subject: &Subject) -> Result<(), String> {
    let scripts = &subject.scripts;
    for source in [
        &scripts.echo,
        &scripts.sum,
        &scripts.ask,
        &scripts.spin,
        &scripts.catch_exec,
    ] {
        let checked = subject.guest.check(&subject.program(source), &limits());
        ensure!(checked.is_ok(), "{source} is refused: {checked:?}");
    }
    Ok(())
}

fn a_broken_program_is_refused_before_it_runs(subject: &Subject) -> Result<(), String> {
    let source = &subject.scripts.broken;
    let checked = subject.guest.check(&subject.program(source), &limits());
    let ran = subject.run(source, Value::Null);
    ensure_eq!(ran.journal.len(), 0, "requests of a broken program");
    for refused in [checked.err(), ran.result.err()] {
        let Some(error) = refused else {
            return Err("it was taken".to_owned());
        };
        ensure_eq!(error.kind, GuestErrorKind::Syntax, "the kind of {error:?}");
        ensure!(error.at.is_some(), "{error:?} does not say where");
        ensure!(
            error.message.len() <= 1_024,
            "a message of {} bytes",
            error.message.len()
        );
    }
    Ok(())
}

fn another_language_is_refused(subject: &Subject) -> Result<(), String> {
    let program = Program {
        language: "no-such-language@1".into(),
        ..subject.program(&subject.scripts.echo)
    };
    let world = subject.world(BUDGET, limits());
    let checked = subject.guest.check(&program, &limits());
    ensure!(checked.is_err(), "it was checked");
    let ran = subject.guest.run(&program, Value::Null, world, &limits());
    ensure!(ran.is_err(), "it was run");
    Ok(())
}

fn runs_are_the_same_on_every_thread(subject: &Subject) -> Result<(), String> {
    let scripts = &subject.scripts;
    for source in [
        &scripts.ask,
        &scripts.sum,
        &scripts.fail,
        &scripts.denied,
        &scripts.recurse,
    ] {
        let first = subject.run(source, Value::from(200));
        let again = subject.run(source, Value::from(200));
        ensure_eq!(again, first, "a second run of {source}");
        let others: Vec<_> = thread::scope(|scope| {
            let run = || subject.run(source, Value::from(200));
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(run)).collect();
            threads
                .into_iter()
                .map(thread::ScopedJoinHandle::join)
                .collect()
        });
        for other in others {
            let other = other.map_err(|_| "a thread panicked".to_owned())?;
            ensure_eq!(other, first, "{source} on a thread of its own");
        }
    }
    Ok(())
}

fn nothing_survives_a_run(subject: &Subject) -> Result<(), String> {
    let scripts = &subject.scripts;
    let before = subject.run(&scripts.sum, Value::from(50));
    for source in [
        &scripts.fail,
        &scripts.hoard,
        &scripts.recurse,
        &scripts.denied,
        &scripts.ask,
    ] {
        subject.run(source, value!({"some": "input"}));
        let after = subject.run(&scripts.sum, Value::from(50));
        ensure_eq!(after, before, "a run after {source}");
    }
    Ok(())
}
