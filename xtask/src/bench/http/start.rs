//! From `exec` to the first answer, and what an idle service holds.

use std::{
    process::{Command, Stdio},
    time::Duration,
};

use anyhow::{Result, bail};
use tokio::time::{Instant, sleep};

use super::{
    Page, Plan,
    figures::Figures,
    process::{Process, client, sqlite},
};

const BAR: Duration = Duration::from_millis(150);
const BAR_MIB: f64 = 40.0;

/// Ten starts on a database whose schema is there: a service is started more often than it is installed.
pub(super) async fn measure(plan: &Plan, page: &mut Page) -> Result<()> {
    let mut times = Vec::new();
    let mut resident = 0.0;
    for _ in 0..10 {
        let folder = tempfile::tempdir()?;
        let migrated = Command::new(&plan.binary)
            .args(["migrate", "--quiet"])
            .env("FLYDOCS_DATABASE_URL", sqlite(folder.path()))
            .stdout(Stdio::null())
            .status()?;
        if !migrated.success() {
            bail!("migrate failed");
        }
        let began = Instant::now();
        let serve = Process::start(plan, "serve", &sqlite(folder.path()))?;
        let client = client()?;
        let live = format!("{}/actuator/health/liveness", serve.url);
        client.get(live).send().await?.error_for_status()?;
        times.push(began.elapsed());
        sleep(Duration::from_secs(1)).await;
        resident = serve.resident_mib()?;
    }
    let figures = Figures::of(times);
    page.line(&format!(
        "\n## Start and rest\n\n| | p50 | p99 | longest | bar | |\n|---|--:|--:|--:|--:|---|\n\
         | start to the first answer, ms | {} | 150 | {} |\n\
         | resident at rest, MiB | {resident:.1} | | | 40 | {} |",
        figures.cells(),
        Page::verdict(figures.at(0.99) <= BAR),
        Page::verdict(resident <= BAR_MIB),
    ));
    Ok(())
}
