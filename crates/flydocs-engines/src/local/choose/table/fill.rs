//! Rows under a header: which words belong to which column, where a row begins, where the table ends.

use flydocs_contract::{Rect, request::Field};

use super::{
    Cell, Column, Header,
    product::{assign, check_product},
};
use crate::local::{
    choose::{
        Reader,
        candidate::{Candidate, Evidence, Place},
        text::trimmed,
    },
    label::Query,
    layout::Span,
    pool::number,
};

/// A row of the table while it is filled: one cell a header, and the lines of its text.
pub(super) struct Item {
    pub cells: Vec<Cell>,
    /// Further numbers under a header that has one already.
    spare: Vec<(usize, Candidate)>,
    text: Vec<Span>,
    top: f64,
}

impl Item {
    fn numbers(&self, header: &Header) -> usize {
        self.cells
            .iter()
            .zip(&header.columns)
            .filter(|(cell, column)| cell.is_some() && column.numeric)
            .count()
    }
}

/// Fills the rows under a header; also says whether the table ended on its page.
pub(super) fn fill(
    reader: &Reader<'_>,
    header: &Header,
    columns: &[(&Field, Option<usize>)],
    queries: &[Query],
) -> (Vec<Vec<Cell>>, bool) {
    let document = reader.document;
    let em = document.pages[header.page].em;
    let text_column = header
        .columns
        .iter()
        .position(|c| c.wordy)
        .or_else(|| header.columns.iter().position(Column::label_is_text));
    let wanted = header
        .columns
        .iter()
        .filter(|c| c.asked.is_some() && c.numeric)
        .count();
    let mut items: Vec<Item> = Vec::new();
    let mut ended = false;
    let mut bottom = header.bottom;
    for row in document.rows_below(header.last_row) {
        let r = &document.rows[row];
        if (r.rect.ymin - bottom) / em > 15.0 || ends_table(reader, row, header) {
            ended = true;
            break;
        }
        let mut filled: Vec<(usize, Candidate)> = Vec::new();
        let mut words: Option<Span> = None;
        for run in r.runs.clone() {
            for (first, last) in pieces_of_run(reader, header, run) {
                let rect = document.rect(first..last + 1);
                let Some(at) = column_of(header, &rect) else {
                    continue;
                };
                let column = &header.columns[at];
                if column.numeric || column.asked.is_none() {
                    filled.extend(numeric_cell(reader, column, first, last).map(|c| (at, c)));
                } else if Some(at) == text_column {
                    if let Some(span) = trimmed(document, first, 0, last) {
                        words = Some(match words {
                            Some(w) => Span {
                                last: span.last,
                                tail: span.tail,
                                ..w
                            },
                            None => span,
                        });
                    }
                } else if let Some(span) = trimmed(document, first, 0, last) {
                    filled.extend(
                        Candidate::text(
                            document,
                            vec![span],
                            0.7 * column.strength,
                            evidence(column),
                        )
                        .map(|c| (at, c)),
                    );
                }
            }
        }
        let numbers = filled
            .iter()
            .filter(|(at, _)| header.columns[*at].numeric)
            .count();
        let clashes = items.last().is_some_and(|item| {
            filled
                .iter()
                .any(|(at, _)| header.columns[*at].numeric && item.cells[*at].is_some())
        });
        let close = items
            .last()
            .is_some_and(|item| (r.rect.ymin - item.top) / em < 2.6);
        if numbers > 0 && (clashes || !close) {
            items.push(Item {
                cells: vec![None; header.columns.len()],
                spare: Vec::new(),
                text: Vec::new(),
                top: r.rect.ymin,
            });
        }
        let Some(item) = items.last_mut() else {
            continue;
        };
        if numbers > 0 {
            bottom = r.rect.ymax;
        }
        for (at, candidate) in filled {
            if item.cells[at].is_none() {
                item.cells[at] = Some(candidate);
            } else if numbers > 0 && (r.rect.ymin - item.top).abs() < 0.1 * em {
                item.spare.push((at, candidate));
            }
        }
        if let Some(span) = words {
            let goes_on = match item.text.last() {
                None => close || numbers > 0,
                Some(last) => {
                    let (before, here) = (last.rect(document), span.rect(document));
                    here.ymin - before.ymax < 0.42 * em
                        && here.ymin > before.ymin + 0.3 * em
                        && (here.xmin - before.xmin).abs() < 1.2 * em
                        && numbers == 0
                        && item.text.len() < 5
                }
            };
            if goes_on {
                item.text.push(span);
                bottom = bottom.max(r.rect.ymax);
            }
        }
    }
    let least = if wanted > 1 { 2 } else { 1 };
    items.retain(|item| {
        item.numbers(header) >= least
            || (item.numbers(header) > 0 && !item.text.is_empty() && items_are_sparse(wanted))
    });
    if let Some(text_column) = text_column {
        for item in &mut items {
            if !item.text.is_empty() {
                let column = &header.columns[text_column];
                item.cells[text_column] = Candidate::text(
                    document,
                    std::mem::take(&mut item.text),
                    0.75 * column.strength,
                    evidence(column),
                );
            }
        }
    }
    let assignment = assign(header, columns, queries, &items);
    let amount = columns
        .iter()
        .position(|(_, q)| q.is_some_and(|q| queries[q].concept_name() == "line_amount"));
    let rows = items
        .into_iter()
        .map(|mut item| {
            let mut cells: Vec<Cell> = vec![None; columns.len()];
            let spare = std::mem::take(&mut item.spare);
            for (asked, at) in assignment.iter().enumerate() {
                if let Some(at) = at {
                    cells[asked] = item.cells[*at].take();
                }
            }
            check_product(columns, queries, &mut cells);
            for (at, candidate) in spare {
                let Some(asked) = assignment.iter().position(|a| *a == Some(at)) else {
                    continue;
                };
                let checked = |cells: &[Cell]| {
                    let cell = cells[asked].as_ref();
                    cell.is_some_and(|c| c.evidence.checked)
                };
                if !checked(&cells) {
                    let mut other = cells.clone();
                    other[asked] = Some(candidate);
                    check_product(columns, queries, &mut other);
                    if checked(&other) {
                        cells = other;
                    }
                }
            }
            cells
        })
        .filter(|cells| amount.is_none_or(|a| assignment[a].is_none() || cells[a].is_some()))
        .collect();
    (rows, ended)
}

