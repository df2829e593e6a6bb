//! A candidate: a place on the page that can be a field's value, what speaks for it, and how much.

use flydocs_contract::{FieldValue, Rect};

use crate::local::layout::{Document, Span};

/// How a value stands to its label.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Place {
    /// On the label's row, to its right.
    Right,
    /// Under the label.
    Below,
    /// Over the label, as on a signature line.
    Above,
    /// In the part of the page that a label heads.
    Section,
    /// In a column that a label heads, in a row of totals.
    Column,
    /// A sentence says so.
    Sentence,
    /// Where such a value usually stands, without a label.
    Unlabelled,
    /// The value of another field.
    Borrowed,
}

/// Why a candidate has its score.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Evidence {
    /// The label as printed.
    pub label: Option<String>,
    /// How surely that is a label of the field, 0 to 1.
    pub label_strength: f64,
    /// Where the value stands.
    pub place: Place,
    /// How well it stands there, 0 to 1.
    pub place_score: f64,
    /// How well its form fits, 0 to 1.
    pub form: f64,
    /// Checks that hold (check digits, sums).
    pub checked: bool,
    /// Remarks for a reader of the explanation.
    pub notes: Vec<&'static str>,
}

impl Evidence {
    /// A value that no label points at.
    pub(crate) const fn unlabelled(place: Place, form: f64) -> Self {
        Self {
            label: None,
            label_strength: 0.0,
            place,
            place_score: 0.5,
            form,
            checked: false,
            notes: Vec::new(),
        }
    }
}

/// A possible value of a field.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Candidate {
    /// Where it stands; several spans for several lines.
    pub spans: Vec<Span>,
    /// The value, normalised.
    pub value: FieldValue,
    /// As printed.
    pub text: String,
    /// Around its spans, page units.
    pub rect: Rect,
    /// Index of its page.
    pub page: usize,
    /// 0 to 1.
    pub score: f64,
    /// Why.
    pub evidence: Evidence,
}

impl Candidate {
    /// A candidate from its spans; `None` without any.
    pub(crate) fn new(
        document: &Document,
        spans: Vec<Span>,
        value: FieldValue,
        score: f64,
        evidence: Evidence,
    ) -> Option<Self> {
        let first = spans.first()?;
        let page = document.tokens.get(first.first)?.page;
        let rect = spans
            .iter()
            .map(|s| s.rect(document))
            .reduce(|a, b| a.union(&b))?;
        let text = spans
            .iter()
            .map(|s| s.text(document))
            .collect::<Vec<_>>()
            .join(" ");
        Some(Self {
            spans,
            value,
            text,
            rect,
            page,
            score,
            evidence,
        })
    }

    /// A text candidate, its value the text as printed.
    pub(crate) fn text(
        document: &Document,
        spans: Vec<Span>,
        score: f64,
        evidence: Evidence,
    ) -> Option<Self> {
        let mut candidate =
            Self::new(document, spans, FieldValue::Boolean(false), score, evidence)?;
        candidate.value = FieldValue::String(candidate.text.clone());
        Some(candidate)
    }

    /// Whether two candidates share letters.
    pub(crate) fn overlaps(&self, other: &Self) -> bool {
        self.spans
            .iter()
            .any(|a| other.spans.iter().any(|b| a.overlaps(b)))
    }
}

/// Puts the best first and keeps one of those that say the same at the same place.
pub(crate) fn rank(candidates: &mut Vec<Candidate>) {
    candidates.sort_by(|a, b| b.score.total_cmp(&a.score));
    let mut kept: Vec<Candidate> = Vec::with_capacity(candidates.len().min(12));
    for candidate in candidates.drain(..) {
        if kept.len() >= 12 {
            break;
        }
        if !kept.iter().any(|k| k.spans == candidate.spans) {
            kept.push(candidate);
        }
    }
    *candidates = kept;
}
