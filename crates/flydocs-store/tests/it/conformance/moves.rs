//! Every method from every state, held against the table of the contract. Tokens are made from the row as it stands, so
//! that only the state itself can refuse.

use std::{collections::BTreeSet, time::Duration};

use flydocs_contract::{
    ExtractionId, LegStatus, Status,
    status::{LEG_MOVES, MOVES},
};
use flydocs_store::{
    CancelRequested, Claimed, LegClaimed, LegToken, Options, Retried, Store, Token,
};

use crate::place::{
    LONG, Place, claim, claim_leg, error, requeue, result, submit, with_pending_leg,
};

const SILENCE: Duration = Duration::from_secs(31);

type Moves<S> = BTreeSet<(String, S, S)>;

async fn status(store: &dyn Store, id: ExtractionId) -> Status {
    store
        .get(id, None)
        .await
        .unwrap()
        .unwrap()
        .extraction
        .status
}

/// Brings a fresh row into a state.
async fn bring(place: &Place, store: &dyn Store, state: &str) -> ExtractionId {
    let id = submit(store).await;
    match state {
        "queued" => {}
        "cancelled" => {
            store.mark_cancelled(id, None).await.unwrap().unwrap();
        }
        _ => {
            let token = claim(store, id, "w").await.token;
            match state {
                "running" => {}
                "queued, not due" => {
                    store
                        .requeue_for_retry(&token, &requeue(LONG))
                        .await
                        .unwrap()
                        .unwrap();
                }
                "running, lost" => place.backdate(id, "heartbeat_at", SILENCE).await,
                "running, lost, spent" => {
                    place.backdate(id, "heartbeat_at", SILENCE).await;
                    claim(store, id, "w").await;
                    place.backdate(id, "heartbeat_at", SILENCE).await;
                }
                "running, cancel requested" => {
                    store.request_cancel(id, None).await.unwrap();
                }
                "running, lost, cancel requested" => {
                    store.request_cancel(id, None).await.unwrap();
                    place.backdate(id, "heartbeat_at", SILENCE).await;
                }
                "succeeded" => {
                    store
                        .mark_succeeded(&token, &result(id, "x"), false)
                        .await
                        .unwrap()
                        .unwrap();
                }
                "failed" => {
                    store
                        .mark_failed(&token, &error("x"))
                        .await
                        .unwrap()
                        .unwrap();
                }
                other => panic!("{other}"),
            }
        }
    }
    id
}

pub(crate) async fn every_method_makes_exactly_the_moves_of_the_contract(place: &Place) {
    let store = place
        .open_with(Options {
            job_max_attempts: 2,
            ..Options::default()
        })
        .await;
    let states = [
        "queued",
        "queued, not due",
        "running",
        "running, lost",
        "running, lost, spent",
        "running, cancel requested",
        "running, lost, cancel requested",
        "succeeded",
        "failed",
        "cancelled",
    ];
    let methods: BTreeSet<&str> = MOVES.iter().map(|m| m.method).collect();
    let mut made: Moves<Status> = BTreeSet::new();
    for state in states {
        for &method in &methods {
            let id = bring(place, &*store, state).await;
            let row = store.get(id, None).await.unwrap().unwrap();
            let before = row.extraction.status;
            let token = Token {
                id,
                attempts: row.extraction.attempts,
                fence: row.fence,
            };
            let text = result(id, "x");
            let moved = match method {
                "mark_running" => !matches!(
                    store.mark_running(id, "w").await.unwrap(),
                    Claimed::None | Claimed::Held | Claimed::NotDue(_)
                ),
                "mark_succeeded" => store
                    .mark_succeeded(&token, &text, true)
                    .await
                    .unwrap()
                    .is_some(),
                "mark_failed" => store
                    .mark_failed(&token, &error("x"))
                    .await
                    .unwrap()
                    .is_some(),
                "requeue_for_retry" => store
                    .requeue_for_retry(&token, &requeue(LONG))
                    .await
                    .unwrap()
                    .is_some(),
                "give_back" => store.give_back(&token).await.unwrap().is_some(),
                "mark_cancelled" => store.mark_cancelled(id, None).await.unwrap().is_some(),
                "request_cancel" => matches!(
                    store.request_cancel(id, None).await.unwrap(),
                    CancelRequested::Cancelled(_)
                ),
                "settle_cancelled" => store.settle_cancelled(&token).await.unwrap().is_some(),
                "retry" => matches!(store.retry(id, None).await.unwrap(), Retried::Queued(_)),
                other => panic!("the contract names a method the store does not have: {other}"),
            };
            let after = status(&*store, id).await;
            if moved {
                made.insert((method.to_owned(), before, after));
            } else {
                assert_eq!(
                    before, after,
                    "{method} from {state} said that it did nothing"
                );
            }
        }
    }
    let legal: Moves<Status> = MOVES
        .iter()
        .map(|m| (m.method.to_owned(), m.from, m.to))
        .collect();
    assert_eq!(made, legal);
}

