//! Free text beside a label: to its right up to the next label, over several lines when they go on, or below it.

use super::candidate::Place;
use crate::local::{
    label::{Label, Labels},
    layout::{Document, Span},
};

/// Where values of forms end: at the words of other labels.
#[derive(Debug)]
pub(crate) struct Stops {
    stops: Vec<bool>,
}

impl Stops {
    /// Labels of the schema, labels with a colon at the head of their run, and words with a colon.
    pub(crate) fn new(document: &Document, labels: &Labels) -> Self {
        let mut stops = vec![false; document.tokens.len()];
        for found in &labels.of_query {
            for label in found
                .iter()
                .filter(|l| !l.hidden && l.strength() > 0.55 && (l.opens || l.letters > 5))
            {
                for part in &label.parts {
                    stops[part.first..=part.last].fill(true);
                }
            }
        }
        for found in &labels.of_concept {
            for label in found
                .iter()
                .filter(|l| !l.hidden && l.opens && l.closed && l.share > 0.8 && l.letters > 2)
            {
                let last = label.last().last;
                let colon = document.tokens[last].text.ends_with(':')
                    || document.tokens.get(last + 1).is_some_and(|t| t.text == ":");
                if colon {
                    for part in &label.parts {
                        stops[part.first..=part.last].fill(true);
                    }
                }
            }
        }
        for run in &document.runs {
            let colon = run
                .tokens
                .clone()
                .take(6)
                .find(|t| document.tokens[*t].text.ends_with(':'));
            if let Some(colon) = colon {
                let words = run.tokens.start..=colon;
                if words
                    .clone()
                    .all(|t| !document.tokens[t].text.chars().any(|c| c.is_ascii_digit()))
                {
                    stops[words].fill(true);
                }
            }
        }
        Self { stops }
    }

    /// Whether a label begins here.
    pub(crate) fn at(&self, token: usize) -> bool {
        self.stops.get(token).copied().unwrap_or(false)
    }
}

const LEADING: &[char] = &[
    ':', '-', '–', '—', '.', '_', '=', '#', '|', '*', ';', ',', '»', '>', ' ', '~', '‘', '°', 'º',
];
const TRAILING: &[char] = &['_', ' ', '|', ';', ':', '~', '—', '='];

/// The text values a label may have: spans, place, score of the place.
pub(crate) fn text_values(
    document: &Document,
    stops: &Stops,
    label: &Label,
    lines: usize,
) -> Vec<(Vec<Span>, Place, f64)> {
    let mut values = Vec::new();
    // A label of several lines has its value beside any of them.
    let beside = label
        .parts
        .iter()
        .rev()
        .find_map(|part| right_of(document, stops, label, part, lines));
    if let Some((spans, score)) = beside {
        values.push((spans, Place::Right, score));
    }
    if values.is_empty()
        && let Some((spans, score)) = level_with(document, stops, label)
    {
        values.push((spans, Place::Right, score));
    }
    if let Some((spans, score)) = below(document, stops, label, lines) {
        let beside = values.first().is_some_and(|(_, _, s)| *s > 0.6);
        values.push((
            spans,
            Place::Below,
            if beside { 0.5 * score } else { score },
        ));
    }
    values
}

fn right_of(
    document: &Document,
    stops: &Stops,
    label: &Label,
    last: &Span,
    lines: usize,
) -> Option<(Vec<Span>, f64)> {
    let row = document.tokens[last.last].row;
    let em = document.em(last.last);
    let end_of_row = document.rows[row].tokens.end;
    let mut from = None;
    let mut to = None;
    let mut score = 1.0;
    let rest = document.tokens[last.last]
        .text
        .get(last.tail..)
        .unwrap_or_default();
    let rest_start = rest.len() - rest.trim_start_matches(LEADING).len();
    if rest
        .trim_matches(|c: char| !c.is_alphanumeric() && !matches!(c, '$' | '€'))
        .chars()
        .count()
        > 0
        && rest_start < rest.len()
    {
        from = Some((last.last, last.tail + rest_start));
        to = Some(last.last);
    }
    for at in last.last + 1..end_of_row {
        let token = &document.tokens[at];
        let previous = &document.tokens[at - 1];
        let gap = (token.rect.xmin - previous.rect.xmax) / em;
        // A colon that stands alone belongs to the label.
        if from.is_none() && token.text.trim_matches(LEADING).is_empty() {
            continue;
        }
        if stops.at(at) {
            break;
        }
        if from.is_none() {
            let meaningful = token.text.trim_matches(LEADING);
            if meaningful.is_empty() {
                continue;
            }
            let far = (token.rect.xmin - label.rect.xmax) / em;
            if far > 45.0 {
                break;
            }
            if far > 6.0 {
                let fall = if label.closed { 0.012 } else { 0.028 };
                score = (1.0 - fall * far).max(0.35);
            }
            if !label.closed && token.run == document.tokens[last.last].run && label.share < 0.5 {
                score *= 0.85;
            }
            let head = token.text.len() - token.text.trim_start_matches(LEADING).len();
            from = Some((at, head));
            to = Some(at);
            continue;
        }
        let starts_run = token.run != previous.run;
        // A sign of money before an empty stretch of the line goes on.
        let signs = from.is_some_and(|(first, _)| {
            !document.tokens[first..at]
                .iter()
                .any(|t| t.text.chars().any(char::is_alphanumeric))
        });
        if starts_run && gap > if signs { 14.0 } else { 3.5 } {
            break;
        }
        to = Some(at);
    }
    let ((first, head), end) = (from?, to?);
    let mut spans = vec![trimmed(document, first, head, end)?];
    if lines > 1 {
        continue_below(document, stops, label, &mut spans, lines);
    }
    Some((spans, score))
}

