//! `--drain`: how long a drain pass holds the lock of its group while ten thousand events wait. A pass is one
//! statement in its own transaction, so it holds the lock no longer than the statement takes.

use std::{path::Path, process::Command, time::Instant};

use anyhow::{Result, bail};
use sqlx::{Connection as _, PgConnection, Row as _};

use super::{
    plan::{Plan, Store},
    print,
    servers::Servers,
};
use crate::run;

const UNDRAINED: i64 = 10_000;
/// As many events as the bus moves in one pass.
const BATCH: i32 = 250;
/// How often the ten thousand are drained.
const ROUNDS: usize = 20;
const BAR_MS: f64 = 25.0;

const REGISTER: &str = "\
INSERT INTO bus.offsets (consumer_group, lock_key, destinations, event_types)
VALUES ('measured', bus.group_lock_key('measured'), '{topic}', '{kind}')";

const PUBLISH: &str = "\
INSERT INTO bus.outbox (event_id, destination, event_type, payload)
SELECT gen_random_uuid(), 'topic', 'kind', repeat('x', 1500) FROM generate_series(1, $1)";

/// Drains ten thousand events in passes, again and again, beside a worker's settlements.
pub(super) async fn measure(plan: &Plan, binary: &Path, folder: &Path) -> Result<()> {
    if plan.store != Store::Postgres {
        bail!("--drain goes with --store postgres");
    }
    let servers = Servers::start(plan, folder).await?;
    let mut migrate = Command::new(binary);
    migrate.arg("migrate").envs(servers.settings.clone());
    run::output(&mut migrate)?;
    let mut session = PgConnection::connect(&servers.facts).await?;
    sqlx::query(REGISTER).execute(&mut session).await?;
    let mut passes = Vec::new();
    for _ in 0..ROUNDS {
        sqlx::query(PUBLISH)
            .bind(UNDRAINED)
            .execute(&mut session)
            .await?;
        loop {
            let began = Instant::now();
            let row = sqlx::query("SELECT moved, is_full FROM bus.drain('measured', $1)")
                .bind(BATCH)
                .fetch_one(&mut session)
                .await?;
            passes.push(began.elapsed().as_secs_f64() * 1000.0);
            if !row.try_get::<bool, _>("is_full")? {
                break;
            }
        }
        sqlx::query("DELETE FROM bus.deliveries WHERE consumer_group = 'measured'")
            .execute(&mut session)
            .await?;
    }
    passes.sort_by(f64::total_cmp);
    let at = |share: f64| {
        let place = (passes.len() as f64 * share) as usize;
        passes
            .get(place.min(passes.len() - 1))
            .copied()
            .unwrap_or(f64::INFINITY)
    };
    print(&[format!(
        "drain: {} passes of {BATCH} over {UNDRAINED} undrained events; the lock was held p50 {:.1} ms, p99 {:.1} ms, \
         max {:.1} ms",
        passes.len(),
        at(0.5),
        at(0.99),
        at(1.0),
    )]);
    if at(0.99) > BAR_MS {
        bail!("the lock was held for longer than {BAR_MS} ms");
    }
    Ok(())
}
