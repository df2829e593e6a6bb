//! What a document says, before it is set on pages.

/// A piece of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Block {
    /// A paragraph or line; long ones are wrapped.
    Line { text: String, bold: bool },
    /// Rows of cells, set as aligned columns.
    Table(Vec<Vec<String>>),
    /// The next block starts a page.
    PageBreak,
}

/// A document as a run of blocks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Blocks(pub(crate) Vec<Block>);

impl Blocks {
    pub(crate) fn line(&mut self, text: impl Into<String>) {
        self.0.push(Block::Line {
            text: text.into(),
            bold: false,
        });
    }

    pub(crate) fn heading(&mut self, text: impl Into<String>) {
        self.0.push(Block::Line {
            text: text.into(),
            bold: true,
        });
    }

    pub(crate) fn is_blank(&self) -> bool {
        self.0.iter().all(|block| match block {
            Block::Line { text, .. } => text.trim().is_empty(),
            Block::Table(rows) => rows.iter().flatten().all(|cell| cell.trim().is_empty()),
            Block::PageBreak => true,
        })
    }

    /// Lines as they stand; a form feed starts a page.
    pub(crate) fn of_text(text: &str) -> Self {
        let mut blocks = Self::default();
        for (at, page) in text.split('\u{c}').enumerate() {
            if at > 0 {
                blocks.0.push(Block::PageBreak);
            }
            for line in page.lines() {
                blocks.line(line);
            }
        }
        blocks
    }

    /// Headings bold, tables as tables, the rest as it stands without its marks.
    pub(crate) fn of_markdown(text: &str) -> Self {
        let mut blocks = Self::default();
        let mut table: Vec<Vec<String>> = Vec::new();
        for line in text.lines() {
            let trimmed = line.trim();
            if trimmed.starts_with('|') {
                let cells: Vec<String> = trimmed
                    .trim_matches('|')
                    .split('|')
                    .map(|cell| without_marks(cell.trim()))
                    .collect();
                let is_rule = cells
                    .iter()
                    .all(|c| c.chars().all(|c| matches!(c, '-' | ':' | ' ')));
                if !is_rule {
                    table.push(cells);
                }
                continue;
            }
            if !table.is_empty() {
                blocks.0.push(Block::Table(std::mem::take(&mut table)));
            }
            if let Some(title) = trimmed.strip_prefix('#') {
                blocks.heading(without_marks(title.trim_start_matches('#').trim()));
            } else {
                blocks.line(without_marks(line));
            }
        }
        if !table.is_empty() {
            blocks.0.push(Block::Table(table));
        }
        blocks
    }
}

fn without_marks(text: &str) -> String {
    text.replace("**", "").replace("__", "").replace('`', "")
}