/// A value written a little higher or lower than its label, as on a typed form.
fn level_with(document: &Document, stops: &Stops, label: &Label) -> Option<(Vec<Span>, f64)> {
    let last = label.last();
    let em = document.em(last.last);
    let here = last.rect(document);
    let row = document.tokens[last.last].row;
    let page = &document.pages[label.page];
    let mut best: Option<(f64, Span)> = None;
    for other in row.saturating_sub(3).max(page.rows.start)..(row + 4).min(page.rows.end) {
        let off = (document.rows[other].rect.center().1 - here.center().1).abs() / em;
        if other == row || off > 1.5 {
            continue;
        }
        for run in document.rows[other].runs.clone() {
            let r = &document.runs[run];
            if r.rect.xmin < label.rect.xmax - 0.5 * em {
                continue;
            }
            let gap = (r.rect.xmin - label.rect.xmax) / em;
            let owned = document.rows[other].tokens.clone().any(|t| {
                stops.at(t)
                    && document.tokens[t].rect.xmin < r.rect.xmin + 0.1
                    && document.tokens[t].rect.xmax > label.rect.xmax - 8.0 * em
            }) || document.rows[row].tokens.clone().any(|t| {
                t > last.last && stops.at(t) && document.tokens[t].rect.xmin < r.rect.xmax
            });
            if !owned
                && gap < 14.0
                && let Some(span) = trimmed(document, r.tokens.start, 0, r.tokens.end - 1)
                && span.text(document).chars().any(char::is_alphanumeric)
            {
                let score = 0.78 - 0.12 * off - 0.012 * gap;
                if best.is_none_or(|(s, _)| score > s) {
                    best = Some((score, span));
                }
            }
            break;
        }
    }
    best.map(|(score, span)| (vec![span], score))
}

/// Adds the lines under a value that go on with it: same left edge, no label, no gap.
fn continue_below(
    document: &Document,
    stops: &Stops,
    label: &Label,
    spans: &mut Vec<Span>,
    lines: usize,
) {
    while spans.len() < lines {
        let Some(last) = spans.last().copied() else {
            return;
        };
        let em = document.em(last.first);
        let rect = last.rect(document);
        let first_rect = spans[0].rect(document);
        let row = document.tokens[last.first].row;
        let mut next = None;
        for below in document.rows_below(row).take(2) {
            if document.rows[below].rect.ymin - rect.ymax > 0.8 * em {
                break;
            }
            for run in document.rows[below].runs.clone() {
                let r = &document.runs[run];
                let under = r.rect.ymin - rect.ymin;
                let aligned = (r.rect.xmin - first_rect.xmin).abs() < 1.2 * em;
                let wrapped = r.rect.xmin < first_rect.xmin
                    && (r.rect.xmin - label.rect.xmin).abs() < 2.0 * em
                    && rect.width() > 12.0 * em
                    && r.tokens.len() > 2;
                let labelled = document.runs[run].tokens.clone().any(|t| stops.at(t))
                    || document.rows[below]
                        .tokens
                        .clone()
                        .any(|t| stops.at(t) && document.tokens[t].rect.xmax < r.rect.xmin + em);
                // In a list of labels with values, the next line has a label of its own, known or not.
                let listed = first_rect.xmin > label.rect.xmax
                    && document.rows[below].runs.clone().any(|other| {
                        other != run
                            && (document.runs[other].rect.xmin - label.rect.xmin).abs() < 0.8 * em
                    });
                if (aligned || wrapped)
                    && under > 0.4 * em
                    && under < 1.9 * em
                    && !labelled
                    && !listed
                {
                    next = Some(run);
                }
            }
            if next.is_some() {
                break;
            }
        }
        let Some(run) = next else { return };
        let tokens = &document.runs[run].tokens;
        let Some(span) = trimmed(document, tokens.start, 0, tokens.end - 1) else {
            return;
        };
        spans.push(span);
    }
}

