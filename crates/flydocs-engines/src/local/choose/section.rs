//! Which party a place is about: the nearest label of a party above it or on its row.

use std::cmp::Ordering;

use crate::local::{
    label::{ConceptKind, Label, Labels, Lexicon, Role},
    layout::{Document, Span},
};

/// The labels of the parties of a document.
#[derive(Debug, Default)]
pub(crate) struct Sections {
    headings: Vec<(Role, Label)>,
}

impl Sections {
    /// Takes the role labels that stand as headings or before a colon.
    pub(crate) fn new(lexicon: &Lexicon, labels: &Labels) -> Self {
        let mut headings = Vec::new();
        for (role, concept) in lexicon.concepts.iter().enumerate() {
            if concept.kind != ConceptKind::Role {
                continue;
            }
            for label in &labels.of_concept[role] {
                let whole = label.share > 0.6 || (label.share > 0.4 && label.letters > 8);
                if !label.hidden && label.opens && whole && (label.closed || label.share > 0.9) {
                    headings.push((role, label.clone()));
                }
            }
        }
        Self { headings }
    }

    /// The headings of one party.
    pub(crate) fn of(&self, role: Role) -> impl Iterator<Item = &Label> {
        self.headings
            .iter()
            .filter(move |(r, _)| *r == role)
            .map(|(_, l)| l)
    }

    /// The party a place belongs to, and how closely (1 on the heading's row, less below it).
    pub(crate) fn role_at(&self, document: &Document, span: &Span) -> Option<(Role, f64)> {
        self.heading_of(document, span)
            .map(|(role, close, _)| (role, close))
    }

    /// The same with the heading that says so.
    pub(crate) fn heading_of(
        &self,
        document: &Document,
        span: &Span,
    ) -> Option<(Role, f64, &Label)> {
        let token = &document.tokens[span.first];
        let em = document.em(span.first);
        let mut best: Option<(f64, Role, f64, &Label)> = None;
        for (role, label) in &self.headings {
            if label.page != token.page {
                continue;
            }
            let row = document.tokens[label.first().first].row;
            let (distance, close) = match row.cmp(&token.row) {
                Ordering::Equal => {
                    if token.rect.xmin < label.rect.xmin {
                        continue;
                    }
                    let gap = (token.rect.xmin - label.rect.xmax) / em;
                    (0.05 * gap.max(0.0), 1.0)
                }
                Ordering::Less => {
                    let drop = (token.rect.ymin - label.rect.ymax) / em;
                    let aside = (label.rect.xmin - token.rect.xmin) / em;
                    if drop > 26.0 || aside > 3.0 {
                        continue;
                    }
                    let sideways = ((token.rect.xmin - label.rect.xmax) / em).max(0.0);
                    (drop + 0.25 * sideways, (1.0 - 0.025 * drop).max(0.3))
                }
                Ordering::Greater => continue,
            };
            if best.is_none_or(|(d, _, _, _)| distance < d) {
                best = Some((distance, *role, close, label));
            }
        }
        best.map(|(_, role, close, label)| (role, close, label))
    }
}

/// A party named in the words around a label, on its own run ("Customer VAT no.").
pub(crate) fn role_beside(
    document: &Document,
    lexicon: &Lexicon,
    labels: &Labels,
    label: &Label,
) -> Option<Role> {
    let run = document.tokens[label.first().first].run;
    lexicon
        .concepts
        .iter()
        .enumerate()
        .find_map(|(role, concept)| {
            let named = concept.kind == ConceptKind::Role
                && labels.of_concept[role].iter().any(|l| {
                    l.letters > 3
                        && l.first()
                            .first
                            .abs_diff(label.last().last)
                            .min(label.first().first.abs_diff(l.last().last))
                            <= 1
                        && document.tokens[l.first().first].run == run
                });
            named.then_some(role)
        })
}
