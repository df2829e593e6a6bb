//! When a member drains before it claims, on a ledger that counts.

use std::{
    sync::atomic::{AtomicI64, AtomicUsize},
    time::SystemTime,
};

use super::*;

#[derive(Debug, Default)]
struct Counting {
    waiting: AtomicI64,
    passes: AtomicUsize,
}

#[async_trait]
impl Ledger for Counting {
    async fn drain(&self) -> Result<Drained> {
        self.passes.fetch_add(1, Ordering::Relaxed);
        Ok(Drained {
            due: self.waiting.load(Ordering::Relaxed) > 0,
            ..Drained::default()
        })
    }

    async fn claim(&self, ask: Ask) -> Result<Vec<Delivery>> {
        let one = || {
            let outbox_id = self.waiting.fetch_sub(1, Ordering::Relaxed);
            let now = SystemTime::now().into();
            Delivery {
                ticket: Ticket {
                    outbox_id,
                    token: ask.token,
                },
                event_id: Uuid::new_v4(),
                destination: "topic".to_owned(),
                event_type: "word".to_owned(),
                payload: "{}".to_owned(),
                headers: serde_json::Value::Null,
                ordering_key: None,
                attempts: 1,
                failures: 0,
                published_at: now,
                available_at: now,
            }
        };
        let there = usize::try_from(self.waiting.load(Ordering::Relaxed)).unwrap_or(0);
        Ok((0..ask.limit.min(there)).map(|_| one()).collect())
    }

    async fn bury(&self) -> Result<u64> {
        Ok(0)
    }

    async fn beat(&self, held: &[Ticket]) -> Result<Vec<Ticket>> {
        Ok(held.to_vec())
    }

    async fn done(&self, tickets: &[Ticket]) -> Result<Vec<Ticket>> {
        Ok(tickets.to_vec())
    }

    async fn retry(&self, _: &Ticket, _: Option<Duration>, _: &str) -> Result<Failed> {
        Ok(Failed::Again)
    }

    async fn defer(&self, _: &Ticket, _: Duration) -> Result<bool> {
        Ok(true)
    }

    async fn dead_letter(&self, _: &Ticket, _: &str, _: &str) -> Result<bool> {
        Ok(true)
    }

    async fn leave(&self) -> Result<u64> {
        Ok(0)
    }

    fn tell_others(&self) {}

    fn poll(&self) -> Duration {
        Duration::from_secs(1)
    }
}

fn member(waiting: i64) -> Member<Counting> {
    let ledger = Arc::new(Counting {
        waiting: waiting.into(),
        ..Counting::default()
    });
    Member::new(
        "group".to_owned(),
        "consumer".to_owned(),
        ledger,
        Signal::new(),
        Options::default(),
    )
}

async fn claim(member: &Member<Counting>, limit: usize) -> usize {
    let claimed = member.claim(limit, &CancellationToken::new()).await;
    claimed.map_or(0, |deliveries| deliveries.len())
}

#[tokio::test(start_paused = true)]
async fn a_backlog_is_claimed_without_a_pass_before_every_claim() {
    let member = member(100);
    for _ in 0..20 {
        assert_eq!(claim(&member, 2).await, 2);
    }
    assert_eq!(member.ledger.passes.load(Ordering::Relaxed), 1);
}

#[tokio::test(start_paused = true)]
async fn a_backlog_does_not_keep_new_events_and_suspects_waiting() {
    let member = member(100);
    assert_eq!(claim(&member, 2).await, 2);
    tokio::time::advance(STRAIGHT).await;
    assert_eq!(claim(&member, 2).await, 2);
    assert_eq!(member.ledger.passes.load(Ordering::Relaxed), 2);
}

#[tokio::test(start_paused = true)]
async fn a_claim_that_is_not_full_ends_the_backlog() {
    let member = member(3);
    assert_eq!(claim(&member, 2).await, 2);
    assert_eq!(claim(&member, 2).await, 1);
    assert_eq!(member.ledger.passes.load(Ordering::Relaxed), 1);
    member.ledger.waiting.store(1, Ordering::Relaxed);
    assert_eq!(claim(&member, 2).await, 1);
    assert_eq!(member.ledger.passes.load(Ordering::Relaxed), 2);
}

#[tokio::test(start_paused = true)]
async fn nothing_is_claimed_straight_while_a_suspect_wants_to_run_alone() {
    let member = member(100);
    assert_eq!(claim(&member, 2).await, 2);
    member.wants_to_be_idle.store(true, Ordering::Release);
    assert_eq!(claim(&member, 2).await, 2);
    assert_eq!(member.ledger.passes.load(Ordering::Relaxed), 2);
}
