//! Ticks to the tick, and the limits on memory, depth, time and text.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use svit_tree::guest::{GuestErrorKind, GuestLimits, Host};
use svit_value::{Value, ValueLimits};

use super::world::{BUDGET, Ran, limits};
use super::{Subject, checks, ensure, ensure_eq};

checks! {
    a_budget_of_n_passes_and_one_less_fails
    ticks_grow_with_the_work
    a_program_without_end_runs_out_of_ticks
    memory_is_bounded
    recursion_is_bounded
    a_caller_with_a_small_stack_is_no_limit
    the_clock_ends_a_run_as_an_error
    a_wait_for_a_port_is_no_time_of_the_run
    a_cancelled_run_ends
    the_text_of_a_program_is_bounded
    the_output_is_bounded
}

/// How long a run may take to end once it must.
const SOON: Duration = Duration::from_secs(20);

fn a_budget_of_n_passes_and_one_less_fails(subject: &Subject) -> Result<(), String> {
    let scripts = &subject.scripts;
    for source in [&scripts.echo, &scripts.sum, &scripts.ask] {
        let whole = subject.run(source, Value::from(100));
        ensure!(whole.result.is_ok(), "{source}: {}", whole.shown());
        ensure!(whole.ticks > 0, "{source} costs nothing");
        let exact = subject.run_in(
            &subject.world(whole.ticks, limits()),
            source,
            Value::from(100),
        );
        ensure_eq!(exact, whole, "{source} with just its {} ticks", whole.ticks);
        let short = subject.world(whole.ticks - 1, limits());
        out_of_ticks(
            &subject.run_in(&short, source, Value::from(100)),
            whole.ticks - 1,
        )?;
    }
    Ok(())
}

fn out_of_ticks(ran: &Ran, budget: u64) -> Result<(), String> {
    match &ran.result {
        Err(error) if error.kind == GuestErrorKind::OutOfTicks && error.is_hard() => {
            ensure_eq!(ran.ticks, budget, "ticks used of the budget");
            Ok(())
        }
        _ => Err(format!("with {budget} ticks it gave {}", ran.shown())),
    }
}

fn ticks_grow_with_the_work(subject: &Subject) -> Result<(), String> {
    let ticks = |n: i64| -> Result<u64, String> {
        let ran = subject.run(&subject.scripts.sum, Value::from(n));
        let sum = Value::from(n * (n + 1) / 2);
        ensure_eq!(
            ran.result.clone().ok(),
            Some(sum),
            "the sum: {}",
            ran.shown()
        );
        Ok(ran.ticks)
    };
    let (ten, twenty, more) = (ticks(10)?, ticks(20)?, ticks(1_010)?);
    ensure!(
        twenty >= ten + 10,
        "10 more steps cost {} ticks",
        twenty - ten
    );
    ensure_eq!(
        more - ten,
        100 * (twenty - ten),
        "1,000 more steps against 10 more"
    );
    Ok(())
}

fn a_program_without_end_runs_out_of_ticks(subject: &Subject) -> Result<(), String> {
    for budget in [1_000, 1_001, 50_000] {
        let world = subject.world(budget, limits());
        out_of_ticks(
            &subject.run_in(&world, &subject.scripts.spin, Value::Null),
            budget,
        )?;
    }
    Ok(())
}

/// Fails unless a run was stopped by a limit.
fn limited(ran: &Ran) -> Result<(), String> {
    match &ran.result {
        Err(error) if error.kind == GuestErrorKind::Limit && error.is_hard() => Ok(()),
        _ => Err(format!("it gave {}", ran.shown())),
    }
}

fn memory_is_bounded(subject: &Subject) -> Result<(), String> {
    // Ticks are no bound here, so that memory is.
    let world = subject.world(u64::MAX, limits());
    limited(&subject.run_in(&world, &subject.scripts.hoard, Value::Null))
}

