//! What every part of the choice looks at: the document laid out, its labels, its typed values, its parties.

use std::collections::{HashMap, HashSet};

use super::{prose::Prose, section::Sections, text::Stops};
use crate::local::{
    label::{ConceptKind, Kind, Label, Labels, Lexicon, Query},
    layout::{Document, Span},
    pool::Pool,
    recognise::DayOrder,
    text::fold,
};

/// Whether values of a concept's kind can be mistaken for those of a field's.
const fn kin(kind: Kind, concept: ConceptKind) -> bool {
    use ConceptKind as C;
    match kind {
        Kind::Date => matches!(concept, C::Date),
        Kind::Amount | Kind::Integer | Kind::Percent => {
            matches!(concept, C::Amount | C::Number | C::Percent)
        }
        Kind::Identifier | Kind::Vat | Kind::TaxNumber | Kind::Iban | Kind::Bic => matches!(
            concept,
            C::Identifier | C::Vat | C::TaxNumber | C::Phone | C::Iban | C::Bic | C::Date
        ),
        _ => true,
    }
}

/// The bare numbers right before a label of the schema.
fn ordinals(document: &Document, labels: &Labels) -> HashSet<usize> {
    let mut found = HashSet::new();
    for label in labels
        .of_query
        .iter()
        .flatten()
        .filter(|l| l.letters > 4 && l.strength() > 0.3)
    {
        let first = label.first().first;
        let Some(at) = first.checked_sub(1).filter(|_| label.first().head == 0) else {
            continue;
        };
        let (token, head) = (&document.tokens[at], &document.tokens[first]);
        let bare = token.text.trim_end_matches(['.', ')']);
        let number = !bare.is_empty()
            && bare.len() <= 3
            && bare.chars().all(|c| c.is_ascii_alphanumeric())
            && bare.starts_with(|c: char| c.is_ascii_digit());
        if number
            && token.row == head.row
            && head.rect.xmin - token.rect.xmax < 2.5 * document.em(at)
        {
            found.insert(at);
        }
    }
    found
}

/// Rows with the labels of three columns or more.
fn header_rows(document: &Document, lexicon: &Lexicon, labels: &Labels) -> HashSet<usize> {
    let mut columns: HashMap<usize, HashSet<usize>> = HashMap::new();
    for (concept, found) in labels.of_concept.iter().enumerate() {
        let name = lexicon.concepts[concept].name.as_str();
        if !name.starts_with("line_") && !matches!(name, "quantity" | "unit_price" | "unit") {
            continue;
        }
        for label in found.iter().filter(|l| l.opens && l.share > 0.7) {
            let row = document.tokens[label.first().first].row;
            columns.entry(row).or_default().insert(label.first().first);
        }
    }
    columns
        .into_iter()
        .filter(|(_, labels)| labels.len() >= 3)
        .map(|(row, _)| row)
        .collect()
}

/// The words of the labels of parties that stand as headings.
fn headings(lexicon: &Lexicon, labels: &Labels) -> HashSet<usize> {
    let mut found = HashSet::new();
    for (concept, of) in labels.of_concept.iter().enumerate() {
        if lexicon.concepts[concept].kind != ConceptKind::Role {
            continue;
        }
        for label in of.iter().filter(|l| l.opens && l.share > 0.8) {
            for part in &label.parts {
                found.extend(part.first..=part.last);
            }
        }
    }
    found
}

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
    /// Numbers in front of labels of the schema ("4 Federal income tax").
    pub ordinals: HashSet<usize>,
    /// Rows that name the columns of a table.
    pub header_rows: HashSet<usize>,
    /// Words of the headings of parties.
    pub headings: HashSet<usize>,
    /// The concepts the schema asks for.
    pub asked: Vec<&'static str>,
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
        asked: Vec<&'static str>,
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
            ordinals: ordinals(document, labels),
            header_rows: header_rows(document, lexicon, labels),
            headings: headings(lexicon, labels),
            asked,
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
        let alike = |c: usize| kin(query.kind, self.lexicon.concepts[c].kind);
        self.introduced.get(&span.first).is_some_and(|concepts| {
            !concepts.iter().any(|c| Some(*c) == query.concept)
                && concepts.iter().any(|c| alike(*c))
        })
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

    /// The label of the document's own number, when it opens the row of a date ("Invoice 12 of 3 May 2020").
    pub(crate) fn numbered_before(&self, date: &Span) -> Option<&Label> {
        let row = self.document.tokens[date.first].row;
        let (concept, _) = self.lexicon.get("invoice_number")?;
        self.labels.of_concept[concept].iter().find(|l| {
            !l.hidden
                && l.opens
                && self.document.tokens[l.last().last].row == row
                && l.last().last + 1 < date.first
                && date.first - l.last().last < 9
                && self.document.tokens[l.first().first].run == self.document.rows[row].runs.start
                && (l.last().last + 1..date.first).any(|t| {
                    self.document.tokens[t]
                        .text
                        .chars()
                        .any(|c| c.is_ascii_digit())
                })
        })
    }

    /// Whether another label stands in a run of its own beside this one: the head of a table, however small.
    pub(crate) fn heads_columns(&self, label: &Label) -> bool {
        let document = self.document;
        let first = &document.tokens[label.first().first];
        document.rows[first.row].runs.clone().any(|run| {
            let run = &document.runs[run];
            !run.tokens.contains(&label.first().first)
                && !document.tokens[run.tokens.clone()]
                    .iter()
                    .any(|t| t.text.chars().any(|c| c.is_ascii_digit()))
                && run.tokens.clone().any(|t| self.labels.covered[t])
        })
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
