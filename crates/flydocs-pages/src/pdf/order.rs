//! Reading order: words to rows, side-by-side blocks one after the other, tables row by row.
//!
//! A page is cut where a band of rows has a common gutter and its two sides were drawn one after the other
//! (columns, address blocks). A band drawn row by row is a table and stays whole.

use kurbo::Rect;

use super::words::{Heading, Piece};
use crate::script::line_order;

/// Beyond this many rows a page is no document to read in columns.
const MAX_ROWS: usize = 500;
const MAX_DEPTH: usize = 12;

/// Index into the pieces and line number, in reading order.
pub(super) fn reading_order(pieces: &[Piece]) -> Vec<(usize, u32)> {
    let mut headings: Vec<(usize, Vec<usize>)> = Heading::ALL
        .into_iter()
        .map(|heading| {
            let of: Vec<usize> = (0..pieces.len())
                .filter(|i| pieces[*i].heading == heading)
                .collect();
            (of.len(), of)
        })
        .collect();
    headings.sort_by_key(|(count, _)| std::cmp::Reverse(*count));
    let mut out = Output::default();
    for (_, members) in headings {
        if members.is_empty() {
            continue;
        }
        let items: Vec<Item> = members.iter().map(|i| Item::new(*i, &pieces[*i])).collect();
        let rows = rows(items);
        emit(rows, &mut out, 0);
    }
    out.words
}

#[derive(Default)]
struct Output {
    words: Vec<(usize, u32)>,
    line: u32,
}

/// A piece in the frame of its own direction: u along the text, v down the lines.
#[derive(Debug, Clone)]
struct Item {
    index: usize,
    u: (f64, f64),
    v: (f64, f64),
    rtl: bool,
    ltr: bool,
    numeric: bool,
}

impl Item {
    fn new(index: usize, piece: &Piece) -> Self {
        let Rect { x0, y0, x1, y1 } = piece.rect;
        let (u, v) = match piece.heading {
            Heading::Right => ((x0, x1), (y0, y1)),
            Heading::Left => ((-x1, -x0), (-y1, -y0)),
            Heading::Down => ((y0, y1), (-x1, -x0)),
            Heading::Up => ((-y1, -y0), (x0, x1)),
        };
        let digits = piece.text.chars().filter(char::is_ascii_digit).count();
        Self {
            index,
            u,
            v,
            rtl: piece.rtl,
            ltr: !piece.rtl && piece.text.contains(char::is_alphabetic),
            numeric: digits * 2 >= piece.text.chars().count(),
        }
    }

    fn height(&self) -> f64 {
        (self.v.1 - self.v.0).max(0.01)
    }

    fn middle(&self) -> f64 {
        f64::midpoint(self.v.0, self.v.1)
    }
}

/// Words on one baseline, from left to right.
#[derive(Debug, Clone, Default)]
struct Row {
    items: Vec<Item>,
    v: (f64, f64),
}

impl Row {
    fn overlap(&self, item: &Item) -> f64 {
        let shared = self.v.1.min(item.v.1) - self.v.0.max(item.v.0);
        shared / (self.v.1 - self.v.0).min(item.height()).max(0.01)
    }

    fn push(&mut self, item: Item) {
        let n = self.items.len() as f64;
        self.v = if self.items.is_empty() {
            item.v
        } else {
            (
                (self.v.0 * n + item.v.0) / (n + 1.0),
                (self.v.1 * n + item.v.1) / (n + 1.0),
            )
        };
        self.items.push(item);
    }

    fn height(&self) -> f64 {
        self.v.1 - self.v.0
    }

    /// Where its first and its last word begin; the words are in order by then.
    fn span(&self) -> (f64, f64) {
        match (self.items.first(), self.items.last()) {
            (Some(first), Some(last)) => (first.u.0, last.u.0),
            _ => (f64::MAX, f64::MIN),
        }
    }

    /// The words that begin left of a gutter, and the others.
    fn sides(&self, gutter: f64) -> [&[Item]; 2] {
        let at = self.items.partition_point(|item| item.u.0 < gutter);
        let (left, right) = self.items.split_at(at);
        [left, right]
    }
}

