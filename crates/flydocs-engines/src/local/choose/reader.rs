//! What every part of the choice looks at: the document laid out, its labels, its typed values, its parties.

use std::collections::HashMap;

use super::{prose::Prose, section::Sections, text::Stops};
use crate::local::{
    label::{Labels, Lexicon, Query},
    layout::{Document, Span},
    pool::Pool,
    recognise::DayOrder,
    text::fold,
};

/// The document as read so far.
#[derive(Debug)]
pub(crate) struct Reader<'a> {
    pub document: &'a Document,
    pub lexicon: &'static Lexicon,
    pub labels: &'a Labels,
    pub pool: &'a Pool,
    pub sections: Sections,
    pub stops: Stops,
    pub prose: Prose,
    pub order: DayOrder,
    /// The concepts whose label ends right before a token.
    introduced: HashMap<usize, Vec<usize>>,
    rows: Vec<String>,
}

impl<'a> Reader<'a> {
    /// Gathers what the labels say about the document.
    pub(crate) fn new(
        document: &'a Document,
        lexicon: &'static Lexicon,
        labels: &'a Labels,
        pool: &'a Pool,
        order: DayOrder,
    ) -> Self {
        let mut introduced: HashMap<usize, Vec<usize>> = HashMap::new();
        for (concept, found) in labels.of_concept.iter().enumerate() {
            for label in found.iter().filter(|l| !l.hidden && l.strength() > 0.5) {
                let mut at = label.last().last + 1;
                while document.tokens.get(at).is_some_and(|t| {
                    !t.text.chars().any(char::is_alphanumeric)
                        && t.row == document.tokens[label.last().last].row
                }) {
                    at += 1;
                }
                if document
                    .tokens
                    .get(at)
                    .is_some_and(|t| t.row == document.tokens[label.last().last].row)
                {
                    introduced.entry(at).or_default().push(concept);
                }
                if label.last().tail < document.tokens[label.last().last].text.len() {
                    introduced
                        .entry(label.last().last)
                        .or_default()
                        .push(concept);
                }
            }
        }
        Self {
            document,
            lexicon,
            labels,
            pool,
            sections: Sections::new(lexicon, labels),
            stops: Stops::new(document, labels),
            prose: Prose::new(document),
            order,
            introduced,
            rows: document
                .rows
                .iter()
                .map(|r| fold(&document.text(r.tokens.clone())))
                .collect(),
        }
    }

    /// Whether the label right before a value is of another concept than the field's.
    pub(crate) fn claimed_by_other(&self, query: &Query, span: &Span) -> bool {
        self.introduced
            .get(&span.first)
            .is_some_and(|concepts| !concepts.iter().any(|c| Some(*c) == query.concept))
    }

    /// In how many rows a text stands.
    pub(crate) fn mentions(&self, text: &str) -> usize {
        let folded = fold(text);
        self.rows
            .iter()
            .filter(|r| r.contains(&folded))
            .count()
            .saturating_sub(1)
    }

    /// How surely a row is one of totals: it begins with such a label, before the given token.
    pub(crate) fn totals_row(&self, row: usize, before: usize) -> Option<f64> {
        ["total", "net_total", "line_total"]
            .iter()
            .find_map(|name| {
                let (concept, _) = self.lexicon.get(name)?;
                self.labels.of_concept[concept]
                    .iter()
                    .any(|l| {
                        !l.hidden
                            && l.opens
                            && l.share > 0.7
                            && self.document.tokens[l.last().last].row == row
                            && l.last().last < before
                    })
                    .then_some(0.85)
            })
    }
}
