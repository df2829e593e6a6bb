//! What goes wrong while the fleet works: kills, ended sessions, restarts of the database.

use std::{collections::BTreeMap, fmt::Write as _};

use anyhow::Result;
use rand::{Rng as _, SeedableRng as _, rngs::StdRng};
use tokio::time::{Instant, sleep_until};

use super::{
    fleet::{Fleet, between, now},
    plan::Plan,
    servers::Servers,
};

/// What was done to the fleet.
#[derive(Debug, Default)]
pub(super) struct Harm {
    /// By slot.
    killed: BTreeMap<String, u32>,
    ended: u32,
    listeners: i64,
    sessions: i64,
    restarts: Vec<&'static str>,
    brokers: Vec<&'static str>,
    /// When the database was away.
    pub(super) outages: Vec<(f64, f64)>,
}

impl Harm {
    pub(super) fn kills(&self) -> u32 {
        self.killed.values().sum()
    }

    /// One line of it.
    pub(super) fn told(&self) -> String {
        let mut line = format!("{} kill -9 (", self.kills());
        for (at, (slot, kills)) in self.killed.iter().enumerate() {
            let comma = if at == 0 { "" } else { ", " };
            write!(line, "{comma}{slot} {kills}").unwrap_or_default();
        }
        write!(
            line,
            "), {} SIGTERM, {} LISTEN and {} other sessions ended, {} restarts of the database ({}), away {:.1} s",
            self.ended,
            self.listeners,
            self.sessions,
            self.restarts.len(),
            self.restarts.join(", "),
            self.outages.iter().map(|(from, to)| to - from).sum::<f64>(),
        )
        .unwrap_or_default();
        for broker in &self.brokers {
            write!(line, ", {broker}").unwrap_or_default();
        }
        line
    }
}

/// Does harm until `end`.
pub(super) async fn rage(
    plan: &Plan,
    fleet: &Fleet,
    servers: &Servers,
    begin: Instant,
    end: Instant,
) -> Result<Harm> {
    let mut harm = Harm::default();
    let (kills, sessions, restarts, brokers) = tokio::join!(
        kill(plan.seed, fleet, end),
        end_sessions(plan.seed, servers, end),
        restart(plan, servers, begin, end),
        hurt_broker(servers, begin, end),
    );
    (harm.killed, harm.ended) = kills;
    (harm.listeners, harm.sessions) = sessions;
    (harm.restarts, harm.outages) = restarts?;
    harm.brokers = brokers?;
    Ok(harm)
}

/// A kill -9 every one to two seconds, and now and then an orderly end.
async fn kill(seed: u64, fleet: &Fleet, end: Instant) -> (BTreeMap<String, u32>, u32) {
    let mut random = StdRng::seed_from_u64(seed ^ 0x5ca1_ab1e);
    let (mut killed, mut ended) = (BTreeMap::new(), 0);
    loop {
        let next = Instant::now() + between(&mut random, 1.0, 2.0);
        if next >= end {
            return (killed, ended);
        }
        sleep_until(next).await;
        if random.random_bool(0.12) {
            ended += u32::from(fleet.end_one(&mut random).is_some());
        } else if let Some(slot) = fleet.kill_one(&mut random) {
            *killed.entry(slot).or_default() += 1;
        }
    }
}

/// Every three to six seconds: all that listen, or one of any kind.
async fn end_sessions(seed: u64, servers: &Servers, end: Instant) -> (i64, i64) {
    let mut random = StdRng::seed_from_u64(seed ^ 0x0015_7e9d);
    let (mut listeners, mut others) = (0, 0);
    while servers.can_restart() {
        let next = Instant::now() + between(&mut random, 3.0, 6.0);
        if next >= end {
            break;
        }
        sleep_until(next).await;
        // While the server is away there is nothing to end.
        if random.random_bool(0.6) {
            listeners += servers.end_listening().await.unwrap_or_default();
        } else {
            others += servers.end_one(random.random()).await.unwrap_or_default();
        }
    }
    (listeners, others)
}

/// Twice, at a third and at two thirds: once as a crash, once in order.
async fn restart(
    plan: &Plan,
    servers: &Servers,
    begin: Instant,
    end: Instant,
) -> Result<(Vec<&'static str>, Vec<(f64, f64)>)> {
    let (mut done, mut outages) = (Vec::new(), Vec::new());
    if !servers.can_restart() {
        return Ok((done, outages));
    }
    let crash_first = !plan.seed.is_multiple_of(2);
    for (part, as_a_crash) in [(1, crash_first), (2, !crash_first)] {
        sleep_until(begin + (end - begin) * part / 3).await;
        let from = now();
        servers.restart(as_a_crash).await?;
        outages.push((from, now()));
        done.push(if as_a_crash { "crash" } else { "in order" });
    }
    Ok((done, outages))
}

/// Twice, at a quarter and at a half.
async fn hurt_broker(servers: &Servers, begin: Instant, end: Instant) -> Result<Vec<&'static str>> {
    let mut done = Vec::new();
    for part in [1, 2] {
        sleep_until(begin + (end - begin) * part / 4).await;
        done.extend(servers.hurt_broker().await?);
    }
    Ok(done)
}
