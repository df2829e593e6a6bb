//! Text beside a label, as printed.

use super::{
    Reader,
    candidate::{Candidate, Evidence, Place},
    labelled::role_factor,
    text::text_values,
};
use crate::local::{
    label::{Label, Query},
    layout::Span,
};

/// The remark on a value below its label in the same drawn box.
pub(crate) const IN_ITS_BOX: &str = "in the box of its label";

/// Whether what stands beside a label is the rest of the label: "Place and date", "Street and number".
fn goes_on(reader: &Reader<'_>, label: &Label, spans: &[Span]) -> bool {
    let document = reader.document;
    let (Some(first), last) = (spans.first().map(|s| s.first), label.last().last) else {
        return false;
    };
    !label.closed
        && first == last + 1
        && document.tokens[first].run == document.tokens[last].run
        && matches!(
            document.tokens[first].text.as_str(),
            "and" | "or" | "und" | "oder" | "et" | "ou" | "y" | "e" | "en" | "i" | "&"
        )
}

/// Text beside the labels, as printed.
pub(crate) fn text(
    reader: &Reader<'_>,
    index: usize,
    query: &Query,
    lines: usize,
    factor: f64,
    found: &mut Vec<Candidate>,
) {
    for label in &reader.labels.of_query[index] {
        if label.hidden && !query.quoted {
            continue;
        }
        for (spans, place, place_score) in text_values(reader.document, &reader.stops, label, lines)
        {
            let strength = label.strength();
            let in_its_box = place == Place::Below
                && spans.iter().all(|s| {
                    let rect = s.rect(reader.document);
                    reader.document.shares_cell(label.page, &label.rect, &rect)
                });
            let place_score = if in_its_box {
                f64::max(place_score, 0.9)
            } else {
                place_score
            };
            let mut score = strength * place_score * factor;
            let mut notes = Vec::new();
            if in_its_box {
                notes.push(IN_ITS_BOX);
            }
            if place == Place::Right && goes_on(reader, label, &spans) {
                score *= 0.3;
            }
            if let (Some(role), Some(span)) = (query.role, spans.first()) {
                let (f, note) = role_factor(reader, query, role, label, span);
                score *= f;
                notes.extend(note);
            }
            if !label.opens && !label.closed {
                score *= 0.6;
            }
            let run = &reader.document.runs[reader.document.tokens[label.last().last].run];
            if reader.prose.is_prose() && run.tokens.len() > 9 && !query.quoted {
                // A word of a sentence, not a label.
                score *= 0.35;
            }
            let evidence = Evidence {
                label: Some(
                    label
                        .parts
                        .iter()
                        .map(|p| p.text(reader.document))
                        .collect::<Vec<_>>()
                        .join(" "),
                ),
                label_strength: strength,
                place,
                place_score,
                form: 0.6,
                checked: false,
                notes,
            };
            found.extend(Candidate::text(reader.document, spans, score, evidence));
        }
    }
}
