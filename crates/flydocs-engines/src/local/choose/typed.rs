//! Values whose form says nearly everything (IBAN, e-mail, VAT id, currency, ...), and identifiers.

use flydocs_contract::FieldValue;

use super::{
    Reader,
    candidate::{Candidate, Evidence, Place},
    labelled::{labelled, role_place},
};
use crate::local::{
    label::{Kind, Query},
    layout::Span,
    pool::Typed,
};

/// The currency: beside its label, else the one used most.
pub(crate) fn currency(
    reader: &Reader<'_>,
    index: usize,
    query: &Query,
    found: &mut Vec<Candidate>,
) {
    let document = reader.document;
    let pool = &reader.pool.currencies;
    let total = pool.len().max(1) as f64;
    for hit in pool {
        let same = pool
            .iter()
            .filter(|o| o.value == hit.value)
            .map(|o| o.form)
            .sum::<f64>();
        let value = FieldValue::String(hit.value.to_owned());
        for label in &reader.labels.of_query[index] {
            if let Some((score, evidence)) = labelled(reader, query, label, &hit.span, hit.form) {
                found.extend(Candidate::new(
                    document,
                    vec![hit.span],
                    value.clone(),
                    score,
                    evidence,
                ));
            }
        }
        let score = hit.form * (0.45 + 0.45 * same / total);
        found.extend(Candidate::new(
            document,
            vec![hit.span],
            value,
            score,
            Evidence::unlabelled(Place::Unlabelled, hit.form),
        ));
    }
}

/// Values whose form says nearly everything.
pub(crate) fn typed(
    reader: &Reader<'_>,
    index: usize,
    query: &Query,
    pool: &[Typed<String>],
    prior: f64,
    found: &mut Vec<Candidate>,
) {
    for hit in pool {
        let value = FieldValue::String(hit.value.clone());
        let mut unlabelled = true;
        for label in &reader.labels.of_query[index] {
            if let Some((score, evidence)) = labelled(reader, query, label, &hit.span, hit.form) {
                unlabelled &= score < prior * hit.form;
                found.extend(Candidate::new(
                    reader.document,
                    vec![hit.span],
                    value.clone(),
                    score,
                    evidence,
                ));
            }
        }
        if unlabelled && prior > 0.0 {
            let mut score = prior * hit.form;
            let mut evidence = Evidence::unlabelled(Place::Unlabelled, hit.form);
            if let Some(role) = query.role
                && !matches!(query.kind, Kind::Iban | Kind::Bic)
            {
                let (factor, note) = role_place(reader, query, role, &hit.span);
                score *= factor;
                evidence.notes.extend(note);
            }
            if reader.claimed_by_other(query, &hit.span) {
                score *= 0.5;
            }
            found.extend(Candidate::new(
                reader.document,
                vec![hit.span],
                value,
                score,
                evidence,
            ));
        }
    }
}

/// Words with a digit near a label.
pub(crate) fn identifiers(
    reader: &Reader<'_>,
    index: usize,
    query: &Query,
    found: &mut Vec<Candidate>,
) {
    let document = reader.document;
    for label in &reader.labels.of_query[index] {
        // The nearest word with a digit, and those that go on with it.
        for hit in &reader.pool.identifiers {
            if document.tokens[hit.span.first].page != label.page
                || reader.ordinals.contains(&hit.span.first)
            {
                continue;
            }
            let Some((mut score, evidence)) = labelled(reader, query, label, &hit.span, hit.form)
            else {
                continue;
            };
            let span = extended(reader, hit.span);
            if evidence.place == Place::Below {
                score *= 0.9;
            }
            if reader.claimed_by_other(query, &hit.span) {
                score *= 0.5;
            }
            found.extend(Candidate::text(document, vec![span], score, evidence));
        }
    }
}

/// An identifier goes on over `#`, `-` and `/` that stand alone beside it.
fn extended(reader: &Reader<'_>, span: Span) -> Span {
    let document = reader.document;
    let mut out = span;
    let joins = |t: &str| matches!(t, "-" | "/" | "#");
    while out.last + 2 < document.tokens.len()
        && document.tokens[out.last + 2].run == document.tokens[out.last].run
        && joins(&document.tokens[out.last + 1].text)
        && document.tokens[out.last + 2]
            .text
            .chars()
            .any(|c| c.is_ascii_digit())
    {
        out.last += 2;
        out.tail = document.tokens[out.last].text.len();
    }
    if out.head == 0
        && out.first > 0
        && document.tokens[out.first - 1].text == "#"
        && document.tokens[out.first - 1].row == document.tokens[out.first].row
        && out.first > 1
        && !document.tokens[out.first - 2]
            .text
            .ends_with(char::is_alphabetic)
    {
        out.first -= 1;
    }
    out
}