/// Brings a fresh row's leg into a state.
async fn bring_leg(place: &Place, store: &dyn Store, state: &str) -> ExtractionId {
    let id = with_pending_leg(store).await;
    if state == "pending" {
        return id;
    }
    let token = claim_leg(store, id, "b").await.token;
    match state {
        "running" => {}
        "pending, not due" => {
            store
                .requeue_bbox_refinement(&token, &requeue(LONG))
                .await
                .unwrap()
                .unwrap();
        }
        "running, lost" => place.backdate(id, "heartbeat_at", SILENCE).await,
        "running, lost, spent" => {
            place.backdate(id, "heartbeat_at", SILENCE).await;
            claim_leg(store, id, "b").await;
            place.backdate(id, "heartbeat_at", SILENCE).await;
        }
        "succeeded" => {
            let text = result(id, "y");
            store
                .mark_bbox_refinement_succeeded(&token, &text)
                .await
                .unwrap()
                .unwrap();
        }
        "failed" => {
            store
                .mark_bbox_refinement_failed(&token, &error("x"))
                .await
                .unwrap()
                .unwrap();
        }
        other => panic!("{other}"),
    }
    id
}

pub(crate) async fn every_leg_method_makes_exactly_the_moves_of_the_contract(place: &Place) {
    let store = place
        .open_with(Options {
            bbox_refine_max_attempts: 2,
            ..Options::default()
        })
        .await;
    let states = [
        "pending",
        "pending, not due",
        "running",
        "running, lost",
        "running, lost, spent",
        "succeeded",
        "failed",
    ];
    let methods: BTreeSet<&str> = LEG_MOVES.iter().map(|m| m.method).collect();
    let mut made: Moves<LegStatus> = BTreeSet::new();
    for state in states {
        for &method in &methods {
            let id = bring_leg(place, &*store, state).await;
            let row = store.get(id, None).await.unwrap().unwrap();
            let leg = row
                .extraction
                .post_processing
                .clone()
                .unwrap()
                .bbox_refinement;
            let before = leg.status;
            let token = LegToken {
                id,
                attempts: leg.attempts,
                fence: row.fence,
            };
            let text = result(id, "z");
            let moved = match method {
                "start_bbox_refinement" => store.start_bbox_refinement(id).await.unwrap().is_some(),
                "mark_bbox_refinement_running" => !matches!(
                    store.mark_bbox_refinement_running(id, "b").await.unwrap(),
                    LegClaimed::None | LegClaimed::Held | LegClaimed::NotDue(_)
                ),
                "mark_bbox_refinement_succeeded" => store
                    .mark_bbox_refinement_succeeded(&token, &text)
                    .await
                    .unwrap()
                    .is_some(),
                "mark_bbox_refinement_failed" => {
                    let failed = store.mark_bbox_refinement_failed(&token, &error("x")).await;
                    failed.unwrap().is_some()
                }
                "requeue_bbox_refinement" if before == LegStatus::Pending => {
                    let requeued = store
                        .requeue_pending_bbox_refinement(id, &requeue(LONG))
                        .await;
                    requeued.unwrap().is_some()
                }
                "requeue_bbox_refinement" => {
                    let by_id = store
                        .requeue_pending_bbox_refinement(id, &requeue(LONG))
                        .await;
                    assert_eq!(by_id.unwrap(), None, "by id only while pending: {state}");
                    let requeued = store.requeue_bbox_refinement(&token, &requeue(LONG)).await;
                    requeued.unwrap().is_some()
                }
                "give_back_bbox_refinement" => store
                    .give_back_bbox_refinement(&token)
                    .await
                    .unwrap()
                    .is_some(),
                other => panic!("the contract names a method the store does not have: {other}"),
            };
            let after = store.get(id, None).await.unwrap().unwrap();
            assert_eq!(after.extraction.status, Status::Succeeded);
            let after = after.leg_status().unwrap();
            if moved {
                made.insert((method.to_owned(), before, after));
            } else {
                assert_eq!(
                    before, after,
                    "{method} from {state} said that it did nothing"
                );
            }
        }
    }
    let legal: Moves<LegStatus> = LEG_MOVES
        .iter()
        .map(|m| (m.method.to_owned(), m.from, m.to))
        .collect();
    assert_eq!(made, legal);
}