/// A table with one column of numbers keeps rows with one number.
const fn items_are_sparse(wanted: usize) -> bool {
    wanted < 2
}

fn evidence(column: &Column) -> Evidence {
    Evidence {
        label: Some(column.label.clone()),
        label_strength: column.strength,
        place: Place::Column,
        place_score: 0.8,
        form: 0.8,
        checked: false,
        notes: Vec::new(),
    }
}

/// A run of text stays whole; one of numbers is cut where its words stand under different headers.
fn pieces_of_run(reader: &Reader<'_>, header: &Header, run: usize) -> Vec<(usize, usize)> {
    let document = reader.document;
    let tokens = document.runs[run].tokens.clone();
    let mut parts: Vec<(usize, usize, Option<usize>)> = Vec::new();
    for at in tokens {
        let column = column_of(header, &document.tokens[at].rect);
        let numeric = document.tokens[at].text.chars().any(|c| c.is_ascii_digit())
            || document.tokens[at].text.chars().count() < 2;
        match parts.last_mut() {
            Some((first, last, c))
                if *c == column
                    || ends_text(reader, header, *first..at, column)
                    || !numeric
                        && !document.tokens[*last]
                            .text
                            .chars()
                            .any(|c| c.is_ascii_digit()) =>
            {
                *last = at;
            }
            _ => parts.push((at, at, column)),
        }
    }
    let numeric = parts
        .iter()
        .filter(|(f, l, _)| {
            (*f..=*l).any(|t| document.tokens[t].text.chars().any(|c| c.is_ascii_digit()))
        })
        .count();
    if numeric >= 2 && numeric == parts.len() {
        return parts.into_iter().map(|(f, l, _)| (f, l)).collect();
    }
    let tokens = &document.runs[run].tokens;
    vec![(tokens.start, tokens.end - 1)]
}

