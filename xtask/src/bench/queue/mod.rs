//! `cargo xtask bench queue`: our queue beside graphile-worker, pg-boss, procrastinate and apalis on one PostgreSQL in
//! one run, in interleaved rounds; medians and ratios into `docs/benchmarks/queue.md`.
//!
//! Each contender is a program that knows the same words: `setup`, `enqueue N CONNECTIONS`, `drain SLOTS MODE`,
//! `latw FILE MODE`, `late N`. The peers are installed under `target/` by this command and are no part of the project.

mod contender;
mod machine;
mod report;

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    process::Stdio,
    thread::sleep,
    time::Duration,
};

use anyhow::{Context as _, Result, bail};
use serde::Deserialize;

use self::{
    contender::{Contender, For, Mode},
    machine::Machine,
};
use crate::run::{output, say, target};

const CONNECTIONS: &str = "8";
const SLOTS: &str = "10";
/// Jobs a round, and samples of the time to an idle worker a round.
const JOBS: usize = 3000;
const SAMPLES: usize = 100;
const ROUNDS: usize = 3;
/// A worker that is idle is one that was started a while ago.
const SETTLED: Duration = Duration::from_secs(3);
const BACKLOGS: [usize; 2] = [1000, 100_000];

/// Medians of a contender.
#[derive(Debug, Default)]
struct Measured {
    submits: Vec<f64>,
    submit_cpu: Vec<f64>,
    /// By mode.
    drains: BTreeMap<&'static str, Vec<f64>>,
    drain_cpu: BTreeMap<&'static str, Vec<f64>>,
    /// Milliseconds from the call to the handler, of all rounds.
    starts: Vec<f64>,
}

/// Everything a run found.
#[derive(Debug, Default)]
struct Figures {
    by_name: BTreeMap<&'static str, Measured>,
    /// Peak memory of our worker, by backlog.
    memory: Vec<(usize, f64)>,
    server: String,
    load_before: String,
    load_after: String,
    absent: Vec<String>,
}

#[derive(Debug, Deserialize)]
struct Submitted {
    rate: f64,
}

#[derive(Debug, Deserialize)]
struct Drained {
    count: u64,
    uniq: u64,
    first: f64,
    last: f64,
    peak_mb: Option<f64>,
}

#[derive(Debug, Deserialize)]
struct Started {
    e: f64,
    s: f64,
}

/// How much is measured.
#[derive(Debug, Clone, Copy)]
struct Size {
    rounds: usize,
    jobs: usize,
    only_ours: bool,
    /// Our programs as the developer has them; the peers are optimised all the same.
    debug: bool,
}

/// Runs it; `args`: `--rounds N` (3), `--jobs N` (3000), `--debug` (ours not optimised), `--ours` (no peers, no
/// page).
pub(crate) fn run(root: &Path, args: &[String]) -> Result<()> {
    let size = size(args)?;
    let folder = target(root).join("bench/queue");
    std::fs::create_dir_all(&folder)?;
    let (mut contenders, absent) = contender::gather(root, &folder, size.debug)?;
    if size.only_ours {
        contenders.retain(|contender| contender.ours);
    }
    for absent in &absent {
        say(&format!("not measured: {absent}"));
    }
    let machine = Machine::start()?;
    let mut figures = Figures {
        server: machine.ask("postgres", "show server_version")?,
        load_before: machine::load(),
        absent,
        ..Figures::default()
    };
    for round in 1..=size.rounds {
        for contender in &contenders {
            say(&format!(
                "round {round} of {}: {}",
                size.rounds, contender.name
            ));
            let measured = figures.by_name.entry(contender.name).or_default();
            one_round(&machine, contender, size, &folder, measured)
                .with_context(|| format!("{} failed", contender.name))?;
        }
    }
    if let Some(ours) = contenders.first().filter(|contender| contender.ours) {
        for backlog in BACKLOGS {
            say(&format!("memory of a worker with {backlog} waiting"));
            figures
                .memory
                .push((backlog, memory(&machine, ours, backlog)?));
        }
    }
    figures.load_after = machine::load();
    let page = report::page(&contenders, &figures, size)?;
    say(&format!("\n{page}"));
    if size.only_ours {
        return Ok(());
    }
    write(root, &page)
}

fn write(root: &Path, page: &str) -> Result<()> {
    let place = root.join("docs/benchmarks/queue.md");
    std::fs::create_dir_all(root.join("docs/benchmarks"))?;
    std::fs::write(&place, page).with_context(|| format!("cannot write {}", place.display()))?;
    say(&format!("written to {}", place.display()));
    Ok(())
}

