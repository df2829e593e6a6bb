//! `status`, `ls` and `gc`.

use std::{
    fmt::Write,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use lockfn::{Holder, LockFile, Result, State};

use crate::{BUSY, options::Options, print, say};

const A_DAY: Duration = Duration::from_hours(24);

pub(crate) fn status(options: &Options) -> Result<u8> {
    let lock = options.lock()?;
    let held = lock.is_held()?;
    let last = lock.last_holder();
    let text = match (held, last) {
        (true, Some(holder)) if holder.state != State::Done => format!("held by {holder}"),
        (true, _) => match lock.kernel_holder() {
            Some(pid) if pid != 0 => format!("held by pid {pid}, which left no record"),
            _ => "held by somebody who left no record".to_owned(),
        },
        (false, Some(holder)) => format!("free, last held by {}", past(&holder)),
        (false, None) => "free".to_owned(),
    };
    print(&format!("{}: {text}\n", lock.name()));
    Ok(if held {
        options.code.unwrap_or(BUSY)
    } else {
        0
    })
}

fn past(holder: &Holder) -> String {
    let who = format!("pid {} on {}: {}", holder.pid, holder.host, holder.command);
    match holder.state {
        State::Done => format!("{who} (ended {} ago)", ago(holder.ended_ms)),
        State::Exec => format!("{who} (began {} ago)", ago(holder.since_ms)),
        _ => format!(
            "{who} (died in its work, which began {} ago)",
            ago(holder.since_ms)
        ),
    }
}

pub(crate) fn list(options: &Options) -> Result<u8> {
    let mut rows = vec![["STATE", "SINCE", "PID", "LOCK", "COMMAND"].map(str::to_owned)];
    for lock in options.dir()?.locks()? {
        rows.push(row(&lock)?);
    }
    let width = |column: usize| {
        rows.iter()
            .filter_map(|row| row.get(column))
            .map(|cell| cell.chars().count())
            .max()
    };
    let widths: Vec<_> = (0..5).map(|column| width(column).unwrap_or(0)).collect();
    let mut text = String::new();
    for row in &rows {
        let mut line = String::new();
        for (cell, width) in row.iter().zip(&widths) {
            // Writing to a String cannot fail.
            write!(line, "{cell:width$}  ").unwrap_or_default();
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    print(&text);
    Ok(0)
}

fn row(lock: &LockFile) -> Result<[String; 5]> {
    let held = lock.is_held()?;
    let last = lock.last_holder();
    let state = match (held, last.as_ref().map(|holder| holder.state)) {
        (true, _) => "held",
        (false, Some(State::Running | State::Lost)) => "died",
        (false, _) => "free",
    };
    let Some(holder) = last else {
        let dash = || "-".to_owned();
        return Ok([
            state.to_owned(),
            dash(),
            dash(),
            lock.name().to_owned(),
            dash(),
        ]);
    };
    let since = if holder.ended_ms == 0 {
        holder.since_ms
    } else {
        holder.ended_ms
    };
    let name = if holder.lock.is_empty() {
        lock.name()
    } else {
        &holder.lock
    };
    Ok([
        state.to_owned(),
        ago(since),
        holder.pid.to_string(),
        name.to_owned(),
        holder.command,
    ])
}

/// A time in a form for people.
fn ago(ms: u64) -> String {
    let then = UNIX_EPOCH + Duration::from_millis(ms);
    let passed = SystemTime::now().duration_since(then).unwrap_or_default();
    match passed.as_secs() {
        0..60 => format!("{:.1} s", passed.as_secs_f64()),
        seconds @ 60..3600 => format!("{} min", seconds / 60),
        seconds @ 3600..86_400 => format!("{} h", seconds / 3600),
        seconds => format!("{} d", seconds / 86_400),
    }
}

pub(crate) fn collect(options: &Options) -> Result<u8> {
    let unused_for = options.older_than.unwrap_or(A_DAY);
    let (mut removed, mut kept) = (0, 0);
    for lock in options.dir()?.locks()? {
        match lock.remove_if_unused(unused_for) {
            Ok(true) => removed += 1,
            Ok(false) => kept += 1,
            Err(error) => {
                say(&error.to_string());
                kept += 1;
            }
        }
    }
    print(&format!("removed {removed}, kept {kept}\n"));
    Ok(0)
}
