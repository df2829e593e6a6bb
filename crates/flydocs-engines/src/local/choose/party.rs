//! Names of parties: after a label, under a heading of the party, in the letterhead, in the address window.

use flydocs_contract::FieldValue;

use super::{
    Reader,
    beside::text,
    candidate::{Candidate, Evidence, Place},
    prose::party_sentences,
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

/// How much a text looks like the name of a party, 0 to 1.
fn name_shape(text: &str) -> f64 {
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

/// Lines at the head (or the foot) of the first page that look like the name of a firm.
fn letterhead(reader: &Reader<'_>, found: &mut Vec<Candidate>) {
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

/// Whether a line is only a legal form or begins with a bracket.
fn is_tail_of_name(printed: &str) -> bool {
    printed.starts_with('(')
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

/// Words of titles of documents.
const TITLES: &[&str] = &[
    "invoice",
    "tax",
    "receipt",
    "bill",
    "rechnung",
    "facture",
    "factura",
    "fattura",
    "factuur",
    "statement",
    "simplified",
    "original",
    "copy",
    "page",
    "seite",
    "retail",
    "payment",
    "credit",
    "note",
    "cash",
    "order",
    "quotation",
    "date",
    "datum",
    "form",
    "document",
    "welcome",
    "thank",
    "you",
    "duplicate",
    "official",
    "project",
    "sample",
    "exhibit",
    "agreement",
    "handelsrechnung",
    "gutschrift",
    "beleg",
];

/// Words that name the kind of a document and not a party.
fn is_title(text: &str) -> bool {
    let folded = fold(text);
    let words: Vec<&str> = folded
        .split(|c: char| !c.is_alphanumeric())
        .filter(|w| !w.is_empty())
        .collect();
    !words.is_empty() && words.iter().filter(|w| TITLES.contains(w)).count() * 2 > words.len()
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
fn first_part(document: &Document, span: &Span) -> Option<Span> {
    let cut = (span.first + 1..span.last).find(|t| {
        matches!(
            document.tokens[*t].text.as_str(),
            "●" | "•" | "|" | "·" | "-" | "–" | "*" | "■"
        )
    })?;
    let rest = document.text(cut + 1..span.last + 1);
    (address_line(&rest).score() > 0.3).then(|| Span::whole(document, span.first, cut - 1))
}

/// The first line above a postal code and town in the upper half that is not the seller's: the window of an envelope.
fn address_window(reader: &Reader<'_>, found: &mut Vec<Candidate>) {
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
