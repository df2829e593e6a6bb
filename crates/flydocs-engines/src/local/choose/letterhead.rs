//! Letterheads: the lines at the head or the foot of a page that name the firm it is from.

use super::{
    Reader,
    candidate::{Candidate, Evidence, Place},
    title::is_title,
};
use crate::local::{
    layout::{Document, Span},
    recognise::{address_line, has_legal_form, of_a_firm, organisation_score, registered},
};

/// Lines at the head (or the foot) of the first page that look like the name of a firm.
pub(super) fn letterhead(reader: &Reader<'_>, found: &mut Vec<Candidate>) {
    let document = reader.document;
    let Some(page) = document.pages.first() else {
        return;
    };
    let em = page.em;
    let mut nth = 0;
    for row in page.rows.clone() {
        for run in document.rows[row].runs.clone() {
            let r = &document.runs[run];
            let Some(span) = super::text::trimmed(document, r.tokens.start, 0, r.tokens.end - 1)
            else {
                continue;
            };
            let printed = span.text(document);
            let letters = printed.chars().filter(|c| c.is_alphabetic()).count();
            if letters < 3 {
                continue;
            }
            nth += 1;
            let y = r.rect.center().1 / page.height;
            let legal = has_legal_form(&printed);
            let mut score = 0.55 * organisation_score(&printed);
            score += if y < 0.12 {
                0.12
            } else if y < 0.25 {
                0.07
            } else {
                0.0
            };
            score += match nth {
                1 => 0.18,
                2 => 0.1,
                3 => 0.05,
                _ => 0.0,
            };
            if !legal && y > 0.3 {
                score *= 0.4;
            }
            if r.rect.height() > 1.35 * em {
                score += 0.06;
            }
            if document.tokens[span.first].bold {
                score += 0.03;
            }
            if address_line(&printed).score() > 0.55 && !legal {
                score *= 0.45;
            }
            if reader.labels.covered[span.first]
                || reader.headings.contains(&span.first)
                || is_title(&printed)
            {
                score *= 0.3;
            }
            if !printed.starts_with(char::is_alphanumeric)
                && !printed.starts_with(['(', '"', '„', '“'])
            {
                score *= 0.5;
            }
            if registered(&printed) {
                score += 0.12;
            }
            if followed_by_address(document, run) {
                score += 0.14;
            }
            let mentions = reader.mentions(&printed);
            score += 0.03 * mentions.min(3) as f64;
            if let Some((role, close)) = reader.sections.role_at(document, &span)
                && close > 0.5
                && reader.lexicon.concepts[role].name != "seller"
            {
                score *= 0.4;
            }
            if let Some(confidence) = garbled(document, &span) {
                score *= confidence;
            }
            let mut spans = vec![without_title(document, without_number(document, span))];
            // A line that is only the end of a name goes on with the line above it.
            if is_tail_of_name(&spans[0].text(document))
                && let Some(above) = name_above(document, run)
            {
                spans.insert(0, above);
                score += 0.05;
            }
            // A return address on one line: the name is its first part.
            if let Some(part) = first_part(document, &span) {
                spans = vec![part];
                score += 0.05;
            }
            if reader
                .lexicon
                .get("seller")
                .is_some_and(|(r, _)| reader.sections.of(r).next().is_some())
            {
                score *= 0.55;
            }
            let evidence = Evidence::unlabelled(Place::Unlabelled, organisation_score(&printed));
            found.extend(Candidate::text(document, spans, score.min(0.85), evidence));
        }
    }
}

