//! `--throughput`: how fast the workers do one-second extractions that wait for them, when nobody is killed.

use std::{path::Path, time::Duration};

use anyhow::{Context as _, Result, bail};

use super::{House, audit::Facts, plan::Plan, print};

/// How many documents of one second.
const DOCUMENTS: u32 = 400;

/// Submits everything, then starts the workers; the database's clock counts from the first claim to the last end.
pub(super) async fn measure(plan: &Plan, binary: &Path) -> Result<()> {
    let mut house = House::open(plan, binary).await?;
    house.callers.submit_seconds(DOCUMENTS).await;
    house.start_workers(plan, binary);
    let (open, _) = house
        .settled_within(Duration::from_secs(plan.settle))
        .await?;
    house.fleet.end().await?;
    let mut facts = Facts::default();
    house.database.read_into(&mut facts).await?;
    let times = |method: &'static str| {
        let of_method = move |moment: &&super::audit::Moment| moment.method == method;
        facts
            .moments
            .iter()
            .filter(of_method)
            .map(|moment| moment.at)
    };
    let first = times("mark_running").min_by(f64::total_cmp);
    let last = times("mark_succeeded").max_by(f64::total_cmp);
    let took = last.context("nothing was done")? - first.context("nothing was begun")?;
    print(&[format!(
        "throughput: {} one-second extractions by {} workers x {} in {took:.1} s, {:.1} at a time",
        times("mark_succeeded").count(),
        plan.workers,
        plan.concurrency,
        times("mark_succeeded").count() as f64 / took,
    )]);
    if !open.nothing() {
        bail!("not done within {} s: {open:?}", plan.settle);
    }
    Ok(())
}
