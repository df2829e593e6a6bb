//! Extractions of a server for people: one, and a list.

use flydocs_contract::{
    Extraction, LegStatus, Status, Timestamp,
    status::{ExtractionError, ExtractionList},
};

use super::{
    Paint,
    rows::{Grid, Lean, wrap},
};

/// One extraction.
pub(crate) fn one(extraction: &Extraction, width: usize, paint: Paint) -> String {
    let mut lines = vec![format!(
        "{}  {}",
        paint.bold(&extraction.id.to_string()),
        status(extraction.status, paint)
    )];
    let mut fact = |name: &str, value: String| {
        lines.push(format!("  {}{value}", paint.dim(&format!("{name:<12}"))));
    };
    fact("submitted", time(extraction.submitted_at));
    if let Some(at) = extraction.started_at {
        fact("started", time(at));
    }
    if let Some(at) = extraction.finished_at {
        fact("finished", format!("{}{}", time(at), took(extraction)));
    }
    fact("attempts", extraction.attempts.to_string());
    if let Some(leg) = extraction
        .post_processing
        .as_ref()
        .map(|p| &p.bbox_refinement)
    {
        fact("boxes", leg_word(leg.status, paint));
        if let Some(error) = &leg.error {
            fact("", sentence(error));
        }
    }
    if let Some(error) = &extraction.error {
        let text = sentence(error);
        for (i, line) in wrap(&text, width.saturating_sub(14))
            .into_iter()
            .enumerate()
        {
            let name = if i == 0 { "error" } else { "" };
            lines.push(format!(
                "  {}{}",
                paint.dim(&format!("{name:<12}")),
                paint.bad(&line)
            ));
        }
    }
    lines.join("\n") + "\n"
}

/// A page of the list.
pub(crate) fn list(list: &ExtractionList, width: usize, paint: Paint) -> String {
    if list.items.is_empty() {
        return format!("{}\n", paint.dim("no extraction matches"));
    }
    let mut grid = Grid::new(vec![
        Lean::Left,
        Lean::Left,
        Lean::Left,
        Lean::Left,
        Lean::Right,
    ])
    .keep_whole(0);
    grid.row(
        ["id", "status", "boxes", "submitted", "tries"]
            .map(str::to_owned)
            .to_vec(),
    );
    for item in &list.items {
        let mut state = status(item.status, paint);
        if let Some(error) = &item.error {
            state = format!("{state} {}", error.code);
        }
        grid.row(vec![
            item.id.to_string(),
            state,
            item.post_processing
                .as_ref()
                .map_or_else(String::new, |p| leg_word(p.bbox_refinement.status, paint)),
            item.submitted_at.format("%m-%d %H:%M:%S").to_string(),
            item.attempts.to_string(),
        ]);
    }
    let mut text = String::new();
    for (i, lines) in grid.lines(width).into_iter().enumerate() {
        for line in lines {
            let line = if i == 0 { paint.dim(&line) } else { line };
            text.push_str(&line);
            text.push('\n');
        }
    }
    let last = list.offset + list.items.len() as u64;
    text.push_str(&paint.dim(&format!("{}–{last} of {}", list.offset + 1, list.total)));
    text.push('\n');
    text
}

fn status(status: Status, paint: Paint) -> String {
    let word = status.as_str();
    match status {
        Status::Queued => paint.dim(word),
        Status::Running => paint.name(word),
        Status::Succeeded => paint.good(word),
        Status::Failed => paint.bad(word),
        Status::Cancelled => paint.warn(word),
    }
}

fn leg_word(status: LegStatus, paint: Paint) -> String {
    let word = status.as_str();
    match status {
        LegStatus::Pending => paint.dim(word),
        LegStatus::Running => paint.name(word),
        LegStatus::Succeeded => paint.good(word),
        LegStatus::Failed => paint.bad(word),
    }
}

fn time(at: Timestamp) -> String {
    at.format("%Y-%m-%d %H:%M:%S UTC").to_string()
}

fn took(extraction: &Extraction) -> String {
    let (Some(start), Some(end)) = (extraction.started_at, extraction.finished_at) else {
        return String::new();
    };
    format!(" (after {:.2} s)", (end - start).as_seconds_f64())
}

fn sentence(error: &ExtractionError) -> String {
    format!("{}: {}", error.code, error.message)
}
