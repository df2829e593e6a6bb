//! `cargo xtask chaos`: real processes over a real database, killed while they work; then an audit of every document.
//!
//! Exit 0 only when nothing was lost, accepted twice, stuck, untrue or unexplained, and something was killed at all.

mod audit;
#[cfg(test)]
mod audit_tests;
mod callers;
mod drain;
mod facts;
mod fleet;
mod paper;
mod plan;
mod receiver;
mod servers;
mod storm;
mod throughput;

use std::{
    collections::HashMap,
    net::TcpListener,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use anyhow::{Context as _, Result, bail};
use clap::Parser as _;
use tokio::time::{Instant, sleep};

use self::{
    audit::{Broken, Ended, Facts, Finding, Recovery, audit},
    callers::Callers,
    facts::{Database, Open},
    fleet::{Death, Fleet},
    plan::{Eda, Plan},
    receiver::Receiver,
    servers::Servers,
    storm::Harm,
};
use crate::run;

/// How long the fleet may take to come up.
const UP_WITHIN: Duration = Duration::from_mins(1);
/// How long a process waits for the database at its start before it gives up, and a little more.
const STARTED: Duration = Duration::from_secs(15);
/// `FLYDOCS_HEARTBEAT_TIMEOUT_S` by default: the only thing that tells behind a pooler.
const SILENCE: f64 = 30.0;
/// How many findings are printed.
const SHOWN: usize = 40;

/// Runs it with its own arguments.
pub(crate) fn run(root: &Path, args: &[String]) -> Result<()> {
    let words = std::iter::once("chaos").chain(args.iter().map(String::as_str));
    let plan = Plan::parse_from(words);
    let binary = match &plan.binary {
        Some(binary) => binary.canonicalize().context("no such --binary")?,
        None => build(root, &plan)?,
    };
    // No connection of this process is encrypted; the HTTP client asks for a provider all the same.
    drop(rustls::crypto::ring::default_provider().install_default());
    tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?
        .block_on(async {
            if plan.throughput {
                throughput::measure(&plan, &binary).await
            } else if plan.drain {
                let folder = tempfile::tempdir()?;
                drain::measure(&plan, &binary, folder.path()).await
            } else {
                storm(&plan, &binary).await
            }
        })
}

/// The program as the developer has it.
fn build(root: &Path, plan: &Plan) -> Result<PathBuf> {
    let mut words = vec!["build", "--quiet", "--package", "flydocs"];
    if plan.eda == Some(Eda::Kafka) {
        words.extend(["--features", "kafka"]);
    }
    run::cargo(root, &words)?;
    let metadata = run::output(
        Command::new(run::cargo_program())
            .args(["metadata", "--no-deps", "--format-version=1"])
            .current_dir(root),
    )?;
    let metadata: serde_json::Value = serde_json::from_str(&metadata)?;
    let target = metadata["target_directory"]
        .as_str()
        .context("cargo does not say where it builds")?;
    Ok(Path::new(target).join("debug/flydocs"))
}

/// A run's folder, servers, receiver and fleet.
struct House {
    servers: Servers,
    receiver: Receiver,
    fleet: Fleet,
    callers: Callers,
    database: Database,
    settings: Vec<(String, String)>,
    folder: tempfile::TempDir,
}

impl House {
    /// Servers, receiver and `serve`; nobody works yet.
    async fn open(plan: &Plan, binary: &Path) -> Result<Self> {
        let mut folder = tempfile::Builder::new()
            .prefix("flydocs-chaos-")
            .tempdir()?;
        folder.disable_cleanup(plan.keep);
        let servers = Servers::start(plan, folder.path()).await?;
        let receiver = Receiver::start(plan.seed).await?;
        let port = free_port()?;
        let callers = Callers::new(format!("http://127.0.0.1:{port}"), receiver.url.clone())?;
        let settings = settings(plan, &servers, folder.path())?;
        let mut fleet = Fleet::new();
        let serve = ["serve", "--port", &port.to_string()];
        fleet.start("serve".to_owned(), &serve, &settings, binary, folder.path());
        callers.wait_for_server(UP_WITHIN).await?;
        let database = Database::open(&servers.facts).await?;
        Ok(Self {
            servers,
            receiver,
            fleet,
            callers,
            database,
            settings,
            folder,
        })
    }

    fn start_workers(&mut self, plan: &Plan, binary: &Path) {
        let roles = [("worker", plan.workers), ("bbox-worker", plan.bbox_workers)];
        for (role, count) in roles {
            for number in 1..=count {
                self.fleet.start(
                    format!("{role}-{number}"),
                    &[role],
                    &self.settings,
                    binary,
                    self.folder.path(),
                );
            }
        }
    }

    /// Waits until nothing is left to do; what is left after `at_most`.
    async fn settled_within(&self, at_most: Duration) -> Result<(Open, Duration)> {
        let began = Instant::now();
        loop {
            let open = self.database.open_work().await?;
            if open.nothing() || began.elapsed() >= at_most {
                return Ok((open, began.elapsed()));
            }
            sleep(Duration::from_millis(250)).await;
        }
    }
}

fn settings(plan: &Plan, servers: &Servers, folder: &Path) -> Result<Vec<(String, String)>> {
    let concurrency = plan.concurrency.to_string();
    let mut settings = servers.settings.clone();
    for (name, value) in [
        ("FLYDOCS_DATA_DIR", folder.display().to_string()),
        ("FLYDOCS_TESSERACT_PATH", paper::reader(folder)?),
        ("FLYDOCS_WORKER_CONCURRENCY", concurrency.clone()),
        ("FLYDOCS_PAGES_CONCURRENCY", concurrency),
        ("FLYDOCS_WEBHOOK_ALLOW_PRIVATE", "true".to_owned()),
    ] {
        settings.push((name.to_owned(), value));
    }
    Ok(settings)
}

/// A port that was free a moment ago, so that the server has the same one after every restart.
fn free_port() -> Result<u16> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}

