//! DOCX and PPTX: paragraphs, tables, headers, footers, notes.

use bytes::Bytes;

use super::{
    failed,
    unpack::Parts,
    xml::{Said, attribute, walk},
};
use crate::{
    containers::Budget,
    error::Result,
    laid_out::{Block, Blocks},
};

/// Headers first, then the body with its text boxes, notes, footers last.
pub(super) fn docx(filename: &str, content: &Bytes, budget: &mut Budget) -> Result<Blocks> {
    let mut parts = Parts::open(filename, content)?;
    let mut blocks = Blocks::default();
    let body = parts.need("word/document.xml", budget)?;
    let mut others = |prefix: &str, blocks: &mut Blocks| -> Result<()> {
        for name in parts.names(&format!("word/{prefix}"), ".xml") {
            if let Some(xml) = parts.read(&name, budget)? {
                read(filename, &xml, blocks)?;
            }
        }
        Ok(())
    };
    others("header", &mut blocks)?;
    read(filename, &body, &mut blocks)?;
    others("footnotes", &mut blocks)?;
    others("endnotes", &mut blocks)?;
    others("footer", &mut blocks)?;
    Ok(blocks)
}

/// One page a slide, its notes below.
pub(super) fn pptx(filename: &str, content: &Bytes, budget: &mut Budget) -> Result<Blocks> {
    let mut parts = Parts::open(filename, content)?;
    let mut blocks = Blocks::default();
    let slides = parts.names("ppt/slides/slide", ".xml");
    if slides.is_empty() {
        return Err(failed(filename, "it has no slide"));
    }
    for (index, name) in slides.iter().enumerate() {
        if index > 0 {
            blocks.0.push(Block::PageBreak);
        }
        if let Some(xml) = parts.read(name, budget)? {
            read(filename, &xml, &mut blocks)?;
        }
        let notes = name.replace("slides/slide", "notesSlides/notesSlide");
        if let Some(xml) = parts.read(&notes, budget)? {
            read(filename, &xml, &mut blocks)?;
        }
    }
    Ok(blocks)
}

/// WordprocessingML and DrawingML share their names: p, r, t, tbl, tr, tc, tab, br.
fn read(filename: &str, xml: &[u8], blocks: &mut Blocks) -> Result<()> {
    let mut reader = Reader::default();
    walk(xml, |said| reader.hear(said, blocks)).map_err(|why| failed(filename, why))?;
    reader.end_paragraph(blocks);
    Ok(())
}

#[derive(Default)]
struct Reader {
    text: String,
    in_text: bool,
    heading: bool,
    bold: bool,
    bold_text: usize,
    /// A drawing stands twice, once for old readers.
    fallback: usize,
    /// Deleted text is not there.
    deleted: usize,
    /// Open tables, the innermost last; the rows of each and whether a cell is open.
    tables: Vec<Vec<Vec<String>>>,
}

impl Reader {
    fn hear(&mut self, said: Said<'_>, blocks: &mut Blocks) {
        match said {
            Said::Open("Fallback", _) => self.fallback += 1,
            Said::Close("Fallback") => self.fallback = self.fallback.saturating_sub(1),
            _ if self.fallback > 0 => {}
            Said::Open("del", _) => self.deleted += 1,
            Said::Close("del") => self.deleted = self.deleted.saturating_sub(1),
            Said::Open("t", _) => self.in_text = true,
            Said::Close("t") => self.in_text = false,
            Said::Open("r", _) => self.bold = false,
            Said::Open("b", start) => {
                let off =
                    attribute(start, "val").is_some_and(|v| matches!(v.as_str(), "0" | "false"));
                self.bold = !off;
            }
            Said::Open("rPr", start) => {
                self.bold = attribute(start, "b").is_some_and(|v| v == "1" || v == "true");
            }
            Said::Open("pStyle", start) => {
                self.heading = attribute(start, "val").is_some_and(|v| {
                    let v = v.to_ascii_lowercase();
                    v.starts_with("heading") || v.starts_with("title")
                });
            }
            Said::Open("tab", _) if self.in_paragraph_text() => self.text.push('\t'),
            Said::Open("br" | "cr", start) => {
                if attribute(start, "type").is_some_and(|t| t == "page") && self.tables.is_empty() {
                    self.end_paragraph(blocks);
                    blocks.0.push(Block::PageBreak);
                } else {
                    self.line_break(blocks);
                }
            }
            Said::Open("noBreakHyphen", _) => self.text.push('-'),
            Said::Close("p") => self.end_paragraph(blocks),
            Said::Open("tbl", _) => {
                self.end_paragraph(blocks);
                self.tables.push(Vec::new());
            }
            Said::Open("tr", _) => {
                if let Some(table) = self.tables.last_mut() {
                    table.push(Vec::new());
                }
            }
            Said::Open("tc", _) => {
                if let Some(row) = self.tables.last_mut().and_then(|t| t.last_mut()) {
                    row.push(String::new());
                }
            }
            Said::Close("tbl") => self.end_table(blocks),
            Said::Text(text) if self.in_text && self.deleted == 0 => {
                self.text.push_str(text);
                if self.bold {
                    self.bold_text += text.chars().count();
                }
            }
            _ => {}
        }
    }

    /// Tab stops are declared with the same name inside paragraph properties; those come before any text.
    fn in_paragraph_text(&self) -> bool {
        !self.text.is_empty()
    }

    fn line_break(&mut self, blocks: &mut Blocks) {
        if self.tables.is_empty() {
            self.end_paragraph(blocks);
        } else {
            self.text.push(' ');
        }
    }

    fn end_paragraph(&mut self, blocks: &mut Blocks) {
        let text = std::mem::take(&mut self.text);
        let all = text.chars().filter(|c| !c.is_whitespace()).count();
        let bold = self.heading || (all > 0 && self.bold_text * 2 > all);
        self.heading = false;
        self.bold_text = 0;
        let cell = self
            .tables
            .last_mut()
            .and_then(|table| table.last_mut())
            .and_then(|row| row.last_mut());
        if let Some(cell) = cell {
            if !cell.is_empty() && !text.is_empty() {
                cell.push(' ');
            }
            cell.push_str(&text);
        } else {
            blocks.0.push(Block::Line { text, bold });
        }
    }

    /// A table inside a cell becomes part of the cell's text.
    fn end_table(&mut self, blocks: &mut Blocks) {
        let Some(table) = self.tables.pop() else {
            return;
        };
        let outer = self
            .tables
            .last_mut()
            .and_then(|table| table.last_mut())
            .and_then(|row| row.last_mut());
        if let Some(cell) = outer {
            for inner in table.into_iter().flatten() {
                cell.push(' ');
                cell.push_str(&inner);
            }
        } else {
            blocks.0.push(Block::Table(table));
        }
    }
}