fn size(args: &[String]) -> Result<Size> {
    let mut size = Size {
        rounds: ROUNDS,
        jobs: JOBS,
        only_ours: false,
        debug: false,
    };
    let mut words = args.iter();
    while let Some(word) = words.next() {
        let mut number = || -> Result<usize> {
            let text = words
                .next()
                .with_context(|| format!("{word} needs a number"))?;
            text.parse().with_context(|| format!("{text} is no number"))
        };
        match word.as_str() {
            "--rounds" => size.rounds = number()?,
            "--jobs" => size.jobs = number()?,
            "--ours" => size.only_ours = true,
            "--debug" => size.debug = true,
            other => {
                bail!("bench queue knows --rounds N, --jobs N, --debug and --ours, not {other}")
            }
        }
    }
    Ok(size)
}

fn one_round(
    machine: &Machine,
    contender: &Contender,
    size: Size,
    folder: &Path,
    measured: &mut Measured,
) -> Result<()> {
    let jobs = size.jobs / contender.share;
    let modes = |not: For| {
        contender
            .modes
            .iter()
            .filter(move |mode| mode.for_what != not)
    };
    for mode in modes(For::Start) {
        let database = machine.fresh("bench")?;
        contender.tell(&database, &["setup"])?;
        let before = machine.spent()?;
        let said = contender.tell(&database, &["enqueue", &jobs.to_string(), CONNECTIONS])?;
        let submitted: Submitted = serde_json::from_str(&said)?;
        measured.submits.push(submitted.rate);
        measured
            .submit_cpu
            .push(1000.0 * (machine.spent()? - before) / jobs as f64);

        let before = machine.spent()?;
        let said = contender.tell(&database, &["drain", SLOTS, mode.word])?;
        let drained: Drained = serde_json::from_str(&said)?;
        if drained.count != jobs as u64 || drained.uniq != jobs as u64 {
            bail!(
                "{} of {jobs} jobs were done, {} different ones",
                drained.count,
                drained.uniq
            );
        }
        let rate = drained.count as f64 / ((drained.last - drained.first) / 1000.0);
        measured.drains.entry(mode.word).or_default().push(rate);
        measured
            .drain_cpu
            .entry(mode.word)
            .or_default()
            .push(1000.0 * (machine.spent()? - before) / jobs as f64);
    }
    for mode in modes(For::Drain) {
        measured
            .starts
            .extend(starts(machine, contender, mode, folder)?);
    }
    Ok(())
}

/// Milliseconds from the call that submits to the handler of an idle worker.
#[expect(
    clippy::disallowed_methods,
    reason = "no peer says when it has become idle"
)]
fn starts(
    machine: &Machine,
    contender: &Contender,
    mode: &Mode,
    folder: &Path,
) -> Result<Vec<f64>> {
    let database = machine.fresh("bench")?;
    contender.tell(&database, &["setup"])?;
    let out: PathBuf = folder.join("starts.jsonl");
    std::fs::write(&out, "")?;
    let file = out.to_str().context("the folder's name is no text")?;
    let mut worker = contender
        .command(&database, &["latw", file, mode.word])?
        .envs(mode.settings.iter().copied())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    sleep(SETTLED);
    let sent = output(
        contender
            .command(&database, &["late", &SAMPLES.to_string()])?
            .envs(mode.settings.iter().copied()),
    );
    sleep(Duration::from_secs(2));
    worker.kill()?;
    worker.wait()?;
    sent?;
    let starts = std::fs::read_to_string(&out)?
        .lines()
        .map(|line| serde_json::from_str::<Started>(line).map(|started| started.s - started.e))
        .collect::<Result<Vec<_>, _>>()?;
    if starts.len() < SAMPLES * 9 / 10 {
        bail!("{} of {SAMPLES} jobs were begun", starts.len());
    }
    Ok(starts)
}

/// The most memory our worker takes while so many wait for it.
fn memory(machine: &Machine, ours: &Contender, backlog: usize) -> Result<f64> {
    let database = machine.fresh("bench")?;
    ours.tell(&database, &["setup"])?;
    machine.ask(
        "bench",
        &format!(
            "insert into bus.outbox (event_id, destination, event_type, payload) \
             select gen_random_uuid(), 'flydocs.extractions', 'extraction.submitted', '{{}}' \
             from generate_series(1, {backlog})"
        ),
    )?;
    let said = ours.tell(&database, &["drain", SLOTS, "batch"])?;
    let drained: Drained = serde_json::from_str(&said)?;
    drained.peak_mb.context("it does not say its memory")
}

fn median(values: &[f64]) -> f64 {
    at(values, 0.5)
}

/// The value below which this share of them lies.
fn at(values: &[f64], share: f64) -> f64 {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    let place = (values.len() as f64 * share) as usize;
    values
        .get(place.min(values.len().saturating_sub(1)))
        .copied()
        .unwrap_or(f64::NAN)
}
