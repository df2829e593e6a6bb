//! Addresses: after a label, in the part of a party, or the first lines of the page that look like one.

use super::{
    Reader,
    beside::text,
    candidate::{Candidate, Evidence, Place},
    labelled::role_place,
};
use crate::local::{
    label::Query,
    layout::{Document, Span},
    recognise::{AddressLine, address_line, has_legal_form, registered},
    text::fold,
};

/// Candidates for an address.
pub(crate) fn addresses(
    reader: &Reader<'_>,
    index: usize,
    query: &Query,
    found: &mut Vec<Candidate>,
) {
    let document = reader.document;
    let mut beside = Vec::new();
    text(reader, index, query, 5, 1.0, &mut beside);
    for mut candidate in beside {
        let shape = candidate
            .spans
            .iter()
            .map(|s| address_line(&s.text(document)).score())
            .fold(0.0, f64::max);
        candidate.evidence.form = shape;
        candidate.score *= 0.3 + 0.7 * shape;
        if !candidate.text.chars().any(|c| c.is_ascii_digit())
            || candidate
                .text
                .starts_with(|c: char| c.is_lowercase() || c == '(')
        {
            candidate.score *= 0.3;
        }
        cut(document, &mut candidate);
        without_name(document, &mut candidate);
        found.push(candidate);
    }
    for (nth, mut lines) in groups(reader).into_iter().enumerate() {
        if query.role.is_some() && begins_with_name(reader, &lines) {
            lines.remove(0);
        }
        let score_of =
            |f: fn(&AddressLine) -> f64| lines.iter().map(|(_, l)| f(l)).fold(0.0, f64::max);
        let (street, place) = (score_of(|l| l.street), score_of(|l| l.place));
        let shape = 0.5 * street.min(1.0) + 0.5 * place.min(1.0);
        let spans: Vec<Span> = lines.iter().map(|(s, _)| *s).collect();
        let mut score =
            0.35 + 0.3 * shape + if lines.len() > 1 { 0.1 } else { 0.0 } - 0.06 * nth.min(5) as f64;
        let mut evidence = Evidence::unlabelled(Place::Unlabelled, shape);
        if let Some(role) = query.role {
            let (factor, note) = role_place(reader, query, role, &spans[0]);
            score *= factor;
            evidence.notes.extend(note);
        }
        found.extend(Candidate::text(document, spans, score, evidence));
    }
}

/// Takes away the name of the party over its address.
fn without_name(document: &Document, candidate: &mut Candidate) {
    let score = |span: &Span| address_line(&span.text(document)).score();
    let [first, rest @ ..] = candidate.spans.as_slice() else {
        return;
    };
    let printed = first.text(document);
    let named = score(first) < 0.3
        && !printed.ends_with(',')
        && !printed.chars().any(|c| c.is_ascii_digit());
    let strong = rest
        .first()
        .is_some_and(|s| s.text(document).chars().any(|c| c.is_ascii_digit()) && score(s) > 0.4)
        && rest
            .iter()
            .any(|s| address_line(&s.text(document)).place >= 0.5);
    if named
        && strong
        && let Some(cut) = Candidate::text(
            document,
            rest.to_vec(),
            candidate.score,
            candidate.evidence.clone(),
        )
    {
        *candidate = cut;
    }
}

/// Takes away lines at the end that belong to no address.
fn cut(document: &Document, candidate: &mut Candidate) {
    while candidate.spans.len() > 1 {
        let last = candidate.spans[candidate.spans.len() - 1].text(document);
        if address_line(&last).score() > 0.25 {
            return;
        }
        candidate.spans.pop();
        if let Some(cut) = Candidate::text(
            document,
            candidate.spans.clone(),
            candidate.score,
            candidate.evidence.clone(),
        ) {
            *candidate = cut;
        }
    }
}

/// Whether the first line, right under the heading of a party and without a number, is the party's name.
fn begins_with_name(reader: &Reader<'_>, lines: &[(Span, AddressLine)]) -> bool {
    let document = reader.document;
    let [(first, _), (second, street), rest @ ..] = lines else {
        return false;
    };
    let digits = |span: &Span| span.text(document).chars().any(|c| c.is_ascii_digit());
    !digits(first)
        && digits(second)
        && street.score() > 0.4
        && rest.iter().any(|(_, line)| line.place >= 0.5)
        && reader
            .sections
            .heading_of(document, first)
            .is_some_and(|(_, _, heading)| {
                let gap = first.rect(document).ymin - heading.rect.ymax;
                gap < 1.2 * document.em(first.first)
            })
}

