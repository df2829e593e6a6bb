//! Everything at once, calls dropped half-way among it, and then the books: each line of the log is a legal move, each
//! event and delivery belongs to one line, and nothing is missing.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use flydocs_contract::{
    ExtractionId, LegStatus, Status,
    status::{LEG_MOVES, MOVES},
};
use flydocs_store::{Beat, Claimed, LegClaimed, LegToken, Moment, Options, Store, Token};

use crate::place::{Place, error, new_extraction, requeue, result};

const ROWS: usize = 12;
const TASKS: u64 = 6;
const STEPS: usize = 60;

/// A small generator: the same storm each time, as far as the scheduler lets it.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> Option<T> {
        let n = self.roll(from.len().max(1) as u64) as usize;
        from.get(n).copied()
    }
}

#[derive(Default)]
struct Tokens {
    runs: Vec<Token>,
    legs: Vec<LegToken>,
}

pub(crate) async fn the_books_balance_after_a_storm(place: &Place) {
    let mut stores = Vec::new();
    for _ in 0..3 {
        let options = Options {
            job_max_attempts: 4,
            bbox_refine_max_attempts: 3,
            ..Options::default()
        };
        stores.push(place.open_with(options).await);
    }
    let mut ids = Vec::new();
    for _ in 0..ROWS {
        let mut new = new_extraction(&*stores[0]).await;
        new.callback_url = Some("https://example.com/hook".into());
        ids.push(new.id);
        stores[0].submit(new).await.unwrap();
    }
    let tokens: Arc<Mutex<Tokens>> = Arc::default();
    let mut tasks = tokio::task::JoinSet::new();
    for n in 0..TASKS {
        let store = stores[n as usize % stores.len()].clone();
        let (ids, tokens, mut dice) = (ids.clone(), tokens.clone(), Dice(n + 1));
        tasks.spawn(async move {
            for _ in 0..STEPS {
                let id = dice.pick(&ids).unwrap();
                let patience = Duration::from_micros(dice.roll(4000));
                let step = step(&*store, id, &mut dice, &tokens);
                if patience < Duration::from_micros(1200) {
                    // The caller goes away in the middle of it.
                    drop(tokio::time::timeout(patience, step).await);
                } else {
                    step.await;
                }
            }
        });
    }
    // Meanwhile workers fall silent.
    let mut dice = Dice(99);
    for _ in 0..40 {
        let id = dice.pick(&ids).unwrap();
        let fall_silent = |long_ago: &str| {
            format!(
                "UPDATE extractions SET heartbeat_at = '{long_ago}' WHERE id = '{id}' AND heartbeat_at IS NOT NULL"
            )
        };
        place
            .execute(
                &fall_silent("2020-01-01T00:00:00.000Z"),
                &fall_silent("2020-01-01T00:00:00Z"),
            )
            .await;
        tokio::task::yield_now().await;
    }
    while let Some(task) = tasks.join_next().await {
        task.unwrap();
    }
    for id in ids {
        audit(place, &*stores[0], id).await;
    }
    crate::conformance::lists::totals_are_what_is_there(&*stores[0]).await;
}

/// One step of one worker or caller. Tokens are remembered and used long after they are stale.
async fn step(store: &dyn Store, id: ExtractionId, dice: &mut Dice, tokens: &Mutex<Tokens>) {
    let run = dice.pick(&tokens.lock().unwrap().runs);
    let leg = dice.pick(&tokens.lock().unwrap().legs);
    let at_once = requeue(Duration::ZERO);
    match (dice.roll(14), run, leg) {
        (0..=3, ..) => {
            if let Claimed::Won(claim) = store.mark_running(id, "w").await.unwrap() {
                tokens.lock().unwrap().runs.push(claim.token);
            }
        }
        (4, Some(t), _) => {
            store
                .mark_succeeded(&t, &result(t.id, "x"), t.fence % 3 != 0)
                .await
                .unwrap();
        }
        (5, Some(t), _) => {
            store.mark_failed(&t, &error("x")).await.unwrap();
        }
        (6, Some(t), _) => {
            store.requeue_for_retry(&t, &at_once).await.unwrap();
        }
        (7, Some(t), _) => {
            store.give_back(&t).await.unwrap();
        }
        (8, ..) => {
            store.request_cancel(id, None).await.unwrap();
        }
        (9, ..) => {
            store.retry(id, None).await.unwrap();
        }
        (10, Some(t), _) => {
            store.heartbeat(&[Beat::of(&t, None)]).await.unwrap();
            store.settle_cancelled(&t).await.unwrap();
        }
        (11, ..) => {
            if let LegClaimed::Won(claim) =
                store.mark_bbox_refinement_running(id, "b").await.unwrap()
            {
                tokens.lock().unwrap().legs.push(claim.token);
            }
        }
        (12, _, Some(t)) => {
            store.requeue_bbox_refinement(&t, &at_once).await.unwrap();
        }
        (_, _, Some(t)) => {
            let refined = result(t.id, "y");
            store
                .mark_bbox_refinement_succeeded(&t, &refined)
                .await
                .unwrap();
        }
        _ => {}
    }
}

