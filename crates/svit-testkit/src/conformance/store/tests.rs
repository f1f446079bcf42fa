//! The suite against stores that are wrong in one way each: every one is found out.

mod flaw;
mod flawed;

use std::sync::Arc;

use futures_lite::future::block_on;
use svit_txn::MemoryStore;

use flaw::Flaw::{self, *};
use flawed::Flawed;

/// What is wrong, and the rule that finds it out.
const ROWS: &[(Flaw, &str)] = &[
    (
        TakesAnyEpoch,
        "an_earlier_owner_is_fenced_whatever_it_appends",
    ),
    (
        TakesAnyHead,
        "a_stale_head_is_a_conflict_that_names_the_actual_one",
    ),
    (
        KeepsTheEpoch,
        "a_claim_raises_the_epoch_and_changes_nothing_else",
    ),
    (LosesReceipts, "an_append_lands_as_a_whole"),
    (LosesEvents, "a_batch_may_lack_anything"),
    (
        LandsInParts,
        "records_that_do_not_follow_are_refused_with_their_batch",
    ),
    (LosesBlocks, "a_block_is_kept_as_it_was_given"),
    (InsertsTwice, "a_second_base_is_refused_and_changes_nothing"),
    (StopsBeforeTo, "records_are_read_by_version_in_pages"),
    (IgnoresLimits, "records_are_read_by_version_in_pages"),
    (IgnoresDirection, "events_are_read_up_and_down_in_pages"),
    (ListsBackwards, "addresses_are_listed_bytewise_in_pages"),
    (MixesClients, "receipts_are_found_by_their_exact_key"),
    (MixesProcesses, "processes_do_not_touch_each_other"),
    (
        ForgetsOldReceipts,
        "the_newest_receipts_of_each_client_are_kept",
    ),
    (
        NumbersFromZero,
        "a_fork_numbers_events_behind_those_it_shares",
    ),
    (Panics, "receipts_are_found_by_their_exact_key"),
    (
        LeavesOutMissingBlocks,
        "blocks_are_answered_in_the_order_of_the_question",
    ),
    (HasForksOfNobody, "an_unknown_process_is_not_found"),
    (HeadIsTheBase, "an_import_goes_on_where_its_record_was"),
    // Checkpoints.
    (ListsUnfinished, "a_checkpoint_is_listed_once_it_is_whole"),
    (TakesAnyPart, "parts_of_a_checkpoint_come_in_order"),
    (GoesOnAtPartZero, "part_zero_begins_a_checkpoint_anew"),
    (
        TakesAnyCheckpoint,
        "a_checkpoint_says_what_the_history_says",
    ),
    (
        TakesAnyCheckpoint,
        "a_damaged_block_is_refused_with_its_part",
    ),
    (
        TakesAnyCheckpoint,
        "a_checkpoint_that_is_given_up_is_collected_or_can_go_on",
    ),
    (RefusesTheBase, "a_checkpoint_of_the_base_is_one_too"),
    (
        BuildsOnNothing,
        "a_checkpoint_may_build_on_another_or_on_a_base",
    ),
    (IgnoresSince, "a_checkpoint_needs_what_it_builds_on"),
    (
        IgnoresSince,
        "what_a_checkpoint_builds_on_stays_until_it_is_whole",
    ),
    (
        UnmakesCheckpoints,
        "a_whole_checkpoint_put_again_is_left_as_it_is",
    ),
    (
        ListsOldestFirst,
        "checkpoints_are_listed_newest_first_in_pages",
    ),
    (
        IgnoresAtOrBefore,
        "checkpoints_are_listed_newest_first_in_pages",
    ),
    (ListsThoseOfAll, "checkpoints_are_of_one_process"),
    // Cuts.
    (CutsAnywhere, "a_cut_needs_a_whole_checkpoint"),
    (CutsNothing, "a_cut_keeps_its_version_and_what_is_newer"),
    (HeadIsTheBase, "a_cut_at_the_head_leaves_the_head_as_it_was"),
    (CutsOnce, "a_cut_can_be_done_again"),
    (CutsEvents, "a_cut_keeps_receipts_and_events"),
    (CutsForAnybody, "a_cut_by_an_earlier_owner_is_fenced"),
    (
        IgnoresForks,
        "a_cut_waits_for_the_forks_that_depend_on_what_would_go",
    ),
    (
        AnyForkStopsACut,
        "a_fork_at_the_cut_or_behind_it_does_not_stand_in_the_way",
    ),
    (
        CutVersionsAreGone,
        "a_cut_version_can_be_forked_and_an_older_one_cannot",
    ),
    (CutsTheThread, "a_fork_that_is_cut_keeps_its_thread"),
    (
        ForksBackwards,
        "forks_are_those_that_depend_by_version_and_address",
    ),
    (
        ForksOfAnyVersion,
        "forks_are_those_that_depend_by_version_and_address",
    ),
    // Deletions.
    (DeletesNothing, "a_deleted_process_is_gone"),
    (
        RemembersReceipts,
        "a_new_process_shares_nothing_with_a_deleted_one",
    ),
    (
        KeepsSharing,
        "a_new_process_shares_nothing_with_a_deleted_one",
    ),
    (
        DeletesForAnybody,
        "a_deletion_by_an_earlier_owner_is_fenced",
    ),
    (
        TakesAnyEpoch,
        "an_owner_of_a_deleted_process_is_fenced_from_a_new_one",
    ),
    (
        IgnoresForks,
        "a_process_that_a_fork_depends_on_is_not_deleted",
    ),
    (DeletesWhatIsBelow, "a_deletion_leaves_the_others_alone"),
    (
        LosesInheritedEvents,
        "the_events_of_a_deleted_parent_become_its_forks_own",
    ),
    (
        KeepsSharing,
        "a_grandchild_shares_what_is_left_with_its_grandparent",
    ),
    (
        HidesForgottenEvents,
        "events_that_were_forgotten_are_not_inherited",
    ),
    // Retention.
    (
        ForgetsNoEvents,
        "forgotten_events_are_gone_and_numbers_go_on",
    ),
    (EmptyThreadStartsAtZero, "all_events_can_be_forgotten"),
    (
        FirstEventGoesBack,
        "forgetting_less_than_before_changes_nothing",
    ),
    (TrimsTheParent, "a_fork_forgets_only_events_of_its_own"),
    (TrimsForAnybody, "events_are_forgotten_only_by_the_owner"),
    (PinsNothing, "pinned_receipts_are_not_evicted"),
    (
        UnpinsNothing,
        "receipts_that_are_let_go_of_are_evicted_in_the_order_in_which_they_came",
    ),
    (
        UnpinsEverything,
        "a_message_lets_go_of_its_own_receipts_only",
    ),
    (
        KeepsTheDefault,
        "each_batch_says_how_many_receipts_are_kept",
    ),
    (CountsTheReplaced, "a_receipt_that_is_replaced_counts_once"),
    // Garbage.
    (
        CollectsNothing,
        "blocks_that_nothing_reaches_are_removed_and_no_others",
    ),
    (
        CountsNothing,
        "blocks_that_nothing_reaches_are_removed_and_no_others",
    ),
    (CollectsNothing, "what_a_cut_drops_is_collected"),
    (
        CollectsCheckpoints,
        "blocks_that_nothing_reaches_are_removed_and_no_others",
    ),
    (
        CollectsAllOfTheDeleted,
        "what_two_processes_have_stays_until_the_last_one_goes",
    ),
    (CollectsTheOpen, "blocks_of_an_unfinished_checkpoint_stay"),
    (
        CollectsTheOpen,
        "a_collection_among_changes_never_removes_what_is_reached",
    ),
    (NeverEnds, "a_collection_ends_whatever_its_pieces"),
    (IgnoresMissingBlocks, "a_missing_block_stops_the_collection"),
    (InPlaceDoesNothing, "an_append_lands_as_a_whole"),
    (
        CollectsForGood,
        "blocks_that_were_collected_can_be_brought_again",
    ),
];

