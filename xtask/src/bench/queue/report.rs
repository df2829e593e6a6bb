//! The page `docs/benchmarks/queue.md`: bars first, then all figures.

use std::fmt::Write as _;

use anyhow::{Context as _, Result};

use super::{Contender, Figures, Measured, SAMPLES, Size, at, median};

/// Milliseconds.
const START_BAR: f64 = 20.0;

pub(super) fn page(contenders: &[Contender], figures: &Figures, size: Size) -> Result<String> {
    let mut page = String::from("# The queue beside its peers\n\n");
    writeln!(
        page,
        "Written by `cargo xtask bench queue --rounds {} --jobs {}`. One PostgreSQL {} for all, fsync on, one run, \
         medians of interleaved rounds: trust the ratios.{} Load averages of the machine ({} processors): {} before, {} \
         after.\n\n\
         - *Submit*: one job after the other on each of 8 connections, each in a transaction of its own.\n\
         - *Drain*: one process with 10 slots and handlers that do nothing. *Batched*: as the peer offers it for \
         throughput, many jobs in one statement; ours takes 250 events at once.\n\
         - *Start*: from the call that submits to the handler of an idle worker, woken as the peer offers it, {} jobs.\n\
         - *CPU*: of client, worker and server together.\n\
         - *Fenced*: a worker that lost its job can settle nothing any more.\n\n\
         `flydocs, the bus` does what a job queue does. `flydocs, whole extractions` is all of the way to a result: the \
         submission writes a row, its log, a reference to a stored file and an event; the work claims the row, reads the \
         file, and stores a result, two lines of the log and the next event.\n",
        size.rounds,
        size.jobs,
        figures.server,
        if size.debug {
            " **Our programs are debug builds, the peers' are what their packages ship: ours are lower bounds.**"
        } else {
            ""
        },
        std::thread::available_parallelism().map_or(1, usize::from),
        figures.load_before,
        figures.load_after,
        SAMPLES * size.rounds,
    )?;
    bars(&mut page, contenders, figures)?;
    table(&mut page, contenders, figures)?;
    for absent in &figures.absent {
        writeln!(page, "\nNot measured here: {absent}")?;
    }
    Ok(page)
}

fn measured<'f>(figures: &'f Figures, contender: &Contender) -> Result<&'f Measured> {
    figures
        .by_name
        .get(contender.name)
        .with_context(|| format!("{} was not measured", contender.name))
}

/// The best drain of a contender among its modes.
fn drain(contender: &Contender, measured: &Measured, batched: bool) -> Option<f64> {
    contender
        .modes
        .iter()
        .filter(|mode| mode.batched == batched)
        .filter_map(|mode| Some(median(measured.drains.get(mode.word)?)))
        .max_by(f64::total_cmp)
}

fn bars(page: &mut String, contenders: &[Contender], figures: &Figures) -> Result<()> {
    let mut best: [Option<(f64, &str)>; 3] = [None; 3];
    for peer in contenders.iter().filter(|peer| !peer.ours && peer.fenced) {
        let measured = measured(figures, peer)?;
        let rates = [
            Some(median(&measured.submits)),
            drain(peer, measured, false),
            drain(peer, measured, true),
        ];
        for (best, rate) in best.iter_mut().zip(rates) {
            if let Some(rate) = rate
                && best.is_none_or(|(known, _)| rate > known)
            {
                *best = Some((rate, peer.name));
            }
        }
    }
    writeln!(page, "| bar | measured | |\n|---|--:|---|")?;
    let kept = |kept: bool| if kept { "kept" } else { "**missed**" };
    for contender in contenders.iter().filter(|contender| contender.ours) {
        let measured = measured(figures, contender)?;
        let rates = [
            Some(median(&measured.submits)),
            drain(contender, measured, false),
            drain(contender, measured, true),
        ];
        let words = ["submit", "drain", "drain, batched"];
        for ((word, rate), best) in words.iter().zip(rates).zip(best) {
            if let (Some(rate), Some((peer, name))) = (rate, best) {
                let ratio = rate / peer;
                writeln!(
                    page,
                    "| {}: {word}, at least the best fenced peer ({name}) | {ratio:.2} x | {} |",
                    contender.name,
                    kept(ratio >= 1.0)
                )?;
            }
        }
        let p99 = at(&measured.starts, 0.99);
        writeln!(
            page,
            "| {}: start of an idle worker, p99 under {START_BAR} ms | {p99:.1} ms | {} |",
            contender.name,
            kept(p99 < START_BAR)
        )?;
    }
    if let [(few, small), (many, large)] = figures.memory.as_slice() {
        writeln!(
            page,
            "| memory of the worker with {many} waiting, against {few} | {large:.0} MB against {small:.0} MB | {} |",
            kept(*large < small * 1.5)
        )?;
    }
    writeln!(page)?;
    Ok(())
}

fn table(page: &mut String, contenders: &[Contender], figures: &Figures) -> Result<()> {
    writeln!(
        page,
        "| | fenced | submit/s | CPU ms | drain/s | CPU ms | drain batched/s | CPU ms | start p50 ms | p99 ms |\n\
         |---|---|--:|--:|--:|--:|--:|--:|--:|--:|"
    )?;
    for contender in contenders {
        let measured = measured(figures, contender)?;
        let cpu = |batched: bool| {
            contender
                .modes
                .iter()
                .filter(|mode| mode.batched == batched)
                .filter_map(|mode| Some(median(measured.drain_cpu.get(mode.word)?)))
                .min_by(f64::total_cmp)
        };
        let shown = |value: Option<f64>, digits: usize| {
            value.map_or_else(|| "-".to_owned(), |value| format!("{value:.digits$}"))
        };
        writeln!(
            page,
            "| {} | {} | {:.0} | {:.2} | {} | {} | {} | {} | {:.1} | {:.1} |",
            contender.name,
            if contender.fenced { "yes" } else { "no" },
            median(&measured.submits),
            median(&measured.submit_cpu),
            shown(drain(contender, measured, false), 0),
            shown(cpu(false), 2),
            shown(drain(contender, measured, true), 0),
            shown(cpu(true), 2),
            median(&measured.starts),
            at(&measured.starts, 0.99),
        )?;
    }
    Ok(())
}
