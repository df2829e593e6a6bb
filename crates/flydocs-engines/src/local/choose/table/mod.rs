//! Arrays of objects: a header row names the columns, the rows under it fill them.

mod cell;
mod fill;
mod header;
mod product;

use flydocs_contract::{Rect, request::Field};

use super::{Reader, candidate::Candidate};
use crate::local::label::Query;
use cell::settled;
use fill::fill;
use header::headers;

/// The cell of a row: the candidate for a column.
pub(crate) type Cell = Option<Candidate>;

#[derive(Debug, Clone)]
struct Column {
    /// Index into the columns asked for; `None` for a header nobody asked for.
    asked: Option<usize>,
    rect: Rect,
    strength: f64,
    label: String,
    /// Its cells are numbers.
    numeric: bool,
    /// They are whole numbers.
    whole: bool,
    /// Its cells are the words of the line, over as many lines as they take.
    wordy: bool,
}

impl Column {
    /// A column asked for as text.
    const fn label_is_text(&self) -> bool {
        self.asked.is_some() && !self.numeric
    }
}

#[derive(Debug, Clone)]
struct Header {
    page: usize,
    last_row: usize,
    columns: Vec<Column>,
    score: f64,
    bottom: f64,
}

/// The rows of an array of objects, one cell a column asked for.
pub(crate) fn read_rows(
    reader: &Reader<'_>,
    columns: &[(&Field, Option<usize>)],
    queries: &[Query],
) -> Vec<Vec<Cell>> {
    let headers = headers(reader, columns, queries);
    let Some(best) = headers
        .iter()
        .max_by(|a, b| a.score.total_cmp(&b.score))
        .cloned()
    else {
        return Vec::new();
    };
    let mut rows = Vec::new();
    for page in best.page..reader.document.pages.len() {
        let own = headers
            .iter()
            .filter(|h| h.page == page && h.score > 0.75 * best.score && same_columns(h, &best))
            .max_by(|a, b| a.score.total_cmp(&b.score));
        let header = if page == best.page {
            Some(best.clone())
        } else {
            own.cloned()
        };
        let Some(header) = header else { break };
        let (found, ended) = fill(reader, &header, columns, queries);
        rows.extend(
            found
                .into_iter()
                .map(|cells| settled(reader, columns, queries, cells)),
        );
        if ended {
            break;
        }
    }
    rows
}

fn same_columns(a: &Header, b: &Header) -> bool {
    let asked = |h: &Header| h.columns.iter().filter_map(|c| c.asked).collect::<Vec<_>>();
    asked(a) == asked(b)
}