#[test]
fn every_flaw_is_found_out_by_the_rule_that_it_breaks() {
    let all = super::all();
    let by_name: std::collections::BTreeMap<_, _> = all.map(|it| (it.name, it)).collect();
    for (flaw, rule) in ROWS {
        let store = Arc::new(Flawed::new(MemoryStore::new(), *flaw));
        let held = block_on(super::run(by_name[rule], store));
        assert!(held.is_err(), "{flaw:?} did not break {rule}");
    }
}

#[test]
fn each_rule_about_what_goes_has_a_flaw_that_it_finds_out() {
    let newer = [
        super::retention::CHECKS,
        super::checkpoints::CHECKS,
        super::cuts::CHECKS,
        super::deletions::CHECKS,
        super::garbage::CHECKS,
    ];
    for check in newer.into_iter().flatten() {
        let found = ROWS.iter().any(|(_, rule)| *rule == check.name);
        assert!(found, "no flaw breaks {}", check.name);
    }
}

#[test]
fn what_is_broken_is_said_by_the_name_of_the_rule() {
    let make = async || Arc::new(Flawed::new(MemoryStore::new(), Panics));
    let broken = block_on(super::store(make)).unwrap_err();
    let (rule, seen) = &broken.rules()[0];
    assert_eq!(seen, "the store panicked");
    assert!(broken.to_string().contains(rule), "{broken}");
}

#[test]
fn a_store_that_forgets_when_it_is_closed_is_found_out() {
    let new = || async { Arc::new(MemoryStore::new()) };
    let kept = super::durable_store(new, |store| Box::pin(async move { store }));
    block_on(kept).unwrap();
    let forgotten = super::durable_store(new, |_| Box::pin(async { Arc::new(MemoryStore::new()) }));
    let broken = block_on(forgotten).unwrap_err();
    let found = |rule: &str| broken.rules().iter().any(|(name, _)| *name == rule);
    assert!(found("an_append_lands_as_a_whole"), "{broken}");
}

#[test]
fn rules_have_names_of_their_own() {
    let mut names: Vec<&str> = super::rules().collect();
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    assert!(names.len() == count && count > 80, "{count}");
}
