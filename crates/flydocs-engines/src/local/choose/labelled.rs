//! What a label says about a value: how the value stands to it, and whether the party fits.

use super::{Reader, candidate::Evidence, relation::relate, section::role_beside};
use crate::local::{
    label::{Kind, Label, Query, Role},
    layout::Span,
};

/// The evidence of a label for a span, when it stands to it in some way.
pub(crate) fn labelled(
    reader: &Reader<'_>,
    query: &Query,
    label: &Label,
    span: &Span,
    form: f64,
) -> Option<(f64, Evidence)> {
    let (place, place_score) = relate(reader.document, reader.labels, label, span)?;
    let strength = label.strength();
    let floor = if matches!(query.kind, Kind::Amount | Kind::Integer) {
        0.2
    } else {
        0.45
    };
    let mut score = strength * place_score * (floor + (1.0 - floor) * form);
    let mut notes = Vec::new();
    if let Some(role) = query.role {
        let (factor, note) = role_factor(reader, query, role, label, span);
        score *= factor;
        notes.extend(note);
    }
    Some((
        score,
        Evidence {
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
            form,
            checked: false,
            notes,
        },
    ))
}

/// How well a place fits the party the field is about.
pub(crate) fn role_factor(
    reader: &Reader<'_>,
    query: &Query,
    role: Role,
    label: &Label,
    span: &Span,
) -> (f64, Option<&'static str>) {
    if let Some(beside) = role_beside(reader.document, reader.lexicon, reader.labels, label) {
        return if beside == role {
            (1.15, Some("its label names the party"))
        } else {
            (0.15, Some("its label names another party"))
        };
    }
    if only_of_its_kind(reader, query, label, span) {
        return (0.75, Some("the only one of its kind"));
    }
    role_place(reader, query, role, span)
}

/// The seller's only tax number may stand in a block of facts beside the buyer's address. One that stands in the
/// column under the heading of another party stays that party's.
fn only_of_its_kind(reader: &Reader<'_>, query: &Query, label: &Label, span: &Span) -> bool {
    let vats = &reader.pool.vats;
    if query.kind != Kind::Vat
        || query.role_name() != "seller"
        || label.strength() < 0.6
        || !vats.iter().any(|v| v.span == *span && v.form > 0.6)
        || vats.iter().any(|v| v.value != vats[0].value)
    {
        return false;
    }
    let document = reader.document;
    reader
        .sections
        .heading_of(document, span)
        .is_some_and(|(role, _, heading)| {
            let em = document.em(span.first);
            Some(role) != query.role
                && document.tokens[heading.first().first].row
                    != document.tokens[label.first().first].row
                && label.rect.xmin > heading.rect.xmax + 8.0 * em
        })
}

/// The same without a label.
pub(crate) fn role_place(
    reader: &Reader<'_>,
    query: &Query,
    role: Role,
    span: &Span,
) -> (f64, Option<&'static str>) {
    let seller = query.role_name() == "seller";
    match reader.sections.role_at(reader.document, span) {
        Some((r, close)) if r == role => (0.95 + 0.15 * close, Some("in the part about the party")),
        Some((_, close)) if close > 0.55 => (0.25, Some("in the part about another party")),
        _ if seller => (0.9, None),
        _ => (0.3, None),
    }
}
