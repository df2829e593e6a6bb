//! Cells of a row that are more than words: dates, listed values, marks, and what has a form of its own.

use flydocs_contract::{FieldValue, request::Field};

use super::Cell;
use crate::local::{
    choose::{Candidate, Reader, choice::value_of},
    label::{Kind, Query},
    layout::Span,
    pool::Typed,
    recognise::tick_of,
    text::{fold, similar},
};

/// The row with every cell as its column wants it; a cell that cannot be is empty.
pub(super) fn settled(
    reader: &Reader<'_>,
    columns: &[(&Field, Option<usize>)],
    queries: &[Query],
    cells: Vec<Cell>,
) -> Vec<Cell> {
    columns
        .iter()
        .zip(cells)
        .map(|((field, query), cell)| {
            let (query, cell) = (&queries[(*query)?], cell?);
            settle(reader, field, query, cell)
        })
        .collect()
}

fn settle(reader: &Reader<'_>, field: &Field, query: &Query, mut cell: Candidate) -> Cell {
    let pool = reader.pool;
    match query.kind {
        Kind::Date => {
            let date = pool
                .dates
                .iter()
                .filter(|d| inside(&cell, &d.span))
                .max_by(|a, b| a.form.total_cmp(&b.form))?;
            let day = date.value.read(reader.order)?;
            cell.evidence.form = date.form;
            narrowed(
                reader,
                cell,
                date.span,
                FieldValue::String(day.format("%Y-%m-%d").to_string()),
            )
        }
        Kind::Currency => {
            let hit = pool.currencies.iter().find(|c| inside(&cell, &c.span))?;
            narrowed(
                reader,
                cell,
                hit.span,
                FieldValue::String(hit.value.to_owned()),
            )
        }
        Kind::Iban => typed(reader, cell, &pool.ibans),
        Kind::Bic => typed(reader, cell, &pool.bics),
        Kind::Email => typed(reader, cell, &pool.emails),
        Kind::Time => typed(reader, cell, &pool.times),
        Kind::Choice => {
            let read = fold(&cell.text);
            let printed = |allowed: &serde_json::Value| match allowed {
                serde_json::Value::String(s) => fold(s),
                other => fold(&other.to_string()),
            };
            let best = field.allowed.iter().flatten().max_by(|a, b| {
                similar(&read, &printed(a)).total_cmp(&similar(&read, &printed(b)))
            })?;
            if similar(&read, &printed(best)) == 0.0 {
                return None;
            }
            cell.value = value_of(best)?;
            Some(cell)
        }
        Kind::Boolean => {
            let token = &reader.document.tokens[cell.spans.first()?.first];
            let yes = match fold(&cell.text).as_str() {
                "yes" | "y" | "ja" | "oui" | "si" | "sim" | "tak" | "true" => true,
                "no" | "n" | "nein" | "non" | "nao" | "nee" | "nie" | "false" => false,
                _ => tick_of(token, true)? == crate::local::recognise::Tick::On,
            };
            cell.value = FieldValue::Boolean(yes);
            Some(cell)
        }
        _ => Some(cell),
    }
}

fn inside(cell: &Candidate, span: &Span) -> bool {
    cell.spans.iter().any(|s| s.contains(span))
}

fn typed(reader: &Reader<'_>, cell: Candidate, pool: &[Typed<String>]) -> Cell {
    match pool.iter().find(|hit| inside(&cell, &hit.span)) {
        Some(hit) => narrowed(
            reader,
            cell,
            hit.span,
            FieldValue::String(hit.value.clone()),
        ),
        None => Some(cell),
    }
}

/// The cell with only the words of its value.
fn narrowed(reader: &Reader<'_>, cell: Candidate, span: Span, value: FieldValue) -> Cell {
    Candidate::new(
        reader.document,
        vec![span],
        value,
        cell.score,
        cell.evidence,
    )
}