fn recursion_is_bounded(subject: &Subject) -> Result<(), String> {
    let world = subject.world(u64::MAX, limits());
    limited(&subject.run_in(&world, &subject.scripts.recurse, Value::Null))?;
    let largest = GuestLimits {
        max_call_stack: 4_096,
        max_value_stack: 1_000_000,
        max_memory: 64 << 20,
        ..limits()
    };
    let world = subject.world(u64::MAX, largest);
    limited(&subject.run_in(&world, &subject.scripts.recurse, Value::Null))
}

fn a_caller_with_a_small_stack_is_no_limit(subject: &Subject) -> Result<(), String> {
    thread::scope(|scope| {
        let run = || subject.run(&subject.scripts.recurse, Value::Null);
        let small = thread::Builder::new().stack_size(128 << 10);
        let thread = small.spawn_scoped(scope, run).map_err(|e| e.to_string())?;
        let ran = thread
            .join()
            .map_err(|_| "the caller's thread panicked".to_owned())?;
        limited(&ran)
    })
}

fn the_clock_ends_a_run_as_an_error(subject: &Subject) -> Result<(), String> {
    let short = GuestLimits {
        max_execution: Duration::from_millis(50),
        ..limits()
    };
    let start = Instant::now();
    let world = subject.world(u64::MAX, short);
    let ran = subject.run_in(&world, &subject.scripts.spin, Value::Null);
    ensure!(start.elapsed() < SOON, "it took {:?}", start.elapsed());
    match &ran.result {
        Err(error) if error.kind == GuestErrorKind::Timeout && error.is_hard() => Ok(()),
        _ => Err(format!("it gave {}", ran.shown())),
    }
}

fn a_wait_for_a_port_is_no_time_of_the_run(subject: &Subject) -> Result<(), String> {
    let short = GuestLimits {
        max_execution: Duration::from_millis(250),
        ..limits()
    };
    let world = subject.world(BUDGET, short);
    let world = world.with_port_wait(Duration::from_millis(300));
    let ran = subject.run_in(&world, &subject.scripts.ask, Value::from(1));
    ensure!(ran.result.is_ok(), "it gave {}", ran.shown());
    let calls = ran.journal.iter().filter(|line| line.starts_with("port "));
    ensure_eq!(calls.count(), 1, "calls of the port");
    Ok(())
}

/// Who cancels uses up the ticks from outside.
fn a_cancelled_run_ends(subject: &Subject) -> Result<(), String> {
    let world = subject.world(u64::MAX, limits());
    let host: Arc<dyn Host> = world.clone();
    let start = Instant::now();
    let ran = thread::scope(|scope| {
        scope.spawn(|| {
            thread::sleep(Duration::from_millis(50));
            let _ = host.meter().charge(u64::MAX);
        });
        subject.run_in(&world, &subject.scripts.spin, Value::Null)
    });
    ensure!(start.elapsed() < SOON, "it took {:?}", start.elapsed());
    ensure!(
        ran.result.as_ref().is_err_and(|error| error.is_hard()),
        "it gave {}",
        ran.shown()
    );
    Ok(())
}

fn the_text_of_a_program_is_bounded(subject: &Subject) -> Result<(), String> {
    let small = GuestLimits {
        max_source_bytes: subject.scripts.echo.len() as u64 - 1,
        ..limits()
    };
    let program = subject.program(&subject.scripts.echo);
    ensure!(
        subject.guest.check(&program, &small).is_err(),
        "it was checked"
    );
    let ran = subject.run_in(&subject.world(BUDGET, small), &program.source, Value::Null);
    ensure!(ran.result.is_err(), "it ran and gave {}", ran.shown());
    Ok(())
}

fn the_output_is_bounded(subject: &Subject) -> Result<(), String> {
    let small = GuestLimits {
        value: ValueLimits {
            max_text_bytes: 10,
            ..ValueLimits::default()
        },
        ..limits()
    };
    let (fits, too_large) = ("0123456789", "0123456789a");
    let run = |text: &str| {
        let world = subject.world(BUDGET, small.clone());
        subject.run_in(&world, &subject.scripts.echo, Value::from(text))
    };
    ensure!(run(fits).result.is_ok(), "10 bytes: {}", run(fits).shown());
    limited(&run(too_large)).map_err(|seen| format!("11 bytes: {seen}"))
}
