//! ODT, ODP and ODS: paragraphs, headings, tables of `content.xml`, headers and footers of `styles.xml`.

use bytes::Bytes;
use flydocs_contract::ErrorCode;

use super::{
    failed,
    unpack::Parts,
    xml::{Said, attribute, walk},
};
use crate::{
    containers::Budget,
    error::{Error, Result},
    laid_out::{Block, Blocks},
};

/// Spreadsheets pad their rows with as many empty cells as there are columns.
const MAX_REPEAT: usize = 64;

pub(super) fn read(filename: &str, content: &Bytes, budget: &mut Budget) -> Result<Blocks> {
    let mut parts = Parts::open(filename, content)?;
    let manifest = parts.read("META-INF/manifest.xml", budget)?;
    if manifest.is_some_and(|m| m.windows(15).any(|w| w == b"encryption-data")) {
        return Err(Error::refused(
            ErrorCode::EncryptedFile,
            filename,
            format!("{filename} opens only with a password: send it without one"),
        ));
    }
    let body = parts.need("content.xml", budget)?;
    let styles = parts.read("styles.xml", budget)?;
    let mut blocks = Blocks::default();
    if let Some(styles) = &styles {
        hear(filename, styles, Some("header"), &mut blocks)?;
    }
    hear(filename, &body, None, &mut blocks)?;
    if let Some(styles) = &styles {
        hear(filename, styles, Some("footer"), &mut blocks)?;
    }
    Ok(blocks)
}

fn hear(filename: &str, xml: &[u8], only: Option<&str>, blocks: &mut Blocks) -> Result<()> {
    let mut reader = Reader {
        only,
        listening: usize::from(only.is_none()),
        ..Reader::default()
    };
    walk(xml, |said| reader.hear(said, blocks)).map_err(|why| failed(filename, why))
}

#[derive(Default)]
struct Reader<'a> {
    only: Option<&'a str>,
    listening: usize,
    in_body: bool,
    paragraphs: usize,
    /// Tracked deletions and annotations are not part of the text.
    silent: usize,
    text: String,
    tables: Vec<Vec<Vec<String>>>,
    repeat: usize,
    slides: usize,
}

impl Reader<'_> {
    fn hear(&mut self, said: Said<'_>, blocks: &mut Blocks) {
        match said {
            Said::Open(name, _) if Some(name) == self.only => self.listening += 1,
            Said::Close(name) if Some(name) == self.only => {
                self.listening = self.listening.saturating_sub(1);
            }
            _ if self.listening == 0 => {}
            Said::Open("tracked-changes" | "annotation", _) => self.silent += 1,
            Said::Close("tracked-changes" | "annotation") => {
                self.silent = self.silent.saturating_sub(1);
            }
            _ if self.silent > 0 => {}
            Said::Open("body", _) => self.in_body = true,
            Said::Open("p" | "h", _) => {
                if self.paragraphs == 0 {
                    self.text.clear();
                }
                self.paragraphs += 1;
            }
            Said::Close(name @ ("p" | "h")) => {
                self.paragraphs = self.paragraphs.saturating_sub(1);
                if self.paragraphs == 0 {
                    self.end_paragraph(name == "h", blocks);
                }
            }
            Said::Open("s", start) => {
                let count = attribute(start, "c")
                    .and_then(|c| c.parse().ok())
                    .unwrap_or(1_usize);
                self.text
                    .extend(std::iter::repeat_n(' ', count.min(MAX_REPEAT)));
            }
            Said::Open("tab", _) => self.text.push('\t'),
            Said::Open("line-break", _) => self.text.push(' '),
            Said::Open("page", _) if self.in_body => {
                if self.slides > 0 {
                    blocks.0.push(Block::PageBreak);
                }
                self.slides += 1;
            }
            Said::Open("table", _) => self.tables.push(Vec::new()),
            Said::Open("table-row", _) => {
                if let Some(table) = self.tables.last_mut() {
                    table.push(Vec::new());
                }
            }
            Said::Open("table-cell" | "covered-table-cell", start) => {
                self.repeat = attribute(start, "number-columns-repeated")
                    .and_then(|n| n.parse().ok())
                    .unwrap_or(1);
                if let Some(row) = self.tables.last_mut().and_then(|t| t.last_mut()) {
                    row.push(String::new());
                }
            }
            Said::Close("table-cell" | "covered-table-cell") => self.end_cell(),
            Said::Close("table") => self.end_table(blocks),
            Said::Text(text) if self.paragraphs > 0 => self.text.push_str(text),
            _ => {}
        }
    }

    fn cell(&mut self) -> Option<&mut String> {
        self.tables.last_mut()?.last_mut()?.last_mut()
    }

    fn end_paragraph(&mut self, heading: bool, blocks: &mut Blocks) {
        let text = std::mem::take(&mut self.text);
        if let Some(cell) = self.cell() {
            if !cell.is_empty() {
                cell.push(' ');
            }
            cell.push_str(&text);
        } else {
            blocks.0.push(Block::Line {
                text,
                bold: heading,
            });
        }
    }

    fn end_cell(&mut self) {
        let more = self.repeat.clamp(1, MAX_REPEAT) - 1;
        self.repeat = 1;
        let Some(row) = self.tables.last_mut().and_then(|t| t.last_mut()) else {
            return;
        };
        let Some(cell) = row.last().cloned() else {
            return;
        };
        row.extend(std::iter::repeat_n(cell, more));
    }

    fn end_table(&mut self, blocks: &mut Blocks) {
        let Some(mut table) = self.tables.pop() else {
            return;
        };
        for row in &mut table {
            while row.last().is_some_and(|cell| cell.trim().is_empty()) {
                row.pop();
            }
        }
        table.retain(|row| !row.is_empty());
        if let Some(cell) = self.cell() {
            for inner in table.into_iter().flatten() {
                cell.push(' ');
                cell.push_str(&inner);
            }
        } else if !table.is_empty() {
            blocks.0.push(Block::Table(table));
        }
    }
}
