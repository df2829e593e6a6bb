//! Drawn boxes of a form: the cell a label shares with its value, and the small squares to tick.

use flydocs_contract::Rect;

use super::Document;
use crate::local::recognise::{Tick, tick_of};

/// More squares than this on a page are a pattern or a drawing, and no boxes to tick.
const MOST_SQUARES: usize = 400;

/// A small square to tick.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CheckBox {
    /// Its outline, page units.
    pub rect: Rect,
    /// Ticked or empty.
    pub tick: Tick,
    /// The word that ticks it.
    pub mark: Option<usize>,
}

impl Document {
    /// Whether a value stands below its label in the same drawn box, the label at the box's top.
    pub(crate) fn shares_cell(&self, page: usize, label: &Rect, value: &Rect) -> bool {
        let em = self.pages[page].em;
        self.pages[page].rulings.iter().any(|cell| {
            cell.height() < 6.0 * em
                && cell.height() > label.height() + 0.8 * em
                && label.ymin - cell.ymin < 1.2 * em
                && value.ymin > label.center().1
                && holds(cell, label, 0.2 * em)
                && holds(cell, value, 0.2 * em)
        })
    }

    /// The squares to tick on a page. Rows of adjoining squares, one a letter, are none.
    pub(crate) fn check_boxes(&self, page: usize) -> Vec<CheckBox> {
        let em = self.pages[page].em;
        let mut squares: Vec<Rect> = Vec::new();
        for r in &self.pages[page].rulings {
            let (w, h) = (r.width(), r.height());
            let fits = |side: f64| side > 0.55 * em && side < 2.0 * em;
            let known = squares.iter().any(|s| {
                (s.center().0 - r.center().0).abs() < 0.3 * em
                    && (s.center().1 - r.center().1).abs() < 0.3 * em
            });
            if fits(w) && fits(h) && (w - h).abs() < 0.25 * w.max(h) && !known {
                squares.push(*r);
            }
            if squares.len() > MOST_SQUARES {
                return Vec::new();
            }
        }
        let lonely = |s: &Rect| {
            !squares.iter().any(|o| {
                let gap = (o.xmin - s.xmax).max(s.xmin - o.xmax);
                let level = (o.center().1 - s.center().1).abs() < 0.5 * em;
                level && gap < 0.3 * em && (o.xmin - s.xmin).abs() > 0.3 * em
            })
        };
        squares
            .iter()
            .filter(|s| lonely(s))
            .filter_map(|s| self.check_box(page, s))
            .collect()
    }

    /// The square with what stands in it; `None` when that is no mark.
    fn check_box(&self, page: usize, square: &Rect) -> Option<CheckBox> {
        let rows = self.pages[page].rows.clone();
        let tokens = rows.flat_map(|r| self.rows[r].tokens.clone());
        let mut found = CheckBox {
            rect: *square,
            tick: Tick::Off,
            mark: None,
        };
        for at in tokens {
            let (x, y) = self.tokens[at].rect.center();
            if x < square.xmin || x > square.xmax || y < square.ymin || y > square.ymax {
                continue;
            }
            match tick_of(&self.tokens[at], !self.recognised(page))? {
                Tick::On => found.tick = Tick::On,
                Tick::Off => {}
            }
            found.mark = Some(at);
        }
        Some(found)
    }
}

fn holds(cell: &Rect, inner: &Rect, slack: f64) -> bool {
    cell.xmin - slack < inner.xmin
        && inner.xmax < cell.xmax + slack
        && cell.ymin - slack < inner.ymin
        && inner.ymax < cell.ymax + slack
}