async fn audit(place: &Place, store: &dyn Store, id: ExtractionId) {
    let row = store.get(id, None).await.unwrap().unwrap();
    let log = store.history(id, None, 0).await.unwrap();
    let story: Vec<_> = log
        .iter()
        .map(|m| (m.method.as_str(), m.status, m.leg_status, m.attempts))
        .collect();
    assert_eq!(
        (log[0].method.as_str(), log[0].status),
        ("submit", Status::Queued)
    );
    for pair in log.windows(2) {
        assert!(pair[0].revision < pair[1].revision && pair[0].at <= pair[1].at);
        assert!(is_legal(&pair[0], &pair[1]), "{pair:#?}");
    }
    let last = log.last().unwrap();
    assert_eq!(
        (last.status, last.leg_status),
        (row.extraction.status, row.leg_status())
    );
    let attempts = log
        .iter()
        .rev()
        .find(|m| !m.method.contains("bbox"))
        .unwrap()
        .attempts;
    assert_eq!(attempts, row.extraction.attempts, "{story:?}");
    let succeeded = row.extraction.status == Status::Succeeded;
    assert_eq!(
        store.result(id, None).await.unwrap().is_some(),
        succeeded,
        "{story:?}"
    );

    let mut expected: BTreeMap<&str, usize> = BTreeMap::new();
    for moment in &log {
        for event in announced(moment) {
            *expected.entry(event).or_default() += 1;
        }
    }
    let events = place.events_of(id).await;
    let mut found: BTreeMap<&str, usize> = BTreeMap::new();
    for event in &events {
        *found.entry(event).or_default() += 1;
    }
    assert_eq!(found, expected, "{story:#?}");
    let told = |event: &str| expected.get(event).copied().unwrap_or_default();
    assert_eq!(
        store.deliveries(id, None).await.unwrap().unwrap().len(),
        told("extraction.completed") + told("extraction.post_processing.completed")
    );
}

fn is_legal(from: &Moment, to: &Moment) -> bool {
    let method = to.method.as_str();
    if method.contains("bbox") {
        let (Some(a), Some(b)) = (from.leg_status, to.leg_status) else {
            return false;
        };
        return from.status == Status::Succeeded
            && to.status == Status::Succeeded
            && LEG_MOVES
                .iter()
                .any(|m| (m.method, m.from, m.to) == (method, a, b));
    }
    let asked = method == "request_cancel" && from.status == Status::Running;
    let moved = MOVES
        .iter()
        .any(|m| (m.method, m.from, m.to) == (method, from.status, to.status));
    asked && to.status == Status::Running || moved
}

/// What a transition has to announce.
fn announced(moment: &Moment) -> Vec<&'static str> {
    const SUBMITTED: &str = "extraction.submitted";
    const COMPLETED: &str = "extraction.completed";
    const REQUESTED: &str = "extraction.post_processing.requested";
    const REFINED: &str = "extraction.post_processing.completed";
    if moment.method.contains("bbox") {
        return match moment.leg_status {
            Some(LegStatus::Pending) => vec![REQUESTED],
            Some(LegStatus::Succeeded | LegStatus::Failed) => vec![REFINED],
            _ => vec![],
        };
    }
    match (moment.status, moment.leg_status) {
        (Status::Queued, _) => vec![SUBMITTED],
        (Status::Running, _) => vec![],
        (_, Some(_)) => vec![COMPLETED, REQUESTED],
        (_, None) => vec![COMPLETED],
    }
}