fn below(
    document: &Document,
    stops: &Stops,
    label: &Label,
    lines: usize,
) -> Option<(Vec<Span>, f64)> {
    let last = label.last();
    let em = document.em(last.last);
    let row = document.tokens[last.last].row;
    // The column: up to the next run of the label's row.
    let run = &document.runs[document.tokens[last.last].run];
    let left = label.rect.xmin - 1.5 * em;
    let right = document.rows[row]
        .runs
        .clone()
        .map(|r| &document.runs[r].rect)
        .filter(|r| r.xmin > run.rect.xmax)
        .map(|r| r.xmin)
        .fold(f64::INFINITY, f64::min);
    let mut spans: Vec<Span> = Vec::new();
    let mut bottom = label.rect.ymax;
    let mut score = 0.0;
    for below in document.rows_below(row).take(6) {
        if spans.len() >= lines {
            break;
        }
        let mut hit = None;
        for r in document.rows[below].runs.clone() {
            let candidate = &document.runs[r];
            let under =
                candidate.rect.xmin < label.rect.xmax && label.rect.xmin < candidate.rect.xmax;
            let inside = (candidate.rect.xmin >= left || under) && candidate.rect.xmin < right;
            if inside && candidate.rect.ymin > label.rect.ymin + 0.4 * em {
                hit = Some(candidate);
                break;
            }
        }
        let Some(candidate) = hit else { continue };
        let drop = (candidate.rect.ymin - bottom) / em;
        if drop > if spans.is_empty() { 3.0 } else { 0.9 } {
            break;
        }
        // The label's own words go on: an explanation in lower case under a label without a colon.
        let explains = spans.is_empty()
            && drop < 0.7
            && candidate.tokens.len() > 1
            && document.tokens[candidate.tokens.start]
                .text
                .starts_with(char::is_lowercase)
            && !document.tokens[run.tokens.end - 1].text.ends_with(':');
        if explains {
            bottom = candidate.rect.ymax;
            continue;
        }
        if stops.at(candidate.tokens.start) {
            break;
        }
        let aside = (candidate.rect.xmin - label.rect.xmin).abs() / em;
        if spans.is_empty() {
            let centred = (candidate.rect.center().0 - label.rect.center().0).abs() < 1.5 * em;
            score = 0.8 - 0.06 * drop.max(0.0) - if centred { 0.0 } else { 0.02 * aside.min(12.0) };
        } else if aside > 3.0 {
            break;
        }
        let end = candidate
            .tokens
            .clone()
            .find(|t| stops.at(*t))
            .unwrap_or(candidate.tokens.end);
        let Some(span) = trimmed(document, candidate.tokens.start, 0, end.saturating_sub(1)) else {
            break;
        };
        bottom = candidate.rect.ymax;
        spans.push(span);
    }
    (!spans.is_empty()).then_some((spans, score))
}

/// A span without the dots, lines and colons that forms put around values.
pub(crate) fn trimmed(document: &Document, first: usize, head: usize, last: usize) -> Option<Span> {
    let (mut first, mut head, mut last) = (first, head, last);
    while first <= last {
        let text = document.tokens[first].text.get(head..).unwrap_or_default();
        let cut = text.trim_start_matches(LEADING);
        // A sign before a number is part of it.
        let signed = text.starts_with(['-', '.', '#'])
            && cut.starts_with(|c: char| c.is_ascii_digit())
            && text.len() == cut.len() + 1;
        if signed {
            break;
        }
        if !cut.is_empty() {
            head += text.len() - cut.len();
            break;
        }
        first += 1;
        head = 0;
    }
    while last >= first {
        let text = &document.tokens[last].text;
        let cut = text.trim_end_matches(TRAILING);
        if !cut.is_empty() && (last > first || cut.len() > head) {
            return Some(Span {
                first,
                last,
                head,
                tail: cut.len(),
            });
        }
        last = last.checked_sub(1)?;
    }
    None
}
