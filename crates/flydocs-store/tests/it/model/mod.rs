//! The state machine and the bus as a model, walked through completely: every order of submissions, late commits,
//! drains, claims, settlements, redeliveries, false suspicions and crashes that a small world allows.
//!
//! The model says in a few lines what the SQL does in many, so it shows that the design holds, not that the SQL
//! follows it: that is the conformance suite's. It moves only along the contract's own list of moves. Each promise
//! is broken on purpose by a fault, which the walk must find.

mod check;
mod world;

use stateright::{Checker as _, Model as _};

use self::{
    check::{ALL_HANDED_OUT, BY_ITS_HOLDER, Modelled, NOTHING_LOST, STATE_AND_EVENT},
    world::{Budget, Fault},
};

/// One extraction, and much that befalls it.
const ONE: Budget = Budget {
    rows: 1,
    crashes: 1,
    suspicions: 2,
    retries: 1,
    cancels: 1,
};

/// Two, whose submissions may commit in either order.
const TWO: Budget = Budget {
    rows: 2,
    crashes: 1,
    suspicions: 1,
    retries: 0,
    cancels: 0,
};

fn walk(model: Modelled) -> impl stateright::Checker<Modelled> {
    model.checker().threads(2).spawn_bfs().join()
}

/// Every promise, in every world.
fn keeps_every_promise(budget: Budget) {
    let walked = walk(Modelled {
        budget,
        fault: Fault::None,
        only: None,
    });
    walked.assert_properties();
    assert!(walked.unique_state_count() > 10_000);
}

#[test]
fn one_extraction_keeps_every_promise_whatever_befalls_it() {
    keeps_every_promise(ONE);
}

#[test]
fn two_extractions_keep_every_promise_in_any_order() {
    keeps_every_promise(TWO);
}

/// The fault breaks the promise, and the walk finds out how.
fn breaks(budget: Budget, fault: Fault, promise: &'static str) {
    let walked = walk(Modelled {
        budget,
        fault,
        only: Some(promise),
    });
    assert!(
        walked.discovery(promise).is_some(),
        "{fault:?} is not found among {} states",
        walked.unique_state_count()
    );
}

#[test]
fn without_the_fence_a_late_worker_settles_for_its_successor() {
    breaks(ONE, Fault::NoFence, BY_ITS_HOLDER);
}

#[test]
fn an_event_outside_the_transaction_says_what_is_not_so() {
    breaks(ONE, Fault::EventApart, STATE_AND_EVENT);
}

#[test]
fn a_drain_by_number_passes_a_late_commit_over() {
    breaks(TWO, Fault::DrainByNumber, ALL_HANDED_OUT);
}

#[test]
fn a_delivery_that_is_done_before_its_work_loses_it_with_the_worker() {
    breaks(ONE, Fault::DoneFirst, NOTHING_LOST);
}

#[test]
fn a_row_in_other_hands_that_counts_as_handled_is_lost_with_them() {
    breaks(ONE, Fault::HeldIsDone, NOTHING_LOST);
}
