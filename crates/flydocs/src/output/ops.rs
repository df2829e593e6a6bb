//! The tables of `ops`.

use flydocs_bus::{BusStatus, DeadLetter};
use flydocs_contract::Timestamp;
use flydocs_store::{Orphan, OrphanClass};

use super::{
    Paint,
    rows::{Grid, Lean, wrap},
};

/// Orphans, class by class.
pub(crate) fn orphans(orphans: &[Orphan], width: usize, paint: Paint) -> String {
    if orphans.is_empty() {
        return format!("{}\n", paint.good("no orphans"));
    }
    let mut text = String::new();
    for class in OrphanClass::ALL {
        let of_class: Vec<&Orphan> = orphans
            .iter()
            .filter(|orphan| orphan.class == class)
            .collect();
        if of_class.is_empty() {
            continue;
        }
        text.push_str(&format!(
            "{}  {}\n",
            paint.bold(class.as_str()),
            of_class.len()
        ));
        let mut grid =
            Grid::new(vec![Lean::Left, Lean::Left, Lean::Right, Lean::Left]).keep_whole(0);
        grid.row(
            ["id", "since", "tries", "last worker"]
                .map(str::to_owned)
                .to_vec(),
        );
        for orphan in of_class {
            grid.row(vec![
                orphan.id.to_string(),
                since(orphan.since),
                orphan.attempts.to_string(),
                orphan.claimed_by.clone().unwrap_or_default(),
            ]);
        }
        text.push_str(&indented(&lines(&grid, width.saturating_sub(2), paint)));
    }
    text
}

/// Dead letters, the newest first: two lines each.
pub(crate) fn letters(letters: &[DeadLetter], width: usize, paint: Paint) -> String {
    if letters.is_empty() {
        return format!("{}\n", paint.good("no dead letters"));
    }
    let mut text = String::new();
    for letter in letters {
        text.push_str(&format!(
            "{}  {}  {}  {} tries  {}\n",
            paint.bold(&letter.id.to_string()),
            subject(letter).unwrap_or_default(),
            since(letter.failed_at),
            letter.attempts,
            letter.group,
        ));
        let mut why = format!("{}: {}", letter.event_type, letter.reason);
        if let Some(error) = &letter.error {
            why = format!("{why}: {error}");
        }
        if let Some(at) = letter.requeued_at {
            why = format!("{why} (sent back {})", since(at));
        }
        for line in wrap(&why, width.saturating_sub(2)) {
            text.push_str(&format!("  {}\n", paint.dim(&line)));
        }
    }
    text
}

/// The drain lock of each group.
pub(crate) fn locks(status: &BusStatus, width: usize, paint: Paint) -> String {
    if status.groups.is_empty() {
        return no_groups(paint);
    }
    let mut grid = Grid::new(vec![Lean::Left, Lean::Right, Lean::Left]);
    grid.row(["group", "key", "held by"].map(str::to_owned).to_vec());
    for group in &status.groups {
        let holder = group
            .lock_holder
            .as_deref()
            .map_or_else(|| paint.dim("nobody"), str::to_owned);
        grid.row(vec![
            group.group.clone(),
            group.lock_key.to_string(),
            holder,
        ]);
    }
    lines(&grid, width, paint)
}

/// Every group with what it owes.
pub(crate) fn bus(status: &BusStatus, width: usize, paint: Paint) -> String {
    let mut text = format!(
        "{}  {} events kept\n",
        paint.bold(status.adapter),
        status.outbox
    );
    if status.groups.is_empty() {
        text.push_str(&no_groups(paint));
        return text;
    }
    let mut leans = vec![Lean::Right; 9];
    leans[0] = Lean::Left;
    let mut grid = Grid::new(leans).keep_whole(0);
    grid.row(
        [
            "group",
            "undrained",
            "due",
            "oldest",
            "delayed",
            "leased",
            "suspects",
            "dead",
            "drained at",
        ]
        .map(str::to_owned)
        .to_vec(),
    );
    for group in &status.groups {
        let oldest = group
            .oldest_due_seconds
            .map_or_else(String::new, |seconds| format!("{seconds:.1} s"));
        let bad = |count: u64| {
            if count > 0 {
                paint.bad(&count.to_string())
            } else {
                count.to_string()
            }
        };
        grid.row(vec![
            group.group.clone(),
            group.undrained.to_string(),
            group.due.to_string(),
            oldest,
            group.delayed.to_string(),
            group.in_flight.to_string(),
            bad(group.suspects),
            bad(group.dead_letters),
            since(group.last_drain_at),
        ]);
    }
    text.push_str(&lines(&grid, width, paint));
    text
}

/// The extraction an event is about.
pub(crate) fn subject(letter: &DeadLetter) -> Option<String> {
    let payload: serde_json::Value = serde_json::from_str(&letter.payload).ok()?;
    Some(payload.get("extraction")?.get("id")?.as_str()?.to_owned())
}

fn no_groups(paint: Paint) -> String {
    format!(
        "{}\n",
        paint.dim("no group has registered yet: no worker has run")
    )
}

/// The first row is a heading.
fn lines(grid: &Grid, width: usize, paint: Paint) -> String {
    let mut text = String::new();
    for (i, lines) in grid.lines(width).into_iter().enumerate() {
        for line in lines {
            let line = if i == 0 { paint.dim(&line) } else { line };
            text.push_str(&line);
            text.push('\n');
        }
    }
    text
}

fn indented(text: &str) -> String {
    text.lines().fold(String::new(), |mut indented, line| {
        indented.push_str("  ");
        indented.push_str(line);
        indented.push('\n');
        indented
    })
}

fn since(at: Timestamp) -> String {
    at.format("%m-%d %H:%M:%S").to_string()
}
