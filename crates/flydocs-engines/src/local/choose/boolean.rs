//! Check boxes and yes or no: the mark nearest to the label.

use flydocs_contract::{FieldValue, Rect};

use super::{
    Reader,
    candidate::{Candidate, Evidence, Place},
};
use crate::local::{
    label::Label,
    layout::{CheckBox, Span},
    recognise::{Tick, tick_of},
    text::fold,
};

/// Candidates for a boolean. A label without any mark near it says "not ticked", weakly.
pub(crate) fn booleans(reader: &Reader<'_>, index: usize, found: &mut Vec<Candidate>) {
    let document = reader.document;
    for label in reader.labels.of_query[index].iter().take(6) {
        let strength = label.strength();
        let evidence = |place, place_score, form| Evidence {
            label: Some(
                label
                    .parts
                    .iter()
                    .map(|p| p.text(document))
                    .collect::<Vec<_>>()
                    .join(" "),
            ),
            label_strength: strength,
            place,
            place_score,
            form,
            checked: false,
            notes: Vec::new(),
        };
        let mark = nearest_mark(reader, label);
        let drawn = nearest_box(reader, label);
        let nearer = |d: &(CheckBox, f64)| mark.is_none_or(|(_, _, near)| d.1 >= near);
        if let Some((drawn, near)) = drawn.filter(nearer) {
            // An empty box is no word: the label stands for it.
            let (spans, place) = match drawn.mark {
                Some(token) => (vec![Span::whole(document, token, token)], Place::Right),
                None => (label.parts.clone(), Place::Unlabelled),
            };
            found.extend(Candidate::new(
                document,
                spans,
                FieldValue::Boolean(drawn.tick == Tick::On),
                strength * near,
                evidence(place, near, 0.9),
            ));
        } else if let Some((token, tick, near)) = mark {
            let span = Span::whole(document, token, token);
            let value = FieldValue::Boolean(tick == Tick::On);
            found.extend(Candidate::new(
                document,
                vec![span],
                value,
                strength * near,
                evidence(Place::Right, near, 0.9),
            ));
        } else if let Some((token, yes)) = yes_or_no(reader, label) {
            let span = Span::whole(document, token, token);
            found.extend(Candidate::new(
                document,
                vec![span],
                FieldValue::Boolean(yes),
                0.9 * strength,
                evidence(Place::Right, 0.9, 0.9),
            ));
        } else if strength > 0.3 {
            let spans = label.parts.clone();
            found.extend(Candidate::new(
                document,
                spans,
                FieldValue::Boolean(false),
                0.5 * strength,
                evidence(Place::Unlabelled, 0.5, 0.4),
            ));
        }
    }
}

/// The mark beside, before, under or over a label, and how near it is.
fn nearest_mark(reader: &Reader<'_>, label: &Label) -> Option<(usize, Tick, f64)> {
    let document = reader.document;
    let em = document.pages[label.page].em;
    let symbols = !document.recognised(label.page);
    let mut best: Option<(f64, usize, Tick)> = None;
    for (at, token) in document.tokens.iter().enumerate() {
        if token.page != label.page || label.parts.iter().any(|p| (p.first..=p.last).contains(&at))
        {
            continue;
        }
        let Some(tick) = tick_of(token, symbols && alone(reader, at)) else {
            continue;
        };
        let dx = (token.rect.xmin - label.rect.xmax)
            .max(label.rect.xmin - token.rect.xmax)
            .max(0.0)
            / em;
        let dy = (token.rect.ymin - label.rect.ymax)
            .max(label.rect.ymin - token.rect.ymax)
            .max(0.0)
            / em;
        if dx > 5.0 || dy > 3.5 || (dx > 1.0 && dy > 1.0) {
            continue;
        }
        let distance = dx + 1.2 * dy;
        if best.is_none_or(|(d, _, _)| distance < d) {
            best = Some((distance, at, tick));
        }
    }
    best.map(|(d, at, tick)| (at, tick, (1.0 - 0.08 * d).max(0.4)))
}

/// The drawn box right before a label, or after it on its row with nothing between, and how near it is.
fn nearest_box(reader: &Reader<'_>, label: &Label) -> Option<(CheckBox, f64)> {
    let document = reader.document;
    let em = document.pages[label.page].em;
    let last = label.last().rect(document);
    let first = label.first().rect(document);
    let tokens = &document.rows[document.tokens[label.last().last].row].tokens;
    // No other word than its mark in a stretch of the row.
    let free = |b: &CheckBox, from: f64, to: f64| {
        !tokens.clone().any(|t| {
            let r = &document.tokens[t].rect;
            Some(t) != b.mark && r.xmin < to && from < r.xmax
        })
    };
    let boxes = document.check_boxes(label.page);
    let near = |b: &CheckBox| {
        let level = |r: &Rect| (b.rect.center().1 - r.center().1).abs() < 0.8 * em;
        let before = (first.xmin - b.rect.xmax) / em;
        let after = (b.rect.xmin - last.xmax) / em;
        if level(&first) && (-0.2..1.6).contains(&before) {
            return Some(1.0 - 0.08 * before.max(0.0));
        }
        let own = level(&last)
            && (0.0..30.0).contains(&after)
            && free(b, last.xmax + 0.1 * em, b.rect.xmin - 0.1 * em)
            && free(b, b.rect.xmax + 0.1 * em, b.rect.xmax + 1.6 * em);
        own.then_some((1.0 - 0.04 * after).max(0.6))
    };
    boxes
        .into_iter()
        .filter_map(|b| near(&b).map(|n| (b, n)))
        .max_by(|a, b| a.1.total_cmp(&b.1))
}

/// A sign that stands alone: nothing close on either side.
fn alone(reader: &Reader<'_>, at: usize) -> bool {
    let document = reader.document;
    let run = &document.runs[document.tokens[at].run];
    run.tokens.len() == 1
}

fn yes_or_no(reader: &Reader<'_>, label: &Label) -> Option<(usize, bool)> {
    let document = reader.document;
    let last = label.last();
    let row = document.tokens[last.last].row;
    let mut answers = (last.last + 1..document.rows[row].tokens.end).filter_map(|at| {
        match fold(
            document.tokens[at]
                .text
                .trim_matches(|c: char| !c.is_alphanumeric()),
        )
        .as_str()
        {
            "yes" | "ja" | "oui" | "si" | "sim" | "tak" | "true" => Some((at, true)),
            "no" | "nein" | "non" | "nao" | "nee" | "nie" | "false" => Some((at, false)),
            _ => None,
        }
    });
    let first = answers.next()?;
    // "Yes  No" printed side by side says nothing without a mark.
    answers.next().is_none().then_some(first)
}
