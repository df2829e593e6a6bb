//! Names of parties: after a label, under a heading of the party, in the letterhead, in the address window.

use flydocs_contract::FieldValue;

use super::{
    Reader,
    beside::text,
    candidate::{Candidate, Evidence, Place},
    letterhead::letterhead,
    prose::party_sentences,
    window::address_window,
};
use crate::local::{
    label::{Label, Query},
    layout::{Document, Span},
    recognise::{address_line, has_legal_form, organisation_score, person_score, repaired},
    text::fold,
};

/// Candidates for the name of a party.
pub(crate) fn parties(
    reader: &Reader<'_>,
    index: usize,
    query: &Query,
    found: &mut Vec<Candidate>,
) {
    let mut beside = Vec::new();
    text(reader, index, query, 2, 1.0, &mut beside);
    for mut candidate in beside {
        cut_after_name(reader.document, &mut candidate);
        let shape = name_shape(&candidate.text);
        candidate.evidence.form = shape;
        candidate.score *= 0.35 + 0.65 * shape;
        // a "name" with a title is the customer's or the cashier's
        if query.role_name() == "seller" && titled(&candidate.text) {
            candidate.score *= 0.4;
        }
        found.push(candidate);
    }
    if let Some(role) = query.role {
        for label in reader.sections.of(role) {
            under_heading(reader, label, found);
        }
    }
    match query.role_name() {
        "seller" => letterhead(reader, found),
        "buyer" => address_window(reader, found),
        "" if query.concept_name() == "party_name" && !query.quoted => letterhead(reader, found),
        _ => {}
    }
    party_sentences(reader, query, found);
    for candidate in found {
        if reader.document.recognised(candidate.page)
            && let Some(name) = repaired(&candidate.text)
        {
            candidate.value = FieldValue::String(name);
            candidate
                .evidence
                .notes
                .push("a misread legal form was put right");
        }
    }
}

/// Whether a person is addressed.
fn titled(text: &str) -> bool {
    let first = fold(text.split(' ').next().unwrap_or_default());
    let titles = ["mr", "mrs", "ms", "miss", "herr", "frau", "mme", "dr"];
    text.contains(' ') && titles.contains(&first.trim_end_matches('.'))
}

/// How much a text looks like the name of a party, 0 to 1.
pub(super) fn name_shape(text: &str) -> f64 {
    let address = address_line(text);
    let mut shape = organisation_score(text).max(person_score(text));
    if address.score() > 0.6 && !has_legal_form(text) {
        shape *= 0.4;
    }
    shape
}

/// The value of a two-line candidate keeps its second line only when the name goes on there.
fn cut_after_name(document: &Document, candidate: &mut Candidate) {
    while candidate.spans.len() > 1 {
        let second = candidate.spans[1].text(document);
        let first = candidate.spans[0].text(document);
        let goes_on = has_legal_form(&second)
            && !has_legal_form(&first)
            && address_line(&second).score() < 0.5
            || first.ends_with(['&', '-', ','])
            || matches!(
                fold(&first).as_str(),
                "herr" | "herrn" | "frau" | "mr" | "mrs" | "ms" | "m." | "mme"
            );
        if goes_on {
            break;
        }
        candidate.spans.pop();
        if let Some(cut) = Candidate::text(
            document,
            candidate.spans.clone(),
            candidate.score,
            candidate.evidence.clone(),
        ) {
            *candidate = cut;
        } else {
            return;
        }
    }
}

/// The first line under or beside the heading of a party that looks like a name.
fn under_heading(reader: &Reader<'_>, label: &Label, found: &mut Vec<Candidate>) {
    let document = reader.document;
    let last = label.last();
    let em = document.em(last.last);
    let row = document.tokens[last.last].row;
    let mut lines: Vec<(Span, f64, Place)> = Vec::new();
    // Beside it.
    for run in document.rows[row].runs.clone() {
        let r = &document.runs[run];
        let first = if r.tokens.contains(&last.last) {
            last.last + 1
        } else {
            r.tokens.start
        };
        if first >= r.tokens.end || document.tokens[first].rect.xmin < label.rect.xmax - 0.5 {
            continue;
        }
        if let Some(span) = super::text::trimmed(document, first, 0, r.tokens.end - 1) {
            let gap = (document.tokens[first].rect.xmin - label.rect.xmax) / em;
            if gap < 25.0 {
                lines.push((span, 0.85 - 0.01 * gap, Place::Right));
            }
            break;
        }
    }
    // Below it, in its column.
    let mut rank = 0;
    for below in document.rows_below(row).take(9) {
        let drop = (document.rows[below].rect.ymin - label.rect.ymax) / em;
        if drop > 12.0 {
            break;
        }
        for run in document.rows[below].runs.clone() {
            let r = &document.runs[run];
            let left = (r.rect.xmin - label.rect.xmin) / em;
            if left < -2.0 || left > 3.0 && r.rect.xmin > label.rect.xmax {
                continue;
            }
            // "Name: X" inside the part of the party.
            let labelled = r.tokens.clone().any(|t| reader.stops.at(t));
            if labelled {
                continue;
            }
            if let Some(span) = super::text::trimmed(document, r.tokens.start, 0, r.tokens.end - 1)
            {
                lines.push((span, 0.85 - 0.08 * f64::from(rank), Place::Section));
                rank += 1;
            }
            break;
        }
    }
    for (span, score, place) in lines {
        let mut shape = name_shape(&span.text(document));
        if reader.labels.covered[span.first] || reader.headings.contains(&span.first) {
            shape *= 0.3;
        }
        let evidence = Evidence {
            label: Some(label.first().text(document)),
            label_strength: label.strength(),
            place,
            place_score: score,
            form: shape,
            checked: false,
            notes: Vec::new(),
        };
        found.extend(Candidate::text(
            document,
            vec![span],
            label.strength() * score * (0.3 + 0.7 * shape),
            evidence,
        ));
    }
}