/// Whether a word right after a text is its last one, and not the number of the next column: an ordinary gap before
/// it, away from the header, where a later number of the row stands under that header.
fn ends_text(
    reader: &Reader<'_>,
    header: &Header,
    text: std::ops::Range<usize>,
    column: Option<usize>,
) -> bool {
    let document = reader.document;
    let (Some(column), Some(before)) = (column, text.end.checked_sub(1)) else {
        return false;
    };
    let wordy = document.tokens[text.clone()]
        .iter()
        .any(|t| t.text.chars().filter(|c| c.is_alphabetic()).count() > 1);
    let here = &document.tokens[text.end];
    let em = document.em(text.end);
    let title = &header.columns[column].rect;
    let off = |r: &Rect| (r.xmin - title.xmax).max(title.xmin - r.xmax);
    wordy
        && here.rect.xmin - document.tokens[before].rect.xmax < 0.6 * em
        && off(&here.rect) > em
        && document.tokens[text.end + 1..document.rows[here.row].tokens.end]
            .iter()
            .any(|t| {
                t.text.starts_with(|c: char| c.is_ascii_digit())
                    && column_of(header, &t.rect) == Some(column)
                    && off(&t.rect) < 0.0
            })
}

/// The header a box stands under: the one it shares most width with, else the nearest.
fn column_of(header: &Header, rect: &Rect) -> Option<usize> {
    let shared = |c: &Column| c.rect.xmax.min(rect.xmax) - c.rect.xmin.max(rect.xmin);
    let best = header.columns.iter().enumerate().max_by(|(_, a), (_, b)| {
        let key = |c: &Column| {
            let s = shared(c);
            if s > 0.0 {
                // A wide text begins under its header.
                let starts = (rect.xmin - c.rect.xmin).abs() < 0.03 * (c.rect.xmax + 400.0) / 10.0;
                s + if starts { 1e4 } else { 0.0 } + 1e3
            } else {
                s
            }
        };
        key(a).total_cmp(&key(b))
    })?;
    Some(best.0)
}

fn numeric_cell(
    reader: &Reader<'_>,
    column: &Column,
    first: usize,
    last: usize,
) -> Option<Candidate> {
    let hit = reader
        .pool
        .amounts
        .iter()
        .filter(|a| a.span.first >= first && a.span.last <= last && !a.value.percent)
        .max_by(|a, b| {
            a.form
                .total_cmp(&b.form)
                .then(b.span.first.cmp(&a.span.first))
        })?;
    // A word with a digit in it among others is text.
    let words = (first..=last)
        .filter(|t| {
            reader.document.tokens[*t]
                .text
                .chars()
                .filter(|c| c.is_alphabetic())
                .count()
                > 2
        })
        .count();
    if words > 2 || hit.form < 0.15 {
        return None;
    }
    Candidate::new(
        reader.document,
        vec![hit.span],
        number(hit.value.value, column.whole),
        0.8 * column.strength.max(0.6) * (0.6 + 0.4 * hit.form),
        evidence(column),
    )
}

/// Whether a row opens the totals under a table.
fn ends_table(reader: &Reader<'_>, row: usize, header: &Header) -> bool {
    let document = reader.document;
    let has_amount = reader
        .pool
        .amounts
        .iter()
        .any(|a| document.tokens[a.span.first].row == row && a.form > 0.4);
    if !has_amount {
        return false;
    }
    let first_run = document.rows[row].runs.start;
    [
        "total",
        "net_total",
        "line_total",
        "amount_due",
        "tax_total",
        "adjustment",
    ]
    .iter()
    .any(|name| {
        let Some((concept, _)) = reader.lexicon.get(name) else {
            return false;
        };
        reader.labels.of_concept[concept].iter().any(|l| {
            let run = document.tokens[l.first().first].run;
            let under_text = header
                .columns
                .first()
                .is_some_and(|c| l.rect.xmin < c.rect.xmax + 1.0);
            l.page == header.page
                && !l.hidden
                && l.opens
                && l.share > 0.75
                && document.tokens[l.first().first].row == row
                && (run == first_run)
                && (*name != "adjustment" || under_text && l.share > 0.9)
        })
    })
}
