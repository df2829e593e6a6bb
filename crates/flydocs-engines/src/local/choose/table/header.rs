//! Header rows: where the names of columns stand beside each other.

use flydocs_contract::request::Field;

use super::{Column, Header};
use crate::local::{
    choose::Reader,
    label::{Kind, Label, Query},
};

/// Every row (or two or three close rows) that names at least two of the columns.
pub(super) fn headers(
    reader: &Reader<'_>,
    columns: &[(&Field, Option<usize>)],
    queries: &[Query],
) -> Vec<Header> {
    let document = reader.document;
    let mut headers = Vec::new();
    for (at, row) in document.rows.iter().enumerate() {
        let em = document.pages[row.page].em;
        let near = |l: &Label| {
            l.page == row.page
                && !l.hidden
                && (l.first().rect(document).center().1 - row.rect.center().1).abs() < 1.7 * em
        };
        let anchored = |l: &Label| l.parts.iter().any(|p| document.tokens[p.first].row == at);
        let mut hits: Vec<(f64, usize, &Label)> = Vec::new();
        for (c, (_, query)) in columns.iter().enumerate() {
            let Some(query) = query else { continue };
            for label in reader.labels.of_query[*query]
                .iter()
                .filter(|l| near(l) && l.opens && l.share > 0.45)
            {
                let bonus = if anchored(label) { 0.1 } else { 0.0 };
                hits.push((
                    label.strength() + bonus + 0.01 * label.letters.min(12) as f64,
                    c,
                    label,
                ));
            }
        }
        if hits.len() < 2 || !hits.iter().any(|(_, _, l)| anchored(l)) {
            continue;
        }
        hits.sort_by(|a, b| b.0.total_cmp(&a.0));
        let mut chosen: Vec<(f64, usize, &Label)> = Vec::new();
        for hit in hits {
            let clash = chosen.iter().any(|(_, c, l)| {
                *c == hit.1 || l.rect.xmin < hit.2.rect.xmax && hit.2.rect.xmin < l.rect.xmax
            });
            if !clash {
                chosen.push(hit);
            }
        }
        if chosen.len() < 2 {
            continue;
        }
        let top = chosen
            .iter()
            .map(|c| c.2.rect.ymin)
            .fold(f64::INFINITY, f64::min);
        let bottom = chosen.iter().map(|c| c.2.rect.ymax).fold(0.0, f64::max);
        let last_row = chosen
            .iter()
            .flat_map(|c| c.2.parts.iter().map(|p| document.tokens[p.last].row))
            .max()
            .unwrap_or(at);
        let mut cells: Vec<Column> = chosen
            .iter()
            .map(|(strength, c, label)| Column {
                asked: Some(*c),
                rect: label.rect,
                strength: strength.min(1.0),
                label: label
                    .parts
                    .iter()
                    .map(|p| p.text(document))
                    .collect::<Vec<_>>()
                    .join(" "),
                numeric: columns[*c].1.is_some_and(|q| is_numeric(queries[q].kind)),
                whole: columns[*c]
                    .1
                    .is_some_and(|q| queries[q].kind == Kind::Integer),
                wordy: columns[*c].1.is_some_and(|q| queries[q].kind == Kind::Text),
            })
            .collect();
        // The other words of the header are columns too.
        for r in document.pages[row.page].rows.clone() {
            for run in document.rows[r].runs.clone() {
                let rect = document.runs[run].rect;
                let inside =
                    rect.center().1 > top - 0.3 * em && rect.center().1 < bottom + 0.3 * em;
                let new = cells.iter().all(|c| {
                    rect.xmax <= c.rect.xmin + 0.2 * em || c.rect.xmax <= rect.xmin + 0.2 * em
                });
                if inside && new {
                    cells.push(Column {
                        asked: None,
                        rect,
                        strength: 0.0,
                        label: String::new(),
                        numeric: false,
                        whole: false,
                        wordy: false,
                    });
                }
            }
        }
        cells.sort_by(|a, b| a.rect.xmin.total_cmp(&b.rect.xmin));
        let score = chosen.iter().map(|c| c.0).sum::<f64>() - 0.001 * at as f64;
        headers.push(Header {
            page: row.page,
            last_row,
            columns: cells,
            score,
            bottom,
        });
    }
    headers
}

const fn is_numeric(kind: Kind) -> bool {
    matches!(kind, Kind::Amount | Kind::Integer | Kind::Percent)
}
