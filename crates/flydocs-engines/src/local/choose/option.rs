//! One of several options with a box each: the option whose box holds a mark.

use flydocs_contract::{Rect, request::Field};

use super::{
    Reader,
    candidate::{Candidate, Evidence, Place},
    choice::value_of,
};
use crate::local::{
    layout::{CheckBox, Span},
    recognise::{Tick, tick_of},
    text::fold,
};

/// An option as printed, with the state of its box.
struct Printed<'a> {
    allowed: &'a serde_json::Value,
    span: Span,
    tick: Tick,
}

/// The marked option nearest to a label of the field; `None` unless two options or more have boxes.
pub(crate) fn marked_option(reader: &Reader<'_>, index: usize, field: &Field) -> Option<Candidate> {
    let document = reader.document;
    let boxes: Vec<Vec<CheckBox>> = (0..document.pages.len())
        .map(|page| document.check_boxes(page))
        .collect();
    let left = printed(reader, field, &boxes, Side::Left);
    let options = if several(&left) {
        left
    } else {
        printed(reader, field, &boxes, Side::Right)
    };
    if !several(&options) {
        return None;
    }
    let labels = &reader.labels.of_query[index];
    let mut best: Option<(f64, &Printed<'_>, Option<usize>)> = None;
    for option in options.iter().filter(|o| o.tick == Tick::On) {
        let rect = option.span.rect(document);
        let page = document.tokens[option.span.first].page;
        let em = document.pages[page].em;
        let near = labels
            .iter()
            .enumerate()
            .filter(|(_, l)| l.page == page && !l.hidden)
            .filter_map(|(at, l)| {
                let drop = (rect.center().1 - l.rect.center().1) / em;
                let aside = ((rect.xmin - l.rect.xmax) / em).max(0.0);
                ((-0.8..=8.0).contains(&drop)).then_some((drop.max(0.0) + 0.02 * aside, at))
            })
            .min_by(|a, b| a.0.total_cmp(&b.0));
        let (distance, label) = match near {
            Some((d, at)) => (d, Some(at)),
            None if labels.is_empty() => (8.0, None),
            None => continue,
        };
        if best.as_ref().is_none_or(|(d, _, _)| distance < *d) {
            best = Some((distance, option, label));
        }
    }
    let (distance, option, label) = best?;
    let near = (0.95 - 0.03 * distance).max(0.6);
    let mut evidence = Evidence::unlabelled(Place::Right, 0.9);
    evidence.place_score = near;
    evidence.notes.push("its box holds a mark");
    if let Some(label) = label.and_then(|at| labels.get(at)) {
        evidence.label = Some(label.first().text(document));
        evidence.label_strength = label.strength();
    }
    Candidate::new(
        document,
        vec![option.span],
        value_of(option.allowed)?,
        near,
        evidence,
    )
}

/// Whether two different options have boxes.
fn several(options: &[Printed<'_>]) -> bool {
    options
        .first()
        .is_some_and(|first| options.iter().any(|o| o.allowed != first.allowed))
}

#[derive(Clone, Copy, PartialEq)]
enum Side {
    Left,
    Right,
}

/// The options printed with a box on one side.
fn printed<'a>(
    reader: &Reader<'_>,
    field: &'a Field,
    boxes: &[Vec<CheckBox>],
    side: Side,
) -> Vec<Printed<'a>> {
    let document = reader.document;
    let mut found = Vec::new();
    for allowed in field.allowed.iter().flatten() {
        let text = match allowed {
            serde_json::Value::String(s) => fold(s),
            other => fold(&other.to_string()),
        };
        let words: Vec<&str> = text.split(' ').filter(|w| !w.is_empty()).collect();
        if words.is_empty() {
            continue;
        }
        for start in 0..(document.tokens.len() + 1).saturating_sub(words.len()) {
            let end = start + words.len() - 1;
            let fits = document.tokens[start].row == document.tokens[end].row
                && words.iter().enumerate().all(|(i, w)| {
                    let text = &document.tokens[start + i].text;
                    fold(text.trim_matches(|c: char| !c.is_alphanumeric())) == *w
                });
            if !fits {
                continue;
            }
            let span = Span::whole(document, start, end);
            let page = document.tokens[start].page;
            let tick = drawn(&boxes[page], &span.rect(document), document.em(start), side)
                .or_else(|| written(reader, &span, side));
            found.extend(tick.map(|tick| Printed {
                allowed,
                span,
                tick,
            }));
        }
    }
    found
}

/// The state of the drawn box beside a word.
fn drawn(boxes: &[CheckBox], word: &Rect, em: f64, side: Side) -> Option<Tick> {
    let gap = |b: &CheckBox| match side {
        Side::Left => (word.xmin - b.rect.xmax) / em,
        Side::Right => (b.rect.xmin - word.xmax) / em,
    };
    boxes
        .iter()
        .filter(|b| (b.rect.center().1 - word.center().1).abs() < 0.8 * em)
        .filter(|b| (-0.3..1.6).contains(&gap(b)))
        .min_by(|a, b| gap(a).total_cmp(&gap(b)))
        .map(|b| b.tick)
}

/// The state of a box written as a sign beside a word.
fn written(reader: &Reader<'_>, span: &Span, side: Side) -> Option<Tick> {
    let document = reader.document;
    let at = match side {
        Side::Left => span.first.checked_sub(1)?,
        Side::Right => span.last + 1,
    };
    let token = document.tokens.get(at)?;
    let word = span.rect(document);
    let gap = (token.rect.xmin - word.xmax).max(word.xmin - token.rect.xmax);
    let beside = token.row == document.tokens[span.first].row && gap < 1.6 * document.em(at);
    beside.then(|| tick_of(token, false)).flatten()
}
