//! What the calibration knows about a value.

use crate::local::{
    choose::{Candidate, Place},
    label::{Kind, Query},
    layout::Document,
};

/// The names of the features, in order.
pub(crate) const NAMES: [&str; 14] = [
    "bias",
    "score",
    "margin",
    "label",
    "place",
    "form",
    "checked",
    "recognised",
    "doubt",
    "free_text",
    "party",
    "unlabelled",
    "column",
    "lines",
];

/// The features of one value.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Features(pub(crate) [f64; 14]);

impl Features {
    /// The chance that a recognised word of the value was misread.
    pub(crate) const fn doubt(&self) -> f64 {
        self.0[8]
    }

    /// Each with its name.
    pub(crate) fn named(&self) -> impl Iterator<Item = (&'static str, f64)> + '_ {
        NAMES.into_iter().zip(self.0)
    }
    /// Of a chosen candidate; `runner_up` is the score of the best other value.
    pub(crate) fn new(
        document: &Document,
        query: &Query,
        candidate: &Candidate,
        runner_up: f64,
    ) -> Self {
        let evidence = &candidate.evidence;
        let yes = |b: bool| f64::from(u8::from(b));
        let doubt = 1.0
            - candidate
                .spans
                .iter()
                .map(|s| s.certainty(document))
                .product::<f64>();
        Self([
            1.0,
            candidate.score.min(1.0),
            (candidate.score - runner_up).clamp(0.0, 1.0),
            evidence.label_strength,
            evidence.place_score,
            evidence.form,
            yes(evidence.checked),
            yes(document.recognised(candidate.page)),
            doubt,
            yes(matches!(query.kind, Kind::Text | Kind::Address)),
            yes(matches!(query.kind, Kind::Party | Kind::Person)),
            yes(matches!(
                evidence.place,
                Place::Unlabelled | Place::Sentence | Place::Borrowed
            )),
            yes(evidence.place == Place::Column),
            (candidate.spans.len() as f64 - 1.0).min(4.0),
        ])
    }
}
