//! What can happen to a process.

use proptest::prelude::*;
use svit_testkit::fault::Fault;

#[derive(Clone, Debug)]
pub(super) enum Step {
    Write(u8, i64),
    Remove(u8),
    Add(i64),
    FailingAdd(i64),
    Send(u8),
    Enqueue(i64),
    Acknowledge(usize),
    Bury(usize),
    /// The oldest intent is delivered.
    Deliver,
    /// Events, each with whether it ends a turn.
    Note(Vec<bool>),
    /// A keyed add; the same name again is a retry.
    Keyed(u8),
    Fork,
    /// A fork of a version so many percent of the way back.
    ForkAt(u64),
    Resume,
    Checkpoint,
    /// A cut so many percent of the way back.
    Cut(u64),
    Delete,
    Collect,
    /// Forgets events up to so many percent of them.
    Trim(u64),
    /// A snapshot, restored.
    Snapshot,
    /// A version so many percent of the way back is read.
    Look(u64),
    /// The next write of the store goes wrong.
    Fault(Fault),
}

/// Operations so many times as often as what keeps, forgets and forks.
pub(super) fn any_step(often: u32) -> impl Strategy<Value = Step> {
    let fault = prop_oneof![
        Just(Fault::Fail),
        Just(Fault::ForgetLost),
        Just(Fault::ForgetLanded),
        Just(Fault::CutLost),
        Just(Fault::CutLanded),
    ];
    prop_oneof![
        4 * often => (0..4_u8, 0..3_i64).prop_map(|(key, n)| Step::Write(key, n)),
        2 * often => (0..4_u8).prop_map(Step::Remove),
        4 * often => (-3..4_i64).prop_map(Step::Add),
        often => (-3..4_i64).prop_map(Step::FailingAdd),
        often => (1..3_u8).prop_map(Step::Send),
        4 * often => (0..9_i64).prop_map(Step::Enqueue),
        2 * often => (0..5_usize).prop_map(Step::Acknowledge),
        often => (0..5_usize).prop_map(Step::Bury),
        2 * often => Just(Step::Deliver),
        2 * often => prop::collection::vec(prop::bool::weighted(0.3), 0..3).prop_map(Step::Note),
        3 * often => (0..6_u8).prop_map(Step::Keyed),
        1 => Just(Step::Fork),
        1 => (0..120_u64).prop_map(Step::ForkAt),
        1 => Just(Step::Resume),
        2 => Just(Step::Checkpoint),
        1 => (0..110_u64).prop_map(Step::Cut),
        1 => Just(Step::Delete),
        1 => Just(Step::Collect),
        1 => (0..110_u64).prop_map(Step::Trim),
        1 => Just(Step::Snapshot),
        2 => (0..110_u64).prop_map(Step::Look),
        1 => fault.prop_map(Step::Fault),
    ]
}
