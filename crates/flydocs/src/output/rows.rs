//! Text in columns: wrapped at words, measured as a terminal shows it.

use console::measure_text_width;

/// Which side a column leans on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lean {
    /// Texts.
    Left,
    /// Numbers.
    Right,
}

/// Fills up with spaces to a width.
pub(crate) fn pad(text: &str, width: usize, lean: Lean) -> String {
    let gap = " ".repeat(width.saturating_sub(measure_text_width(text)));
    match lean {
        Lean::Left => format!("{text}{gap}"),
        Lean::Right => format!("{gap}{text}"),
    }
}

/// Breaks a text into lines no wider than `width`, at words where it can.
pub(crate) fn wrap(text: &str, width: usize) -> Vec<String> {
    let width = width.max(1);
    let mut lines = Vec::new();
    for paragraph in text.split(['\n', '\r']) {
        let mut line = String::new();
        for word in paragraph.split_whitespace() {
            let mut word = word.to_owned();
            let gap = usize::from(!line.is_empty());
            if measure_text_width(&line) + gap + measure_text_width(&word) <= width {
                if gap == 1 {
                    line.push(' ');
                }
                line.push_str(&word);
                continue;
            }
            if !line.is_empty() {
                lines.push(std::mem::take(&mut line));
            }
            while measure_text_width(&word) > width {
                let (head, tail) = cut(&word, width);
                lines.push(head);
                word = tail;
            }
            line = word;
        }
        if !line.is_empty() {
            lines.push(line);
        }
    }
    if lines.is_empty() {
        lines.push(String::new());
    }
    lines
}

fn cut(word: &str, width: usize) -> (String, String) {
    let mut head = String::new();
    let mut rest = word.chars();
    while let Some(letter) = rest.clone().next() {
        let mut longer = head.clone();
        longer.push(letter);
        if measure_text_width(&longer) > width && !head.is_empty() {
            break;
        }
        head = longer;
        rest.next();
    }
    (head, rest.collect())
}

/// A small table without lines: as wide as it needs, no wider than it may.
#[derive(Debug)]
pub(crate) struct Grid {
    leans: Vec<Lean>,
    whole: Option<usize>,
    rows: Vec<Vec<String>>,
}

const GAP: usize = 2;
const NARROWEST: usize = 4;

impl Grid {
    /// With a lean for each column.
    pub(crate) fn new(leans: Vec<Lean>) -> Self {
        Self {
            leans,
            whole: None,
            rows: Vec::new(),
        }
    }

    /// A column that is never made narrower, such as ids that are copied.
    pub(crate) const fn keep_whole(mut self, column: usize) -> Self {
        self.whole = Some(column);
        self
    }

    /// Adds a row.
    pub(crate) fn row(&mut self, cells: Vec<String>) {
        self.rows.push(cells);
    }

    /// The lines of every row, by row.
    pub(crate) fn lines(&self, width: usize) -> Vec<Vec<String>> {
        let widths = self.widths(width);
        self.rows
            .iter()
            .map(|row| {
                let cells: Vec<Vec<String>> = row
                    .iter()
                    .zip(&widths)
                    .map(|(cell, width)| {
                        if measure_text_width(cell) <= *width {
                            vec![cell.clone()]
                        } else {
                            wrap(&console::strip_ansi_codes(cell), *width)
                        }
                    })
                    .collect();
                let height = cells.iter().map(Vec::len).max().unwrap_or(1);
                (0..height).map(|i| self.line(&cells, &widths, i)).collect()
            })
            .collect()
    }

    fn line(&self, cells: &[Vec<String>], widths: &[usize], i: usize) -> String {
        let mut line = String::new();
        for ((cell, width), lean) in cells.iter().zip(widths).zip(&self.leans) {
            let text = cell.get(i).map_or("", String::as_str);
            line.push_str(&pad(text, *width, *lean));
            line.push_str(&" ".repeat(GAP));
        }
        line.trim_end().to_owned()
    }

    /// What every column gets: what it needs, or less for the widest.
    fn widths(&self, width: usize) -> Vec<usize> {
        let mut widths: Vec<usize> = (0..self.leans.len())
            .map(|i| {
                let cells = self.rows.iter().filter_map(|row| row.get(i));
                cells
                    .map(|cell| measure_text_width(cell))
                    .max()
                    .unwrap_or(0)
            })
            .collect();
        let room = width.saturating_sub(GAP * widths.len().saturating_sub(1));
        while widths.iter().sum::<usize>() > room {
            let flexible = widths.iter_mut().enumerate();
            let widest = flexible
                .filter(|(i, _)| self.whole != Some(*i))
                .map(|(_, width)| width)
                .max();
            match widest {
                Some(widest) if *widest > NARROWEST => *widest -= 1,
                _ => break,
            }
        }
        widths
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_wraps_at_words_and_cuts_only_what_is_too_long() {
        assert_eq!(wrap("a quick brown fox", 7), ["a quick", "brown", "fox"]);
        assert_eq!(wrap("incomprehensible", 6), ["incomp", "rehens", "ible"]);
        assert_eq!(wrap("", 5), [""]);
        assert_eq!(wrap("日本語テキスト", 6), ["日本語", "テキス", "ト"]);
    }

    #[test]
    fn a_grid_takes_from_the_widest_column_first() {
        let mut grid = Grid::new(vec![Lean::Left, Lean::Right]);
        grid.row(vec!["a rather long text".into(), "1.00".into()]);
        grid.row(vec!["b".into(), "10.00".into()]);
        let lines = grid.lines(17).concat();
        assert_eq!(
            lines,
            ["a rather     1.00", "long text", "b           10.00"]
        );
    }
}
