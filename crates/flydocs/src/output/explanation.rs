//! Why a document was read as it was, for people: each field with its label, its candidates and why one won.

use flydocs_engines::{CandidateExplanation, FieldExplanation};

use super::{
    result::{Look, shown},
    rows::{Grid, Lean, wrap},
};
use crate::roles::Testimony;

/// Candidates shown a field, beside the chosen one.
const SHOWN: usize = 4;

/// All documents of one file.
pub(crate) fn render(testimony: &[Testimony], look: Look) -> String {
    let mut lines = Vec::new();
    for document in testimony {
        lines.push(String::new());
        lines.push(format!(
            "{} {}",
            look.paint.bold("why"),
            look.paint.name(&document.document_type)
        ));
        for field in &document.explanation.fields {
            explain(field, look, &mut lines);
        }
    }
    lines.join("\n") + "\n"
}

fn explain(field: &FieldExplanation, look: Look, lines: &mut Vec<String>) {
    let paint = look.paint;
    let value = field.value.as_ref().map_or_else(|| "—".to_owned(), shown);
    let indent = field.path.chars().count() + 4;
    let values = wrap(&value, look.width.saturating_sub(indent).max(16));
    for (at, line) in values.into_iter().enumerate() {
        lines.push(if at == 0 {
            format!("  {}  {line}", paint.bold(&field.path))
        } else {
            format!("{}{line}", " ".repeat(indent))
        });
    }
    let mut sought = format!("looked for: {}", field.kind);
    if let Some(concept) = field.concept.as_ref().filter(|c| **c != field.kind) {
        sought.push_str(&format!(", {}", concept.replace('_', " ")));
    }
    if let Some(role) = &field.role {
        sought.push_str(&format!(", of the {}", role.replace('_', " ")));
    }
    for text in [sought, field.why.clone()] {
        for line in wrap(&text, look.width.saturating_sub(4)) {
            lines.push(format!("    {}", paint.dim(&line)));
        }
    }
    let mut grid = Grid::new(vec![Lean::Left, Lean::Right, Lean::Left, Lean::Left]).keep_whole(1);
    let listed = field
        .candidates
        .iter()
        .enumerate()
        .filter(|(at, candidate)| *at < SHOWN || candidate.chosen);
    for (_, candidate) in listed {
        let (mark, score) = (
            if candidate.chosen { "✓" } else { "·" },
            format!("{:.2}", candidate.score),
        );
        grid.row(vec![
            mark.to_owned(),
            score,
            candidate.text.clone(),
            evidence(candidate),
        ]);
    }
    for line in grid.lines(look.width.saturating_sub(4)).concat() {
        let line = if line.starts_with('✓') {
            paint.good(&line)
        } else {
            line
        };
        lines.push(format!("    {line}"));
    }
}

/// What speaks for a candidate.
fn evidence(candidate: &CandidateExplanation) -> String {
    let mut text = match &candidate.label {
        Some(label) => format!(
            "{} \"{label}\" {:.2}",
            candidate.place, candidate.label_strength
        ),
        None => candidate.place.clone(),
    };
    text.push_str(&format!(
        ", place {:.2}, form {:.2}, page {}",
        candidate.place_score, candidate.form, candidate.page
    ));
    if candidate.checked {
        text.push_str(", a check holds");
    }
    for note in &candidate.notes {
        text.push_str(", ");
        text.push_str(note);
    }
    text
}