fn rows(mut items: Vec<Item>) -> Vec<Row> {
    items.sort_by(|a, b| a.middle().total_cmp(&b.middle()));
    let mut rows: Vec<Row> = Vec::new();
    for item in items {
        let from = rows.len().saturating_sub(8);
        let best = rows[from..]
            .iter_mut()
            .map(|row| (row.overlap(&item), row))
            .filter(|(overlap, _)| *overlap >= 0.5)
            .max_by(|a, b| a.0.total_cmp(&b.0));
        if let Some((_, row)) = best {
            row.push(item);
        } else {
            let mut row = Row::default();
            row.push(item);
            rows.push(row);
        }
    }
    for row in &mut rows {
        row.items.sort_by(|a, b| a.u.0.total_cmp(&b.u.0));
    }
    rows.sort_by(|a, b| (a.v.0 + a.v.1).total_cmp(&(b.v.0 + b.v.1)));
    rows
}

fn emit(rows: Vec<Row>, out: &mut Output, depth: usize) {
    if depth < MAX_DEPTH
        && rows.len() <= MAX_ROWS
        && rows.len() >= 2
        && let Some(band) = widest_band(&rows)
    {
        let mut rows = rows;
        let after = rows.split_off(band.to);
        let inside = rows.split_off(band.from);
        emit(rows, out, depth + 1);
        let (left, right) = split(inside, band.gutter);
        let first_right = mostly_rtl(&left) && mostly_rtl(&right);
        let (first, second) = if first_right {
            (right, left)
        } else {
            (left, right)
        };
        emit(first, out, depth + 1);
        emit(second, out, depth + 1);
        emit(after, out, depth + 1);
        return;
    }
    for row in rows {
        let rtl: Vec<bool> = row.items.iter().map(|i| i.rtl).collect();
        let ltr: Vec<bool> = row.items.iter().map(|i| i.ltr).collect();
        for at in line_order(&rtl, &ltr) {
            out.words.push((row.items[at].index, out.line));
        }
        out.line += 1;
    }
}

fn mostly_rtl(rows: &[Row]) -> bool {
    let (mut rtl, mut all) = (0, 0);
    for item in rows.iter().flat_map(|r| &r.items) {
        all += 1;
        rtl += usize::from(item.rtl);
    }
    rtl * 2 > all
}

struct Band {
    from: usize,
    to: usize,
    gutter: f64,
}

/// The longest run of rows with a gutter that separates blocks to be read one after the other.
fn widest_band(rows: &[Row]) -> Option<Band> {
    let mut heights: Vec<f64> = rows.iter().map(Row::height).collect();
    heights.sort_by(f64::total_cmp);
    let height = heights[heights.len() / 2].max(0.1);
    let edge = rows
        .iter()
        .flat_map(|r| &r.items)
        .fold((f64::MAX, f64::MIN), |e, i| {
            (e.0.min(i.u.0), e.1.max(i.u.1))
        });
    let gaps: Vec<Vec<(f64, f64)>> = rows.iter().map(|row| gaps(row, edge, height)).collect();
    let mut best: Option<Band> = None;
    let mut from = 0;
    while from < rows.len() {
        let (to, common) = extend(rows, &gaps, from, height);
        for gutter in common {
            let middle = f64::midpoint(gutter.0, gutter.1);
            let Some((from, to)) = trim(rows, from, to, middle, height) else {
                continue;
            };
            let longer = best.as_ref().is_none_or(|b| to - from > b.to - b.from);
            if longer && are_blocks(&rows[from..to], middle) {
                best = Some(Band {
                    from,
                    to,
                    gutter: middle,
                });
            }
        }
        from += 1;
    }
    best
}

/// White stretches of a row at least one line high wide, edges included.
fn gaps(row: &Row, edge: (f64, f64), height: f64) -> Vec<(f64, f64)> {
    let mut gaps = Vec::new();
    let mut at = edge.0 - height;
    for item in &row.items {
        if item.u.0 - at >= height * 0.9 {
            gaps.push((at, item.u.0));
        }
        at = at.max(item.u.1);
    }
    if edge.1 + height - at >= height * 0.9 {
        gaps.push((at, edge.1 + height));
    }
    gaps
}

