//! Blocks: runs that stand close below each other with a common edge (an address, a paragraph, a cell of
//! several lines).

use flydocs_contract::Rect;

use super::Document;

/// Lines of text that belong together, from top to bottom.
#[derive(Debug, Clone)]
pub(crate) struct Block {
    /// Its runs, from top to bottom.
    pub runs: Vec<usize>,
    /// Index of its page.
    pub page: usize,
    /// Around its runs.
    pub rect: Rect,
}

/// The blocks of all pages, in order of their first line.
pub(crate) fn blocks_of(document: &Document) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    for (at, run) in document.runs.iter().enumerate() {
        let page = document.rows[run.row].page;
        let em = document.pages[page].em;
        let height = run.rect.height();
        let home = blocks.iter_mut().rev().take(40).find(|block| {
            let Some(last) = block.runs.last().map(|r| &document.runs[*r].rect) else {
                return false;
            };
            let white = run.rect.ymin - last.ymax;
            let pitch = run.rect.ymin - last.ymin;
            block.page == page
                && pitch > 0.3 * em
                && white < 0.75 * em.max(height)
                && white > -0.6 * em
                && (height / last.height().max(0.1)).clamp(0.0, 9.0) < 1.8
                && (last.height() / height.max(0.1)) < 1.8
                && aligned(last, &run.rect, em)
        });
        match home {
            Some(block) => {
                block.runs.push(at);
                block.rect = block.rect.union(&run.rect);
            }
            None => blocks.push(Block {
                runs: vec![at],
                page,
                rect: run.rect,
            }),
        }
    }
    blocks
}

/// A common left edge, right edge or middle.
fn aligned(a: &Rect, b: &Rect, em: f64) -> bool {
    let overlap = a.xmax.min(b.xmax) - a.xmin.max(b.xmin);
    let left = (a.xmin - b.xmin).abs() < 0.8 * em;
    let right = (a.xmax - b.xmax).abs() < 0.8 * em;
    let middle = (a.center().0 - b.center().0).abs() < 1.0 * em;
    overlap > 0.0 && (left || right || middle)
}
