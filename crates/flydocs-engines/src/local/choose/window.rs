//! The window of an envelope: the name over the first address that is not the sender's.

use super::{
    Reader,
    candidate::{Candidate, Evidence, Place},
    letterhead::first_part,
    party::name_shape,
    title::is_title,
};
use crate::local::{
    layout::{Document, Span},
    recognise::address_line,
    text::fold,
};

/// The first line above a postal code and town in the upper half that is not the seller's: the window of an envelope.
pub(super) fn address_window(reader: &Reader<'_>, found: &mut Vec<Candidate>) {
    let document = reader.document;
    let Some(page) = document.pages.first() else {
        return;
    };
    for row in page.rows.clone() {
        for run in document.rows[row].runs.clone() {
            let r = &document.runs[run];
            if r.rect.ymin > 0.45 * page.height {
                return;
            }
            if r.tokens.len() > 7 || address_line(&document.text(r.tokens.clone())).place < 0.5 {
                continue;
            }
            window_above(reader, run, found);
        }
    }
}

/// Walks up from the line with the town to the name.
fn window_above(reader: &Reader<'_>, place: usize, found: &mut Vec<Candidate>) {
    let document = reader.document;
    let page = &document.pages[0];
    let em = page.em;
    let mut lines = vec![place];
    let mut sender = false;
    while lines.len() < 6 {
        let below = &document.runs[lines[lines.len() - 1]];
        let Some(above) = line_above(document, below.row, &below.rect, em) else {
            break;
        };
        let run = &document.runs[above];
        let span = Span::whole(document, run.tokens.start, run.tokens.end - 1);
        if first_part(document, &span).is_some() {
            sender = true;
            break;
        }
        let printed = document.text(run.tokens.clone());
        if reader.labels.covered[run.tokens.start]
            || reader.headings.contains(&run.tokens.start)
            || is_title(&printed)
            || printed.contains('@')
            || name_shape(&printed) < 0.2 && address_line(&printed).score() < 0.3
        {
            break;
        }
        lines.push(above);
    }
    if lines.len() < 2 {
        return;
    }
    let top = lines[lines.len() - 1];
    let run = &document.runs[top];
    let Some(span) = super::text::trimmed(document, run.tokens.start, 0, run.tokens.end - 1) else {
        return;
    };
    let printed = span.text(document);
    let shape = name_shape(&printed);
    let (x, y) = (run.rect.xmin / page.width, run.rect.ymin / page.height);
    let mut score = 0.3 + 0.25 * shape + if sender { 0.2 } else { 0.0 };
    if y > 0.08 && (x < 0.3 || x > 0.45 && y > 0.12) {
        score += 0.1;
    }
    let contact = document
        .rows_below(document.runs[place].row)
        .take(3)
        .any(|row| {
            document.rows[row].runs.clone().any(|r| {
                let r = &document.runs[r];
                let folded = fold(&document.text(r.tokens.clone()));
                (r.rect.xmin - run.rect.xmin).abs() < em
                    && ["tel", "fon", "fax", "phone", "www", "http", "hra", "hrb"]
                        .iter()
                        .any(|w| folded.starts_with(w))
            })
        });
    if contact {
        score *= 0.6;
    }
    if let Some((role, close)) = reader.sections.role_at(document, &span)
        && close > 0.5
        && reader.lexicon.concepts[role].name != "buyer"
    {
        score *= if reader.lexicon.concepts[role].name == "delivery_party" {
            0.85
        } else {
            0.4
        };
    }
    if reader
        .lexicon
        .get("buyer")
        .is_some_and(|(r, _)| reader.sections.of(r).next().is_some())
    {
        score *= 0.6;
    }
    let mut spans = vec![span];
    if matches!(
        fold(&printed).as_str(),
        "herr" | "herrn" | "frau" | "firma" | "mr" | "mrs"
    ) && lines.len() > 2
    {
        let next = &document.runs[lines[lines.len() - 2]];
        spans.extend(super::text::trimmed(
            document,
            next.tokens.start,
            0,
            next.tokens.end - 1,
        ));
    }
    found.extend(Candidate::text(
        document,
        spans,
        score.min(0.8),
        Evidence::unlabelled(Place::Unlabelled, shape),
    ));
}

/// The run right above with the same left edge.
fn line_above(
    document: &Document,
    row: usize,
    rect: &flydocs_contract::Rect,
    em: f64,
) -> Option<usize> {
    let page = &document.pages[document.rows[row].page];
    for above in (page.rows.start..row).rev().take(4) {
        for run in document.rows[above].runs.clone() {
            let r = &document.runs[run].rect;
            let white = rect.ymin - r.ymax;
            if (r.xmin - rect.xmin).abs() < 0.8 * em
                && white < 2.6 * em
                && white > -0.5 * em
                && r.ymin < rect.ymin - 0.4 * em
            {
                return Some(run);
            }
        }
    }
    None
}
