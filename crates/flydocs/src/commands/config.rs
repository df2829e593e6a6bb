//! `config check` and `config show`.

use crate::{
    Outcome,
    exit::Exit,
    output::{
        Out, Paint,
        rows::{Lean, pad},
    },
    settings::{Loaded, Origin},
};

/// The settings were read without a fault.
pub(super) fn check(loaded: &Loaded, out: &mut Out) -> Outcome {
    let changed = loaded.origins.len();
    let warnings = match loaded.warnings.len() {
        1 => "1 warning".to_owned(),
        n => format!("{n} warnings"),
    };
    out.line(&format!(
        "the settings fit ({changed} set, the rest by default, {warnings})"
    ))?;
    Ok(Exit::Done)
}

/// Every setting with its value and where that comes from.
pub(super) fn show(loaded: &Loaded, out: &mut Out) -> Outcome {
    let paint = Paint::stdout();
    let entries = loaded.settings.entries();
    let widest = entries.iter().map(|e| e.name.len()).max().unwrap_or(0);
    let mut group = "";
    for entry in entries {
        if entry.group != group {
            if !group.is_empty() {
                out.line("")?;
            }
            group = entry.group;
            out.line(&paint.bold(group))?;
        }
        let origin = loaded
            .origins
            .get(entry.name)
            .copied()
            .unwrap_or(Origin::Default);
        let (origin, value) = match origin {
            Origin::Default => (String::new(), paint.dim(&entry.value)),
            Origin::Environment => ("environment".to_owned(), entry.value),
            Origin::Flag => ("flag".to_owned(), entry.value),
        };
        let line = format!(
            "  {}  {}  {}",
            paint.name(&pad(entry.name, widest, Lean::Left)),
            pad(&value, 24, Lean::Left),
            paint.good(&origin)
        );
        out.line(line.trim_end())?;
    }
    Ok(Exit::Done)
}