/// A firm's name without the registration number in brackets after it and a label before it.
fn without_number(document: &Document, span: Span) -> Span {
    let mut out = span;
    let numbered = &document.tokens[span.first].text;
    if span.last > span.first
        && numbered.starts_with('#')
        && !numbered.chars().any(char::is_alphabetic)
    {
        out.first += 1;
        out.head = 0;
    }
    // What follows the legal form without a letter is dirt or a number.
    while out.last > out.first
        && !document.tokens[out.last]
            .text
            .chars()
            .any(char::is_alphabetic)
        && has_legal_form(&document.text(out.first..out.last))
    {
        out.last -= 1;
        out.tail = document.tokens[out.last].text.len();
    }
    let last = out.last;
    for at in out.first..=last {
        let text = &document.tokens[at].text;
        if at < last && text.ends_with(':') {
            out.first = at + 1;
            out.head = 0;
        }
        let bracket = text.starts_with(['(', '[', '{']);
        let rest = document.text(at..last + 1);
        let inside = rest.split([')', ']', '}']).next().unwrap_or_default();
        let digits = inside.chars().filter(char::is_ascii_digit).count();
        if bracket && at > out.first && digits >= 3 {
            out.last = at - 1;
            out.tail = document.tokens[at - 1].text.len();
            break;
        }
    }
    out
}

/// Whether a line is only a legal form or words of a trade, or begins with a bracket.
fn is_tail_of_name(printed: &str) -> bool {
    printed.starts_with('(')
        || of_a_firm(printed)
        || printed
            .split(' ')
            .all(|w| w.len() < 5 && has_legal_form(&format!("x {w}")))
}

/// The line above a run, centred over it or with its left edge, when it can be the beginning of its name.
fn name_above(document: &Document, run: usize) -> Option<Span> {
    let r = &document.runs[run];
    let page = &document.pages[document.rows[r.row].page];
    let above = r.row.checked_sub(1).filter(|row| *row >= page.rows.start)?;
    document.rows[above].runs.clone().find_map(|other| {
        let o = &document.runs[other];
        let aligned = (o.rect.center().0 - r.rect.center().0).abs() < 3.0 * page.em
            || (o.rect.xmin - r.rect.xmin).abs() < page.em;
        let close = r.rect.ymin - o.rect.ymax < 1.2 * page.em.max(r.rect.height());
        let span = super::text::trimmed(document, o.tokens.start, 0, o.tokens.end - 1)?;
        (aligned && close && organisation_score(&span.text(document)) > 0.4).then_some(span)
    })
}

/// A firm's name without the title of the document that follows it on the line.
fn without_title(document: &Document, span: Span) -> Span {
    let mut out = span;
    while out.last > out.first && is_title(document.tokens[out.last].text.as_str()) {
        out.last -= 1;
        out.tail = document.tokens[out.last].text.len();
    }
    out
}

/// A recogniser's doubt about a line, as a factor.
fn garbled(document: &Document, span: &Span) -> Option<f64> {
    let tokens = &document.tokens[span.first..=span.last];
    let known: Vec<f64> = tokens
        .iter()
        .filter_map(|t| t.confidence.map(f64::from))
        .collect();
    if known.is_empty() {
        return None;
    }
    let mean = known.iter().sum::<f64>() / known.len() as f64;
    let odd = tokens.iter().filter(|t| t.text.chars().count() < 2).count() * 2 > tokens.len();
    Some((0.4 + 0.7 * mean).min(1.0) * if odd { 0.6 } else { 1.0 })
}

fn followed_by_address(document: &Document, run: usize) -> bool {
    let r = &document.runs[run];
    let em = document.em(r.tokens.start);
    document.rows_below(r.row).take(4).any(|row| {
        document.rows[row].rect.ymin - r.rect.ymax < 4.0 * em
            && document.rows[row].runs.clone().any(|below| {
                let b = &document.runs[below];
                b.rect.xmin < r.rect.xmax
                    && r.rect.xmin < b.rect.xmax
                    && address_line(&document.text(b.tokens.clone())).score() > 0.55
            })
    })
}

/// The first part of a line cut by bullets, bars or dashes, when an address follows in it.
pub(super) fn first_part(document: &Document, span: &Span) -> Option<Span> {
    let cut = (span.first + 1..span.last).find(|t| {
        matches!(
            document.tokens[*t].text.as_str(),
            "●" | "•" | "|" | "·" | "-" | "–" | "*" | "■"
        )
    })?;
    let rest = document.text(cut + 1..span.last + 1);
    (address_line(&rest).score() > 0.3).then(|| Span::whole(document, span.first, cut - 1))
}