async fn storm(plan: &Plan, binary: &Path) -> Result<()> {
    let mut house = House::open(plan, binary).await?;
    house.start_workers(plan, binary);
    run::say(&format!(
        "{}; logs in {}",
        plan.title(),
        house.folder.path().display()
    ));
    let begin = Instant::now();
    let end = begin + plan.storm();
    let (called, harm) = tokio::join!(
        house.callers.call_until(end, plan.rate, plan.seed),
        storm::rage(plan, &house.fleet, &house.servers, begin, end),
    );
    called?;
    let harm = harm?;
    run::say("the storm is over, everything may settle");
    let (open, took) = house
        .settled_within(Duration::from_secs(plan.settle))
        .await?;
    let wrong = house.fleet.end().await?;

    let mut facts = Facts {
        submissions: house.callers.submissions(),
        received: house.receiver.received(),
        ended: house
            .fleet
            .deaths()
            .iter()
            .map(|death| Ended {
                pid: death.pid,
                at: death.at,
            })
            .collect(),
        outages: harm.outages.clone(),
        silence: SILENCE,
        ..Facts::default()
    };
    house.database.read_into(&mut facts).await?;
    let (mut findings, recoveries) = audit(&facts);
    for what in wrong {
        findings.push(Finding {
            broken: Broken::Unexplained,
            about: "shutdown".to_owned(),
            what,
        });
    }
    // A process may give up at its start, when the database is away; once it runs, it has to wait for it.
    let (late, early): (Vec<Death>, Vec<Death>) = house
        .fleet
        .deaths()
        .into_iter()
        .filter(|death| !death.by_signal && death.how != "exit status: 0")
        .partition(|death| death.ran > STARTED);
    for death in late {
        findings.push(Finding {
            broken: Broken::Unexplained,
            about: death.process,
            what: format!("ended by itself with {} after {:.1?}", death.how, death.ran),
        });
    }
    print(&summary(
        plan,
        &facts,
        &harm,
        early.len(),
        open,
        took,
        &recoveries,
        &findings,
    ));
    if !findings.is_empty() {
        house.folder.disable_cleanup(true);
        bail!(
            "{} promises were broken; logs are kept in {}",
            findings.len(),
            house.folder.path().display()
        );
    }
    if harm.kills() == 0 || facts.rows.is_empty() {
        bail!("nothing was killed, or nothing was submitted: this run proves nothing");
    }
    Ok(())
}