/// As far down as some gap is common to all rows; the common gaps.
fn extend(
    rows: &[Row],
    gaps: &[Vec<(f64, f64)>],
    from: usize,
    height: f64,
) -> (usize, Vec<(f64, f64)>) {
    let mut common = gaps[from].clone();
    let mut to = from + 1;
    // where the leftmost and the rightmost word of these rows begin
    let mut span = rows[from].span();
    while to < rows.len() {
        // a hole in the page ends the band
        if rows[to].v.0 - rows[to - 1].v.1 > height * 4.0 {
            break;
        }
        let own = rows[to].span();
        let both = (span.0.min(own.0), span.1.max(own.1));
        let next: Vec<(f64, f64)> = common
            .iter()
            .flat_map(|a| {
                gaps[to].iter().filter_map(move |b| {
                    let cut = (a.0.max(b.0), a.1.min(b.1));
                    (cut.1 - cut.0 >= height * 0.9).then_some(cut)
                })
            })
            .filter(|gutter| {
                let middle = f64::midpoint(gutter.0, gutter.1);
                both.0 < middle && both.1 > middle
            })
            .collect();
        if next.is_empty() {
            break;
        }
        span = both;
        common = next;
        to += 1;
    }
    (to, common)
}

/// Drops rows with text on one side only that stand apart at either end.
fn trim(
    rows: &[Row],
    mut from: usize,
    mut to: usize,
    gutter: f64,
    height: f64,
) -> Option<(usize, usize)> {
    let two_sided = |row: &Row| {
        row.items.iter().any(|i| i.u.0 < gutter) && row.items.iter().any(|i| i.u.0 > gutter)
    };
    let apart = |a: usize, b: usize| rows[b].v.0 - rows[a].v.1 > height * 0.9;
    while from + 1 < to && !two_sided(&rows[from]) && apart(from, from + 1) {
        from += 1;
    }
    while to > from + 1 && !two_sided(&rows[to - 1]) && apart(to - 2, to - 1) {
        to -= 1;
    }
    (to - from >= 2).then_some((from, to))
}

/// True when the two sides are read one after the other.
fn are_blocks(band: &[Row], gutter: f64) -> bool {
    let (mut left, mut right, mut both) = (0, 0, 0);
    let mut thin = [0_usize; 2];
    for row in band {
        let sides = row.sides(gutter);
        left += usize::from(!sides[0].is_empty());
        right += usize::from(!sides[1].is_empty());
        both += usize::from(!sides[0].is_empty() && !sides[1].is_empty());
        for (side, items) in sides.iter().enumerate() {
            let is_thin = items.len() == 1 || items.iter().all(|i| i.numeric);
            thin[side] += usize::from(!items.is_empty() && is_thin);
        }
    }
    if left < 2 || right < 2 {
        return false;
    }
    // baselines that do not meet: nothing is read across
    if both * 10 <= left.min(right) * 3 {
        return true;
    }
    if changes(band, gutter) > 1 + both / 4 {
        return false;
    }
    // labels beside their values, or columns of figures, although drawn one after the other
    let figures = thin[0] * 10 >= left * 7 || thin[1] * 10 >= right * 7;
    !(figures && both * 10 >= left.max(right) * 7)
}

/// How often the drawing of the band goes from one side to the other.
fn changes(band: &[Row], gutter: f64) -> usize {
    let items = || band.iter().flat_map(|row| &row.items);
    let (Some(first), Some(last)) = (
        items().map(|item| item.index).min(),
        items().map(|item| item.index).max(),
    ) else {
        return 0;
    };
    let mut sides = vec![None; last - first + 1];
    for item in items() {
        sides[item.index - first] = Some(item.u.0 < gutter);
    }
    let mut drawn = sides.into_iter().flatten();
    let Some(mut side) = drawn.next() else {
        return 0;
    };
    let mut changes = 0;
    for next in drawn {
        changes += usize::from(next != side);
        side = next;
    }
    changes
}

fn split(rows: Vec<Row>, gutter: f64) -> (Vec<Row>, Vec<Row>) {
    let (mut left, mut right) = (Vec::new(), Vec::new());
    for row in rows {
        let (mut l, mut r) = (Row::default(), Row::default());
        for item in row.items {
            if item.u.0 < gutter {
                l.push(item);
            } else {
                r.push(item);
            }
        }
        if !l.items.is_empty() {
            left.push(l);
        }
        if !r.items.is_empty() {
            right.push(r);
        }
    }
    (left, right)
}
