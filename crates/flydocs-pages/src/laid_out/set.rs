//! Blocks to pages: a fixed grid of characters, tables as aligned columns.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::{Block, Blocks};
use crate::{
    error::{Error, Result},
    options::{Limit, Options},
};

/// A4 with margins, in points.
pub(super) const PAGE: (f64, f64) = (595.0, 842.0);
const MARGIN: f64 = 40.0;
/// Size of the type; a character is 0.6 of it wide.
const SIZE: f64 = 10.0;
const LEADING: f64 = 1.3;
/// Characters on a line at full size.
pub(crate) const COLUMNS: usize = 85;
/// Smallest type for wide tables: twice the columns.
const MAX_COLUMNS: usize = 170;
/// White between two columns of a table.
const GUTTER: usize = 3;

/// A line at its place, from the top left.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Line {
    pub(super) text: String,
    pub(super) bold: bool,
    pub(super) x: f64,
    pub(super) baseline: f64,
    pub(super) size: f64,
}

/// Sets the blocks; stops at the page limit.
pub(super) fn pages(filename: &str, blocks: &Blocks, options: &Options) -> Result<Vec<Vec<Line>>> {
    let mut setter = Setter {
        filename,
        max_pages: options.max_pages as usize,
        pages: vec![Vec::new()],
        y: MARGIN,
    };
    for block in &blocks.0 {
        match block {
            Block::Line { text, bold } => {
                for line in wrap(&expand(text), COLUMNS) {
                    setter.put(&line, *bold, SIZE)?;
                }
            }
            Block::Table(rows) => table(rows, &mut setter)?,
            Block::PageBreak => setter.page_break()?,
        }
    }
    // trailing empty pages say nothing
    while setter.pages.len() > 1 && setter.pages.last().is_some_and(Vec::is_empty) {
        setter.pages.pop();
    }
    Ok(setter.pages)
}

struct Setter<'a> {
    filename: &'a str,
    max_pages: usize,
    pages: Vec<Vec<Line>>,
    y: f64,
}

impl Setter<'_> {
    fn put(&mut self, text: &str, bold: bool, size: f64) -> Result<()> {
        let height = size * LEADING;
        if self.y + height > PAGE.1 - MARGIN {
            self.page_break()?;
        }
        let line = Line {
            text: text.trim_end().to_owned(),
            bold,
            x: MARGIN,
            baseline: self.y + size,
            size,
        };
        self.y += height;
        if !line.text.is_empty()
            && let Some(page) = self.pages.last_mut()
        {
            page.push(line);
        }
        Ok(())
    }

    fn page_break(&mut self) -> Result<()> {
        if self.pages.len() >= self.max_pages {
            return Err(Error::limit(
                self.filename,
                Limit::Pages,
                self.max_pages as u64,
                self.pages.len() as u64 + 1,
            ));
        }
        self.pages.push(Vec::new());
        self.y = MARGIN;
        Ok(())
    }
}

/// Tabs to the next eighth column, control characters away.
fn expand(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut column = 0;
    for ch in text.chars() {
        if ch == '\t' {
            let to = (column / 8 + 1) * 8;
            out.extend(std::iter::repeat_n(' ', to - column));
            column = to;
        } else if !ch.is_control() {
            out.push(ch);
            column += ch.width().unwrap_or(0);
        }
    }
    out
}

/// Lines of at most `columns`, broken at white space where there is some.
fn wrap(text: &str, columns: usize) -> Vec<String> {
    if text.width() <= columns {
        return vec![text.to_owned()];
    }
    let mut lines = Vec::new();
    let mut line = String::new();
    let mut width = 0;
    for word in text.split_inclusive(' ') {
        let word_width = word.trim_end().width();
        if width + word_width > columns && !line.trim().is_empty() {
            lines.push(std::mem::take(&mut line));
            width = 0;
        }
        for ch in word.chars() {
            let ch_width = ch.width().unwrap_or(0);
            if width + ch_width > columns && ch != ' ' {
                lines.push(std::mem::take(&mut line));
                width = 0;
            }
            line.push(ch);
            width += ch_width;
        }
    }
    if !line.is_empty() {
        lines.push(line);
    }
    lines
}