fn summary(
    plan: &Plan,
    facts: &Facts,
    harm: &Harm,
    early: usize,
    open: Open,
    took: Duration,
    recoveries: &[Recovery],
    findings: &[Finding],
) -> Vec<String> {
    let rows = |status: &str| facts.rows.iter().filter(|row| row.status == status).count();
    let submissions = &facts.submissions;
    let with_key = submissions.iter().filter(|s| s.key.is_some()).count();
    let accepted: usize = submissions.iter().map(|s| s.accepted.len()).sum();
    let unsure: u32 = submissions.iter().map(|s| s.unsure).sum();
    let claims = |method: &str| facts.moments.iter().filter(|m| m.method == method).count();
    let came = facts.received.len();
    let taken = facts.received.iter().filter(|r| r.accepted).count();
    let mut lines = vec![
        plan.title(),
        format!(
            "  submitted   {} documents ({with_key} with a key), {accepted} answers 202, {unsure} calls failed",
            submissions.len()
        ),
        format!("  harm        {}", harm.told()),
        format!("  exits       {early} at the start, without a database"),
        format!(
            "  rows        {}: {} succeeded, {} failed, {} cancelled; {} claims, {} claims of legs",
            facts.rows.len(),
            rows("succeeded"),
            rows("failed"),
            rows("cancelled"),
            claims("mark_running"),
            claims("mark_bbox_refinement_running"),
        ),
        format!(
            "  webhooks    {} owed; {came} came, {taken} taken, {} of them twice",
            facts.hooks.len(),
            taken.saturating_sub(facts.hooks.len()),
        ),
        format!(
            "  settled     after {:.1} s; open: {} rows, {} legs, {} events, {} webhooks",
            took.as_secs_f64(),
            open.rows,
            open.legs,
            open.events,
            open.webhooks
        ),
        recovery_line("recovery   ", recoveries.iter().filter(|r| !r.over_outage)),
        recovery_line("  (restart)", recoveries.iter().filter(|r| r.over_outage)),
        format!("  first claim {}", waits(facts)),
    ];
    let counts: Vec<String> = Broken::ALL
        .iter()
        .map(|broken| {
            let count = findings.iter().filter(|f| f.broken == *broken).count();
            format!("{} {count}", broken.words())
        })
        .collect();
    lines.push(format!("  audit       {}", counts.join(", ")));
    for finding in findings.iter().take(SHOWN) {
        lines.push(format!(
            "  - {}: {}: {}",
            finding.broken.words(),
            finding.about,
            finding.what
        ));
    }
    lines
}

/// From kill -9 to the next claim; over a restart of the database its absence counts too.
fn recovery_line<'r>(name: &str, recoveries: impl Iterator<Item = &'r Recovery>) -> String {
    let seconds: Vec<f64> = recoveries.map(|recovery| recovery.seconds).collect();
    format!(
        "  {name} {} claims of killed workers taken over; p50 {}, p95 {}, max {}",
        seconds.len(),
        percentile(&seconds, 0.5),
        percentile(&seconds, 0.95),
        percentile(&seconds, 1.0),
    )
}

/// From a submission to its first claim: here also those wait whose event a killed worker had taken.
fn waits(facts: &Facts) -> String {
    let first = |method: &str| {
        let mut first: HashMap<&str, f64> = HashMap::new();
        for moment in facts.moments.iter().filter(|m| m.method == method) {
            first.entry(&moment.id).or_insert(moment.at);
        }
        first
    };
    let (submitted, claimed) = (first("submit"), first("mark_running"));
    let mut seconds: Vec<f64> = claimed
        .iter()
        .filter_map(|(id, at)| Some(at - submitted.get(id)?))
        .collect();
    seconds.sort_by(f64::total_cmp);
    format!(
        "p50 {}, p95 {}, max {} after the submission",
        percentile(&seconds, 0.5),
        percentile(&seconds, 0.95),
        percentile(&seconds, 1.0)
    )
}

/// Of sorted seconds.
fn percentile(sorted: &[f64], share: f64) -> String {
    let at = ((sorted.len() as f64 * share).ceil() as usize).clamp(1, sorted.len().max(1)) - 1;
    sorted
        .get(at)
        .map_or_else(|| "-".to_owned(), |seconds| format!("{seconds:.2} s"))
}

#[expect(clippy::print_stdout, reason = "the result of the run")]
fn print(lines: &[String]) {
    for line in lines {
        println!("{line}");
    }
}
