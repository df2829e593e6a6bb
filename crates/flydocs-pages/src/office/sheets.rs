//! XLSX and XLS through calamine: one table a sheet, values as a reader sees them.

use std::io::Cursor;

use bytes::Bytes;
use calamine::{Data, Range, Reader, Xls, Xlsx};

use super::{failed, unpack::Parts};
use crate::{
    containers::Budget,
    error::Result,
    laid_out::{Block, Blocks},
    sniff::Kind,
};

/// Cells beyond this are a data dump, not a document.
const MAX_CELLS: usize = 2_000_000;

pub(super) fn read(
    filename: &str,
    kind: Kind,
    content: &Bytes,
    budget: &mut Budget,
) -> Result<Blocks> {
    let mut blocks = Blocks::default();
    if kind == Kind::Xls {
        let book: Xls<_> =
            Xls::new(Cursor::new(content.clone())).map_err(|e| failed(filename, e))?;
        sheets(filename, book, &mut blocks)?;
    } else {
        Parts::open(filename, content)?.weigh(budget)?;
        let book: Xlsx<_> =
            Xlsx::new(Cursor::new(content.clone())).map_err(|e| failed(filename, e))?;
        sheets(filename, book, &mut blocks)?;
    }
    Ok(blocks)
}

fn sheets<R>(filename: &str, mut book: R, blocks: &mut Blocks) -> Result<()>
where
    R: Reader<Cursor<Bytes>>,
    R::Error: std::fmt::Display,
{
    let mut first = true;
    for name in book.sheet_names() {
        let range = book
            .worksheet_range(&name)
            .map_err(|e| failed(filename, e))?;
        if range.is_empty() {
            continue;
        }
        let (rows, columns) = range.get_size();
        if rows.saturating_mul(columns) > MAX_CELLS {
            return Err(failed(
                filename,
                format!("sheet {name:?} has {rows} rows of {columns} cells"),
            ));
        }
        if !first {
            blocks.0.push(Block::PageBreak);
        }
        first = false;
        blocks.heading(name);
        blocks.0.push(Block::Table(table(&range)));
    }
    Ok(())
}

fn table(range: &Range<Data>) -> Vec<Vec<String>> {
    let mut rows: Vec<Vec<String>> = range
        .rows()
        .map(|row| row.iter().map(shown).collect::<Vec<String>>())
        .filter(|row: &Vec<String>| row.iter().any(|cell| !cell.is_empty()))
        .collect();
    // columns that are empty everywhere only take room
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let used: Vec<bool> = (0..columns)
        .map(|at| {
            rows.iter()
                .any(|row| row.get(at).is_some_and(|c| !c.is_empty()))
        })
        .collect();
    for row in &mut rows {
        let mut at = 0;
        row.retain(|_| {
            at += 1;
            used[at - 1]
        });
    }
    rows
}

fn shown(cell: &Data) -> String {
    match cell {
        Data::Empty => String::new(),
        Data::String(text) => text.replace(['\r', '\n'], " "),
        Data::Float(number) => number_text(*number),
        Data::Int(number) => number.to_string(),
        Data::Bool(yes) => if *yes { "TRUE" } else { "FALSE" }.to_owned(),
        Data::DateTime(when) if when.is_datetime() => {
            let (year, month, day, hour, minute, second, _) = when.to_ymd_hms_milli();
            let date = format!("{year:04}-{month:02}-{day:02}");
            if (hour, minute, second) == (0, 0, 0) {
                date
            } else {
                format!("{date} {hour:02}:{minute:02}:{second:02}")
            }
        }
        Data::DateTime(when) => number_text(when.as_f64()),
        other => other.to_string(),
    }
}

/// Without the noise of binary fractions (1234.5, not 1234.4999999999998).
fn number_text(number: f64) -> String {
    if number.fract() == 0.0 && number.abs() < 1e15 {
        return format!("{number:.0}");
    }
    let text = format!("{number:.10}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}
