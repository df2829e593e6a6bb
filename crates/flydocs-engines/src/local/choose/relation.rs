//! How a place on the page stands to a label.

use flydocs_contract::Rect;

use super::candidate::Place;
use crate::local::{
    label::{Label, Labels},
    layout::{Document, Span},
};

/// Where a span stands to a label and how well, 0 to 1; `None` when it does not.
pub(crate) fn relate(
    document: &Document,
    labels: &Labels,
    label: &Label,
    span: &Span,
) -> Option<(Place, f64)> {
    let token = &document.tokens[span.first];
    // "Total RM" may be the label and "RM 5.00" the value: only the currency is in both.
    let inside = |p: &Span| p.overlaps(span) && (p.last, p.tail) >= (span.last, span.tail);
    if token.page != label.page
        || label
            .parts
            .iter()
            .any(|p| inside(p) || p.first > span.first && p.overlaps(span))
    {
        return None;
    }
    let em = document.em(span.first);
    let rect = span.rect(document);
    let last = label.last();
    let label_row = document.tokens[last.last].row;
    if token.row == label_row
        || label
            .parts
            .iter()
            .any(|p| document.tokens[p.first].row == token.row)
    {
        return right(document, labels, label, span, &rect, em).map(|s| (Place::Right, s));
    }
    let level = (rect.center().1 - last.rect(document).center().1).abs();
    if level < 1.3 * em && rect.xmin > label.rect.xmax {
        let gap = (rect.xmin - label.rect.xmax) / em;
        return Some((
            Place::Right,
            (0.7 - 0.25 * level / em - 0.004 * gap).max(0.2),
        ));
    }
    if rect.ymin > label.rect.ymin + 0.3 * em && token.row > label_row {
        return below(document, labels, label, &rect, token.row, label_row, em)
            .map(|s| (Place::Below, s));
    }
    let over = (label.rect.ymin - rect.ymax) / em;
    if token.row < label_row
        && over < 1.2
        && over > -0.5
        && overlap(&rect, &label.rect) > 0.0
        && label.opens
    {
        return Some((Place::Above, 0.35));
    }
    None
}

fn right(
    document: &Document,
    labels: &Labels,
    label: &Label,
    span: &Span,
    rect: &Rect,
    em: f64,
) -> Option<f64> {
    let row = document.tokens[span.first].row;
    let last = label
        .parts
        .iter()
        .rev()
        .find(|p| document.tokens[p.last].row == row)?;
    let after = (span.first, span.head) >= (last.last, last.tail)
        || span.overlaps(last) && (span.last, span.tail) > (last.last, last.tail);
    if !after {
        return None;
    }
    let gap = ((rect.xmin - label.rect.xmax) / em).max(0.0);
    let mut score = (1.0 - 0.012 * gap).max(0.6);
    let same_run = document.tokens[span.first].run == document.tokens[last.last].run;
    let mut words = 0;
    let mut crossed = false;
    for at in last.last + 1..span.first {
        let text = &document.tokens[at].text;
        let letters = text.chars().filter(|c| c.is_alphabetic()).count();
        let digits = text.chars().any(|c| c.is_ascii_digit());
        if labels.covered[at] && letters > 1 {
            crossed = true;
        }
        if letters > 1 || digits {
            words += 1;
        }
    }
    score *= 0.93_f64.powi(words.min(20));
    if crossed {
        score *= 0.55;
    }
    if !same_run && gap > 3.0 && !label.closed {
        score *= 0.95;
    }
    Some(score)
}

fn below(
    document: &Document,
    labels: &Labels,
    label: &Label,
    rect: &Rect,
    row: usize,
    label_row: usize,
    em: f64,
) -> Option<f64> {
    let drop = (rect.ymin - label.rect.ymax) / em;
    if !(-0.8..=14.0).contains(&drop) {
        return None;
    }
    let run = &document.runs[document.tokens[label.first().first].run];
    let left = (rect.xmin - label.rect.xmin).abs() / em;
    let at_right = (rect.xmax - label.rect.xmax).abs() / em;
    let middle = (rect.center().0 - label.rect.center().0).abs() / em;
    let shared = overlap(rect, &label.rect);
    let alignment = if left < 0.7 || at_right < 0.7 || (middle < 0.8 && shared > 0.0) {
        1.0
    } else if shared > 0.0 {
        0.85
    } else if overlap(rect, &run.rect) > 0.0 && left < 6.0 {
        0.6
    } else if drop < 3.5 && in_cell(document, label, rect, em) {
        0.75
    } else {
        return None;
    };
    let mut score = 0.9 * alignment * (1.0 - 0.055 * drop.max(0.0)).max(0.15);
    let column = Rect::new(
        rect.xmin.min(label.rect.xmin),
        0.0,
        rect.xmax.max(label.rect.xmax),
        0.0,
    );
    let mut blocked = 0;
    for between in label_row + 1..row {
        let in_the_way = document.rows[between].tokens.clone().any(|t| {
            let r = &document.tokens[t].rect;
            r.xmin < column.xmax
                && column.xmin < r.xmax
                && r.ymax < rect.ymin + 0.3 * em
                && r.ymin > label.rect.ymax - 0.5 * em
        });
        if in_the_way {
            blocked += 1;
            if document.rows[between].tokens.clone().any(|t| {
                let r = &document.tokens[t].rect;
                labels.covered[t] && r.xmin < label.rect.xmax && label.rect.xmin < r.xmax
            }) {
                blocked += 2;
            }
        }
    }
    score *= 0.72_f64.powi(blocked.min(12));
    // What stands right of the label on its own row is more likely its value.
    let beside = document.tokens[label.last().last..run.tokens.end.max(label.last().last + 1)]
        .iter()
        .skip(1)
        .any(|t| t.text.chars().any(|c| c.is_ascii_digit()));
    if beside {
        score *= 0.6;
    }
    Some(score)
}

/// Whether a box stands between the label's left edge and the next words on the label's row.
fn in_cell(document: &Document, label: &Label, rect: &Rect, em: f64) -> bool {
    let row = document.tokens[label.first().first].row;
    let next = document.rows[row]
        .runs
        .clone()
        .map(|r| document.runs[r].rect.xmin)
        .filter(|x| *x > label.rect.xmax)
        .fold(f64::INFINITY, f64::min);
    let page = &document.pages[label.page];
    let walled = page.rulings.iter().any(|w| {
        let x = w.center().0;
        w.width() < 0.4 * em
            && x > label.rect.xmin + 0.2 * em
            && x < rect.xmin + 0.2 * em
            && w.ymin < rect.center().1
            && rect.center().1 < w.ymax
    });
    !walled && next.is_finite() && rect.xmin > label.rect.xmin - em && rect.xmax < next + 0.8 * em
}

/// The length two boxes share along the row.
pub(crate) fn overlap(a: &Rect, b: &Rect) -> f64 {
    a.xmax.min(b.xmax) - a.xmin.max(b.xmin)
}