/// Runs of lines that together look like an address, in page order.
fn groups(reader: &Reader<'_>) -> Vec<Vec<(Span, AddressLine)>> {
    let document = reader.document;
    let mut groups: Vec<Vec<(Span, AddressLine)>> = Vec::new();
    let mut taken = vec![false; document.runs.len()];
    for start in 0..document.runs.len() {
        if taken[start] {
            continue;
        }
        let Some((span, line)) = line_of(reader, start) else {
            continue;
        };
        if line.score() < 0.4 || starts_elsewhere(&span.text(document)) {
            continue;
        }
        taken[start] = true;
        let mut group = vec![(span, line)];
        let mut run = start;
        while let Some(next) = next_line(document, run) {
            if taken[next] || group.len() >= 6 {
                break;
            }
            let Some((span, line)) = line_of(reader, next) else {
                break;
            };
            // One weak line may stand inside an address (the name of a building, a part of a town).
            let goes_on = line.score() >= 0.3
                || next_line(document, next)
                    .and_then(|after| line_of(reader, after))
                    .is_some_and(|(_, after)| after.place >= 0.55 && line.score() > 0.0)
                || group[group.len() - 1]
                    .0
                    .text(document)
                    .trim_end()
                    .ends_with(',');
            if !goes_on {
                break;
            }
            taken[next] = true;
            group.push((span, line));
            run = next;
        }
        while group.len() > 1 && group[group.len() - 1].1.score() < 0.25 {
            group.pop();
        }
        let strong = group.iter().any(|(_, l)| l.street >= 0.55)
            || group.iter().any(|(_, l)| l.place >= 0.55);
        if strong {
            groups.push(group);
        }
    }
    groups
}

/// The name of a firm, or a number in brackets, above an address.
fn starts_elsewhere(printed: &str) -> bool {
    has_legal_form(printed) || printed.starts_with(['(', '#', '['])
}

/// A number longer than any postal code or house number: of a register, an account, a telephone.
fn numbered(printed: &str) -> bool {
    let mut digits = 0;
    printed.chars().any(|c| {
        digits = if c.is_ascii_digit() { digits + 1 } else { 0 };
        digits > 8
    })
}

/// A run as a line of an address; `None` when it is plainly something else.
fn line_of(reader: &Reader<'_>, run: usize) -> Option<(Span, AddressLine)> {
    let document = reader.document;
    let tokens = document.runs[run].tokens.clone();
    // The words of a label are no line of an address.
    if tokens.clone().all(|t| reader.stops.at(t)) {
        return None;
    }
    let span = super::text::trimmed(document, tokens.start, 0, tokens.end - 1)?;
    let printed = span.text(document);
    let folded = fold(&printed);
    let foreign = [
        "tel", "fax", "phone", "gst", "email", "e-mail", "www", "http", "reg", "invoice", "date",
        "ust", "tva", "iban", "bic", "co.", "hp:", "cashier", "total",
    ]
    .iter()
    .any(|w| folded.starts_with(w))
        || printed.contains('@')
        || folded.contains("gst ")
        || folded.contains("tel:")
        || folded.contains("tel ")
        || folded.replace('.', "").contains("reg no")
        || folded.contains("gst no")
        || registered(&printed)
        || numbered(&printed);
    let dated = reader
        .pool
        .dates
        .iter()
        .any(|d| d.form > 0.5 && span.contains(&d.span));
    if foreign || dated || printed.len() > 140 {
        return None;
    }
    Some((span, address_line(&printed)))
}

/// The run right below, in the same column.
fn next_line(document: &Document, run: usize) -> Option<usize> {
    let r = &document.runs[run];
    let em = document.em(r.tokens.start);
    for row in document.rows_below(r.row).take(2) {
        if document.rows[row].rect.ymin - r.rect.ymax > 1.1 * em {
            return None;
        }
        for below in document.rows[row].runs.clone() {
            let b = &document.runs[below].rect;
            let shared = b.xmax.min(r.rect.xmax) - b.xmin.max(r.rect.xmin);
            let aligned = (b.xmin - r.rect.xmin).abs() < 1.5 * em
                || (b.center().0 - r.rect.center().0).abs() < 3.0 * em
                || shared > 0.6 * b.width().min(r.rect.width());
            if shared > 0.0 && aligned {
                return Some(below);
            }
        }
    }
    None
}
