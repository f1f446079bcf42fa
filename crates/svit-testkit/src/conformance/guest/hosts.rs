//! What a program asks of its host, what it may not get round, and programs inside programs.

use svit_tree::guest::GuestErrorKind;
use svit_value::{Value, value};

use super::world::{BUDGET, Ran, limits};
use super::{Subject, checks, ensure, ensure_eq};

checks! {
    the_host_is_asked_once_and_in_order
    a_failure_gives_nothing_and_tries_nothing_again
    a_refusal_of_the_host_is_the_failure
    a_refusal_can_be_handled
    a_hard_refusal_cannot_be_handled
    ticks_and_limits_cannot_be_handled
    there_is_no_other_authority
    a_nested_run_gives_its_result
    a_nested_run_draws_on_the_same_ticks
    a_nested_failure_can_be_handled
    a_nested_stop_cannot_be_handled
    runs_inside_runs_end
}

fn the_host_is_asked_once_and_in_order(subject: &Subject) -> Result<(), String> {
    let input = value!({"n": 7});
    let ran = subject.run(&subject.scripts.ask, input.clone());
    ensure_eq!(
        ran.result.clone().ok(),
        Some(input.clone()),
        "the answer: {}",
        ran.shown()
    );
    let digest = input.digest();
    let expected = [
        "read /memory/a".to_owned(),
        "log info read".to_owned(),
        format!("write /memory/b {digest}"),
        "remove /memory/c".to_owned(),
        format!("send {digest}"),
        format!("port echo {digest}"),
    ];
    ensure_eq!(ran.journal, expected, "what the host was asked");
    Ok(())
}

fn a_failure_gives_nothing_and_tries_nothing_again(subject: &Subject) -> Result<(), String> {
    let ran = subject.run(&subject.scripts.fail, Value::Null);
    let expected = [format!("write /memory/a {}", Value::from(1).digest())];
    ensure_eq!(ran.journal, expected, "what the host was asked");
    match &ran.result {
        Err(error) if error.kind == GuestErrorKind::Runtime && !error.is_hard() => {
            ensure!(
                error.message.len() <= 1_024,
                "a message of {} bytes",
                error.message.len()
            );
            Ok(())
        }
        _ => Err(format!("it gave {}", ran.shown())),
    }
}

fn a_refusal_of_the_host_is_the_failure(subject: &Subject) -> Result<(), String> {
    let ran = subject.run(&subject.scripts.denied, Value::Null);
    let Err(error) = &ran.result else {
        return Err(format!("it gave {}", ran.shown()));
    };
    ensure_eq!(error.kind, GuestErrorKind::Host, "the kind");
    ensure_eq!(error.code.as_str(), "denied", "the code");
    ensure!(!error.is_hard(), "it is hard");
    let host = error.host.as_ref().map(|host| host.code.as_str());
    ensure_eq!(host, Some("denied"), "the host's own error");
    Ok(())
}

fn gives(ran: &Ran, expected: &Value) -> Result<(), String> {
    match &ran.result {
        Ok(found) if found == expected => Ok(()),
        _ => Err(format!("it gave {}", ran.shown())),
    }
}

fn a_refusal_can_be_handled(subject: &Subject) -> Result<(), String> {
    let ran = subject.run(&subject.scripts.catch_denied, Value::Null);
    gives(&ran, &value!("caught"))
}

/// Fails unless a run was stopped for good.
fn stopped(ran: &Ran) -> Result<(), String> {
    match &ran.result {
        Err(error) if error.is_hard() => Ok(()),
        _ => Err(format!("it gave {}", ran.shown())),
    }
}

fn a_hard_refusal_cannot_be_handled(subject: &Subject) -> Result<(), String> {
    let ran = subject.run(&subject.scripts.catch_hard, Value::Null);
    stopped(&ran)?;
    ensure_eq!(ran.journal.len(), 1, "requests until it stopped");
    Ok(())
}

fn ticks_and_limits_cannot_be_handled(subject: &Subject) -> Result<(), String> {
    let scripts = &subject.scripts;
    for (source, kind) in [
        (&scripts.catch_spin, GuestErrorKind::OutOfTicks),
        (&scripts.catch_recurse, GuestErrorKind::Limit),
    ] {
        let ran = subject.run(source, Value::Null);
        stopped(&ran)?;
        let found = ran.result.err().map(|error| error.kind);
        ensure_eq!(found, Some(kind), "the kind of failure of {source}");
    }
    Ok(())
}

fn there_is_no_other_authority(subject: &Subject) -> Result<(), String> {
    for source in &subject.scripts.reaching {
        let ran = subject.run(source, Value::Null);
        ensure!(ran.result.is_err(), "{source} gave {}", ran.shown());
        ensure_eq!(ran.journal.len(), 0, "what {source} asked");
    }
    Ok(())
}

fn nested(subject: &Subject, outer: &str, inner: &str, input: i64) -> Ran {
    let world = subject.world(BUDGET, limits()).with_inner(inner);
    subject.run_in(&world, outer, Value::from(input))
}

fn a_nested_run_gives_its_result(subject: &Subject) -> Result<(), String> {
    let scripts = &subject.scripts;
    let ran = nested(subject, &scripts.exec, &scripts.sum, 10);
    ensure_eq!(ran.journal, ["exec /lib/inner"], "what the host was asked");
    gives(&ran, &value!(55))
}

fn a_nested_run_draws_on_the_same_ticks(subject: &Subject) -> Result<(), String> {
    let scripts = &subject.scripts;
    let alone = |n| subject.run(&scripts.sum, Value::from(n)).ticks;
    let inside = |n| nested(subject, &scripts.exec, &scripts.sum, n).ticks;
    ensure_eq!(
        inside(500) - inside(5),
        alone(500) - alone(5),
        "495 more steps"
    );
    let whole = inside(100);
    let world = |ticks| subject.world(ticks, limits()).with_inner(&scripts.sum);
    let exact = subject.run_in(&world(whole), &scripts.exec, Value::from(100));
    gives(&exact, &value!(5_050))?;
    stopped(&subject.run_in(&world(whole - 1), &scripts.exec, Value::from(100)))
}

fn a_nested_failure_can_be_handled(subject: &Subject) -> Result<(), String> {
    let scripts = &subject.scripts;
    for inner in [&scripts.fail, &scripts.broken, &scripts.denied] {
        let ran = nested(subject, &scripts.catch_exec, inner, 1);
        gives(&ran, &value!("caught")).map_err(|seen| format!("{inner}: {seen}"))?;
        let ran = nested(subject, &scripts.exec, inner, 1);
        ensure!(ran.result.is_err(), "{inner}: {}", ran.shown());
    }
    Ok(())
}

fn a_nested_stop_cannot_be_handled(subject: &Subject) -> Result<(), String> {
    let scripts = &subject.scripts;
    for inner in [
        &scripts.spin,
        &scripts.recurse,
        &scripts.hoard,
        &scripts.catch_hard,
    ] {
        let ran = nested(subject, &scripts.catch_exec, inner, 1);
        stopped(&ran).map_err(|seen| format!("{inner}: {seen}"))?;
    }
    Ok(())
}

fn runs_inside_runs_end(subject: &Subject) -> Result<(), String> {
    let scripts = &subject.scripts;
    let ran = nested(subject, &scripts.exec, &scripts.exec, 1);
    stopped(&ran)?;
    stopped(&nested(
        subject,
        &scripts.catch_exec,
        &scripts.catch_exec,
        1,
    ))
}
