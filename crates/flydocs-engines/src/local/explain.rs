//! The explanation of a reading: for each field the labels, the candidates with their scores, and why one won.

use flydocs_contract::FieldValue;
use serde::Serialize;

use super::{
    choose::{Candidate, Place},
    read::Reading,
};

/// Why a document was read as it was.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Explanation {
    /// One entry a field with a single value, in the schema's order.
    pub fields: Vec<FieldExplanation>,
}

/// Why a field has its value, or none.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FieldExplanation {
    /// `group.field`.
    pub path: String,
    /// The kind of value looked for.
    pub kind: String,
    /// The concept of the lexicon it was taken for.
    pub concept: Option<String>,
    /// The party it is about.
    pub role: Option<String>,
    /// The chosen value.
    pub value: Option<FieldValue>,
    /// In a sentence.
    pub why: String,
    /// The candidates, best first.
    pub candidates: Vec<CandidateExplanation>,
}

/// One candidate.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CandidateExplanation {
    /// As printed.
    pub text: String,
    /// As it would be answered.
    pub value: FieldValue,
    /// The page, from 1.
    pub page: u32,
    /// The score it competed with.
    pub score: f64,
    /// The label that points at it.
    pub label: Option<String>,
    /// How it stands to the label: right, below, above, section, column, sentence, unlabelled, borrowed.
    pub place: String,
    /// How surely the label is one of the field.
    pub label_strength: f64,
    /// How well it stands there.
    pub place_score: f64,
    /// How well its form fits.
    pub form: f64,
    /// A check of digits, a pattern or a sum holds.
    pub checked: bool,
    /// Remarks.
    pub notes: Vec<String>,
    /// It is the answer.
    pub chosen: bool,
}

/// Candidates listed a field.
const LISTED: usize = 6;

/// Explains a reading.
pub(crate) fn explain(reading: &Reading<'_>) -> Explanation {
    let fields = reading
        .plan
        .leaves
        .iter()
        .zip(&reading.plan.queries)
        .zip(&reading.choices)
        .filter(|((leaf, _), _)| leaf.single)
        .map(|((leaf, query), choice)| {
            let named = |name: &str| (!name.is_empty()).then(|| name.to_owned());
            let candidates = choice
                .candidates
                .iter()
                .enumerate()
                .filter(|(at, _)| *at < LISTED || choice.winner == Some(*at))
                .map(|(at, c)| candidate(reading, c, choice.winner == Some(at)))
                .collect();
            FieldExplanation {
                path: leaf.path.clone(),
                kind: format!("{:?}", query.kind).to_lowercase(),
                concept: named(query.concept_name()),
                role: named(query.role_name()),
                value: choice.chosen().map(|c| c.value.clone()),
                why: why(
                    choice.chosen(),
                    choice.runner_up(),
                    choice.remark,
                    choice.candidates.is_empty(),
                ),
                candidates,
            }
        })
        .collect();
    Explanation { fields }
}

fn candidate(reading: &Reading<'_>, c: &Candidate, chosen: bool) -> CandidateExplanation {
    let round = |v: f64| (v * 1000.0).round() / 1000.0;
    CandidateExplanation {
        text: c.text.clone(),
        value: c.value.clone(),
        page: reading.document.pages[c.page].number,
        score: round(c.score),
        label: c.evidence.label.clone(),
        place: place(c.evidence.place).to_owned(),
        label_strength: round(c.evidence.label_strength),
        place_score: round(c.evidence.place_score),
        form: round(c.evidence.form),
        checked: c.evidence.checked,
        notes: c.evidence.notes.iter().map(|n| (*n).to_owned()).collect(),
        chosen,
    }
}

const fn place(place: Place) -> &'static str {
    match place {
        Place::Right => "right",
        Place::Below => "below",
        Place::Above => "above",
        Place::Section => "section",
        Place::Column => "column",
        Place::Sentence => "sentence",
        Place::Unlabelled => "unlabelled",
        Place::Borrowed => "borrowed",
    }
}

fn why(chosen: Option<&Candidate>, runner_up: f64, remark: Option<&str>, none: bool) -> String {
    let Some(c) = chosen else {
        return if none {
            "nothing on the pages has the form or the label of this field".to_owned()
        } else {
            remark.unwrap_or("no candidate is sure enough").to_owned()
        };
    };
    let mut why = match (&c.evidence.label, c.evidence.place) {
        (Some(label), Place::Right) => format!("stands right of the label \"{label}\""),
        (Some(label), Place::Below) => format!("stands under the label \"{label}\""),
        (Some(label), Place::Above) => format!("stands over the label \"{label}\""),
        (Some(label), Place::Section) => format!("stands in the part that \"{label}\" heads"),
        (Some(label), Place::Column) => format!("stands in the column \"{label}\""),
        (_, Place::Sentence) => "a sentence says so".to_owned(),
        (_, Place::Borrowed) => {
            "has no label of its own; the value of the field it falls back to".to_owned()
        }
        _ => "has no label, but form and place are those of such a value".to_owned(),
    };
    if c.evidence.checked {
        why.push_str("; a check holds");
    }
    if runner_up > 0.0 {
        why.push_str(&format!(
            "; the next value has {:.2} against {:.2}",
            runner_up, c.score
        ));
    }
    if let Some(remark) = remark
        && c.evidence.place != Place::Borrowed
    {
        why.push_str(&format!(" ({remark})"));
    }
    why
}
