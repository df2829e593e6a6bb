//! What to look for: a field's value with its variants, made once and tried on many pages.

use flydocs_contract::{ExtractedField, FieldValue};

use crate::{
    forms::{
        dates::{Date, Form, Order},
        numbers::Number,
    },
    index::trim,
    normalise::{digits, is_edge, is_unspaced_text, normalise, without_punctuation},
};

/// What a value is besides its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Words.
    Text,
    /// An amount or a count.
    Number(Number),
    /// Digits and marks only: a phone, an account, a code.
    Digits(String),
    /// A day, with its written forms.
    Date(Date, Vec<Form>),
}

/// A value ready to be looked for.
#[derive(Debug, Clone)]
pub(crate) struct Target {
    /// Normalised.
    pub(crate) literal: String,
    /// Each word without the marks around it.
    pub(crate) trimmed: String,
    /// Spaces for punctuation.
    pub(crate) plain: String,
    pub(crate) kind: Kind,
}

impl Target {
    /// The target of a leaf value; `None` for booleans, rows and texts without a character.
    pub(crate) fn new(value: &FieldValue, order: Order) -> Option<Self> {
        let text = match value {
            FieldValue::Integer(integer) => integer.to_string(),
            FieldValue::Number(number) if number.is_finite() => number.to_string(),
            FieldValue::String(text) => text.clone(),
            FieldValue::Number(_) | FieldValue::Boolean(_) | FieldValue::Fields(_) => return None,
        };
        let literal = normalise(&text);
        if literal.is_empty() {
            return None;
        }
        let kind = match value {
            FieldValue::String(_) => Kind::of_text(&literal, order),
            _ => Number::from_plain(&literal).map_or(Kind::Text, Kind::Number),
        };
        let trimmed: Vec<&str> = literal
            .split(' ')
            .map(trim)
            .filter(|word| !word.is_empty())
            .collect();
        Some(Self {
            trimmed: trimmed.join(" "),
            plain: without_punctuation(literal.trim_matches(is_edge)),
            literal,
            kind,
        })
    }

    /// True when windows of characters are compared, not windows of words.
    pub(crate) fn is_unspaced(&self) -> bool {
        is_unspaced_text(&self.literal)
    }
}

impl Kind {
    fn of_text(literal: &str, order: Order) -> Self {
        if let Some(date) = Date::from_iso(&literal.to_ascii_uppercase()) {
            return Self::Date(date, date.forms(order));
        }
        if let Some(number) = Number::from_written(literal) {
            return Self::Number(number);
        }
        let is_numeric = literal.chars().any(|c| c.is_ascii_digit())
            && !literal.chars().any(char::is_alphabetic);
        if is_numeric {
            Self::Digits(digits(literal))
        } else {
            Self::Text
        }
    }
}

/// True for a leaf the grounding looks at: it has a value that is not a boolean, and no box of the page's words yet.
pub(crate) fn is_open(field: &ExtractedField) -> bool {
    use flydocs_contract::BoxSource::{Ocr, PdfText};
    let has_value = matches!(
        field.value,
        Some(FieldValue::Integer(_) | FieldValue::Number(_) | FieldValue::String(_))
    );
    let is_grounded = field
        .bbox
        .is_some_and(|bbox| matches!(bbox.source, PdfText | Ocr));
    has_value && !is_grounded
}
