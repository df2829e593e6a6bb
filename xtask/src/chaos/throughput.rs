//! `--throughput`: how fast the fleet does one-second extractions when nobody is killed.

use std::{path::Path, time::Duration};

use anyhow::{Result, bail};
use tokio::time::Instant;

use super::{House, plan::Plan, print};

/// How many documents of one second.
const DOCUMENTS: u32 = 400;

/// Submits first, then starts the clock with the first claim.
pub(super) async fn measure(plan: &Plan, binary: &Path) -> Result<()> {
    let mut house = House::open(plan, binary).await?;
    let began = Instant::now();
    house.callers.submit_seconds(DOCUMENTS).await;
    let submitted = began.elapsed();
    let (open, _) = house
        .settled_within(Duration::from_secs(plan.settle))
        .await?;
    let took = began.elapsed();
    house.fleet.end().await?;
    print(&[format!(
        "throughput: {DOCUMENTS} one-second extractions by {} workers x {} in {:.1} s from the first submission \
         (submitted within {:.1} s)",
        plan.workers,
        plan.concurrency,
        took.as_secs_f64(),
        submitted.as_secs_f64(),
    )]);
    if !open.nothing() {
        bail!("not done within {} s: {open:?}", plan.settle);
    }
    Ok(())
}
