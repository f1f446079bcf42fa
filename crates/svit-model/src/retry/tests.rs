//! How long the waits are.

use super::*;
use crate::error::TransientCause;
use crate::scripted::Scripted;

fn retry() -> Retry<Scripted> {
    Retry::new(Scripted::new([]))
        .first_wait(Duration::from_millis(100))
        .longest_wait(Duration::from_secs(1))
        .attempts(10)
        .seed(7)
}

fn transient(retry_after: Option<Duration>) -> ModelError {
    ModelError::Transient {
        cause: TransientCause::Status(503),
        retry_after,
        detail: String::new(),
        source: None,
    }
}

#[test]
fn waits_double_up_to_the_longest_with_jitter_below() {
    let retry = retry();
    for (next, whole) in [(1, 100), (2, 200), (3, 400), (4, 800), (5, 1000), (9, 1000)] {
        let mut waits: Vec<u128> = (0..200)
            .map(|_| retry.wait(&transient(None), next).unwrap().as_millis())
            .collect();
        waits.sort_unstable();
        assert!(
            waits[0] >= whole / 2 && waits[199] <= whole,
            "{next}: {waits:?}"
        );
        assert!(waits[199] - waits[0] > whole / 4, "jitter");
    }
    assert_eq!(
        retry.wait(&transient(None), 10),
        None,
        "no eleventh attempt"
    );
}

#[test]
fn the_asked_wait_counts_when_it_is_longer_but_not_too_long() {
    let retry = retry();
    let wait = |asked| retry.wait(&transient(Some(Duration::from_millis(asked))), 1);
    assert!(wait(1).unwrap() >= Duration::from_millis(50));
    assert_eq!(wait(900), Some(Duration::from_millis(900)));
    assert_eq!(wait(1001), None);
}

#[test]
fn other_errors_are_not_waited_for() {
    assert_eq!(retry().wait(&ModelError::invalid("x"), 1), None);
}

#[test]
fn huge_settings_do_not_overflow() {
    let retry = Retry::new(Scripted::new([]))
        .attempts(u32::MAX)
        .first_wait(Duration::MAX)
        .longest_wait(Duration::MAX);
    for next in [1, 31, 32, 33, u32::MAX - 1] {
        let _ = retry.wait(&transient(None), next);
    }
}

#[test]
fn outside_a_runtime_waiting_is_an_error() {
    use futures_util::FutureExt;
    let scripted = Scripted::from_fn(|_| crate::scripted::ScriptedReply::error(transient(None)));
    let answer = Retry::new(scripted)
        .respond(ModelRequest::default())
        .now_or_never()
        .unwrap();
    assert_eq!(answer.err().unwrap().code(), "no_runtime");
}
