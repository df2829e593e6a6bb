//! A span: some words of one row, the first and the last perhaps only in part.

use flydocs_contract::Rect;

use super::{Document, widths};

/// Part of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Span {
    /// First token.
    pub first: usize,
    /// Last token, inclusive.
    pub last: usize,
    /// First byte in the first token.
    pub head: usize,
    /// First byte after it in the last token.
    pub tail: usize,
}

impl Span {
    /// Whole tokens.
    pub(crate) fn whole(document: &Document, first: usize, last: usize) -> Self {
        Self {
            first,
            last,
            head: 0,
            tail: document.tokens[last].text.len(),
        }
    }

    /// The text, one space between words.
    pub(crate) fn text(&self, document: &Document) -> String {
        let mut text = String::new();
        for at in self.first..=self.last {
            let token = &document.tokens[at].text;
            let start = if at == self.first { self.head } else { 0 };
            let end = if at == self.last {
                self.tail
            } else {
                token.len()
            };
            if !text.is_empty() {
                text.push(' ');
            }
            text.push_str(token.get(start..end).unwrap_or_default());
        }
        text
    }

    /// Its box in page units. Of a word's part it reaches as far as the letters may in any face: a box that cuts a
    /// letter of its value is worse than one that has some of the full stop behind it.
    pub(crate) fn rect(&self, document: &Document) -> Rect {
        let mut rect = document.rect(self.first..self.last + 1);
        let (first, last) = (&document.tokens[self.first], &document.tokens[self.last]);
        if self.head > 0 {
            let [wide, even] = widths::before(&first.text, self.head);
            rect.xmin = first.rect.xmin + wide.min(even) * first.rect.width();
        }
        if self.tail < last.text.len() {
            let [wide, even] = widths::before(&last.text, self.tail);
            rect.xmax = last.rect.xmin + wide.max(even) * last.rect.width();
        }
        rect
    }

    /// Whether two spans share a word's letters.
    pub(crate) fn overlaps(&self, other: &Self) -> bool {
        let before =
            |a: &Self, b: &Self| a.last < b.first || (a.last == b.first && a.tail <= b.head);
        !before(self, other) && !before(other, self)
    }

    /// Whether every letter of the other is in this one.
    pub(crate) fn contains(&self, other: &Self) -> bool {
        (self.first, self.head) <= (other.first, other.head)
            && (other.last, other.tail) <= (self.last, self.tail)
    }

    /// How surely all its words were recognised right; 1 for a text layer. A recogniser gives clean words 0.96.
    pub(crate) fn certainty(&self, document: &Document) -> f64 {
        document.tokens[self.first..=self.last]
            .iter()
            .filter_map(|t| t.confidence)
            .map(|c| (f64::from(c) / 0.96).clamp(0.05, 1.0))
            .product()
    }
}