fn table(rows: &[Vec<String>], setter: &mut Setter<'_>) -> Result<()> {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    if columns == 0 {
        return Ok(());
    }
    let mut widths = vec![1; columns];
    for row in rows {
        for (at, cell) in row.iter().enumerate() {
            widths[at] = widths[at].max(expand(cell.trim()).width());
        }
    }
    let gutters = GUTTER * (columns - 1);
    let room = MAX_COLUMNS.saturating_sub(gutters).max(columns);
    // the widest columns give way, one after the other
    while widths.iter().sum::<usize>() > room {
        let Some(widest) = widths.iter().copied().max() else {
            break;
        };
        let second = widths
            .iter()
            .copied()
            .filter(|w| *w < widest)
            .max()
            .unwrap_or(1);
        let many = widths.iter().filter(|w| **w == widest).count();
        let over = widths.iter().sum::<usize>() - room;
        let to = second
            .max(widest.saturating_sub(over.div_ceil(many)))
            .max(1);
        if to == widest {
            break;
        }
        for width in &mut widths {
            if *width == widest {
                *width = to;
            }
        }
    }
    let total = widths.iter().sum::<usize>() + gutters;
    let size = SIZE * (COLUMNS as f64 / total.max(COLUMNS) as f64);
    for row in rows {
        let cells: Vec<Vec<String>> = row
            .iter()
            .zip(&widths)
            .map(|(cell, width)| wrap(expand(cell.trim()).trim(), *width))
            .collect();
        let height = cells.iter().map(Vec::len).max().unwrap_or(1);
        for at in 0..height {
            let mut line = String::new();
            let mut start = 0;
            for (cell, width) in cells.iter().zip(&widths) {
                let gap = start - line.width().min(start);
                line.extend(std::iter::repeat_n(' ', gap));
                line += cell.get(at).map_or("", String::as_str).trim_end();
                start += width + GUTTER;
            }
            setter.put(&line, false, size)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(blocks: Vec<Block>) -> Vec<Vec<Line>> {
        pages("x", &Blocks(blocks), &Options::default()).expect("it fits")
    }

    #[test]
    fn columns_of_a_table_line_up() {
        let rows = vec![
            vec!["Item".to_owned(), "Price".to_owned()],
            vec!["A very long name".to_owned(), "1.50".to_owned()],
        ];
        let lines = &set(vec![Block::Table(rows)])[0];
        assert_eq!(lines[0].text, "Item               Price");
        assert_eq!(lines[1].text, "A very long name   1.50");
    }

    #[test]
    fn long_lines_are_wrapped_at_spaces_and_long_words_cut() {
        let lines = wrap(&"word ".repeat(40), 85);
        assert!(
            lines
                .iter()
                .all(|l| l.trim_end().width() <= 85 && l.starts_with("word"))
        );
        assert_eq!(wrap(&"x".repeat(200), 85).len(), 3);
    }

    #[test]
    fn a_wide_table_is_set_smaller_and_stays_on_the_page() {
        let rows = vec![vec!["w".repeat(60); 5]; 2];
        for line in &set(vec![Block::Table(rows)])[0] {
            let right = line.x + line.text.width() as f64 * line.size * 0.6;
            assert!(right <= PAGE.0 - MARGIN + 1.0, "{right}");
        }
    }

    #[test]
    fn too_many_pages_are_an_error() {
        let options = Options {
            max_pages: 2,
            ..Options::default()
        };
        let blocks = Blocks::of_text(&"line\n".repeat(500));
        assert!(pages("x", &blocks, &options).is_err());
    }
}
