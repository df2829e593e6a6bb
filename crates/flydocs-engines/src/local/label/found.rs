//! A label where the document uses it.

use flydocs_contract::Rect;

use crate::local::layout::Span;

/// A label as it stands on a page.
#[derive(Debug, Clone)]
pub(crate) struct Label {
    /// Its words; a second span when it goes on below.
    pub parts: Vec<Span>,
    /// Around its words.
    pub rect: Rect,
    /// Index of its page.
    pub page: usize,
    /// How surely this phrase labels the value.
    pub weight: f64,
    /// How well the words match the phrase.
    pub score: f64,
    /// How much of its run, up to a colon, it is; less when other words stand before or after it.
    pub share: f64,
    /// A longer label of something else covers it.
    pub hidden: bool,
    /// Letters of the phrase.
    pub letters: usize,
    /// A colon, a dash or the end of the run follows.
    pub closed: bool,
    /// It begins its run.
    pub opens: bool,
    /// Every word of the phrase stands there, one after the other.
    pub exact: bool,
}

impl Label {
    /// The last part: values stand to its right or below.
    pub(crate) fn last(&self) -> &Span {
        &self.parts[self.parts.len() - 1]
    }

    /// The first part.
    pub(crate) fn first(&self) -> &Span {
        &self.parts[0]
    }

    /// How surely it is a label of the value, all in all.
    pub(crate) fn strength(&self) -> f64 {
        let hidden = if self.hidden { 0.25 } else { 1.0 };
        let inside = if self.opens { 1.0 } else { 0.85 };
        self.weight * self.score * (0.55 + 0.45 * self.share) * hidden * inside
    }
}

/// All labels of a document.
#[derive(Debug, Default)]
pub(crate) struct Labels {
    /// By query, strongest first.
    pub of_query: Vec<Vec<Label>>,
    /// By concept of the lexicon.
    pub of_concept: Vec<Vec<Label>>,
    /// For each token, how many labels of any kind cover it (hidden ones do not count).
    pub covered: Vec<bool>,
}
