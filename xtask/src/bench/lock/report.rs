//! The page `docs/benchmarks/lock.md`: bars first, then all figures.

use std::fmt::Write as _;

use anyhow::{Context as _, Result};

use super::{
    Contention, Costs, Figures, HOLD, PAIRS, PROCESSES, PYTHON_PAIRS, SECONDS, THINK, WAYS,
};

const RAW: &str = "raw open+flock+close";
const RECORD: &str = "lockfn, with holder record";

pub(super) fn page(figures: &Figures, rounds: usize) -> Result<String> {
    let mut page = String::from("# lockfn beside its peers\n\n");
    writeln!(
        page,
        "Written by `cargo xtask bench lock`. All figures are of one run on one machine, medians of {rounds} \
         interleaved rounds: trust the ratios. Uncontended costs are CPU time per acquire and release \
         ({PAIRS} pairs a round, Python {PYTHON_PAIRS}). Load averages of the machine: {} before, {} after; the \
         benchmark ran with niceness {}.\n",
        figures.load_before, figures.load_after, figures.niceness
    )?;
    bars(&mut page, figures)?;
    uncontended(&mut page, figures)?;
    contended(&mut page, figures)?;
    commands(&mut page, figures)?;
    Ok(page)
}

fn bars(page: &mut String, figures: &Figures) -> Result<()> {
    writeln!(page, "## Bars\n\n| bar | measured | |\n|---|--:|---|")?;
    let disk = &figures.disk;
    let raw = cost(disk, RAW)?;
    let record = cost(disk, RECORD)?;
    let mut bar = |what: &str, measured: String, kept: bool| {
        writeln!(
            page,
            "| {what} | {measured} | {} |",
            if kept { "kept" } else { "**missed**" }
        )
    };
    let verified = cost(disk, "lockfn, verified")? / raw;
    bar(
        "verified, at most 1.5 x raw open+flock+close",
        format!("{verified:.2} x"),
        verified <= 1.5,
    )?;
    bar(
        "with holder record, at most 3 x",
        format!("{:.2} x", record / raw),
        record / raw <= 3.0,
    )?;
    for attribute in ["wait", "skip", "async"] {
        let over = (cost(disk, &format!("attribute, {attribute}"))? - record) / 1e3;
        bar(
            &format!("attribute ({attribute}), at most 1 us over the library"),
            format!("{over:.2} us"),
            over <= 1.0,
        )?;
    }
    let attribute = cost(disk, "attribute, wait")?;
    let seed = cost(disk, "seed, wait")? / attribute;
    bar(
        "at least 1.6 x faster than the seed's decorator",
        format!("{seed:.1} x"),
        seed >= 1.6,
    )?;
    let filelock = cost(disk, "filelock")? / attribute;
    bar(
        "at least 9 x faster than filelock",
        format!("{filelock:.1} x"),
        filelock >= 9.0,
    )?;
    let command = |name: &str| {
        figures
            .commands
            .get(name)
            .map(|(cpu, _)| *cpu)
            .context("a command is missing")
    };
    let ratio = command("lockfn -f f -- true")? / command("flock f true")?;
    bar(
        "command, at most 1.2 x `flock f true` (CPU)",
        format!("{ratio:.2} x"),
        ratio <= 1.2,
    )?;
    let longest = |way: &str| {
        figures
            .thinking
            .get(way)
            .map(|seen| seen.longest_ms)
            .context("a way is missing")
    };
    let bare = longest("raw flock")?;
    for way in ["lockfn sync", "lockfn timed", "lockfn async"] {
        let measured = longest(way)?;
        let beside = format!(
            "{measured:.1} ms ({:.2} x raw flock's {bare:.1} ms)",
            measured / bare
        );
        bar(
            &format!("longest wait of {way}, at most 20 ms"),
            beside,
            measured <= 20.0,
        )?;
    }
    writeln!(page)?;
    Ok(())
}

fn cost(costs: &Costs, name: &str) -> Result<f64> {
    costs
        .get(name)
        .copied()
        .with_context(|| format!("{name} was not measured"))
}

fn uncontended(page: &mut String, figures: &Figures) -> Result<()> {
    writeln!(
        page,
        "## Uncontended, microseconds of CPU per pair\n\n| | disk | x raw | tmpfs | x raw |\n|---|--:|--:|--:|--:|"
    )?;
    let (raw_disk, raw_memory) = (cost(&figures.disk, RAW)?, cost(&figures.memory, RAW)?);
    let mut rows: Vec<_> = figures.disk.iter().collect();
    rows.sort_by(|(_, one), (_, two)| one.total_cmp(two));
    for (name, disk) in rows {
        let memory = cost(&figures.memory, name)?;
        writeln!(
            page,
            "| {name} | {:.2} | {:.2} | {:.2} | {:.2} |",
            disk / 1e3,
            disk / raw_disk,
            memory / 1e3,
            memory / raw_memory
        )?;
    }
    writeln!(page)?;
    Ok(())
}

fn contended(page: &mut String, figures: &Figures) -> Result<()> {
    for (title, seen) in [
        (
            format!("{HOLD:?} hold, {THINK:?} think time"),
            &figures.thinking,
        ),
        (format!("{HOLD:?} hold, no think time"), &figures.saturated),
    ] {
        writeln!(
            page,
            "## {PROCESSES} processes, {title}, {SECONDS} s\n\nEach entry adds one to a counter file, read and \
             written back without any other care; no update was lost.\n\n\
             | | entries/s | longest wait ms | (worst round) |\n|---|--:|--:|--:|"
        )?;
        for way in WAYS {
            let Contention {
                per_second,
                longest_ms,
                worst_ms,
            } = seen.get(way).context("a way is missing")?;
            writeln!(
                page,
                "| {way} | {per_second:.0} | {longest_ms:.1} | {worst_ms:.1} |"
            )?;
        }
        writeln!(page)?;
    }
    Ok(())
}

fn commands(page: &mut String, figures: &Figures) -> Result<()> {
    writeln!(
        page,
        "## Commands, microseconds each\n\n| | CPU | wall |\n|---|--:|--:|"
    )?;
    let mut rows: Vec<_> = figures.commands.iter().collect();
    rows.sort_by(|(_, one), (_, two)| one.0.total_cmp(&two.0));
    for (name, (cpu, wall)) in rows {
        writeln!(page, "| `{name}` | {cpu:.0} | {wall:.0} |")?;
    }
    Ok(())
}
