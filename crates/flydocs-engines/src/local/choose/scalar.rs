//! Candidates of one field: typed values near its labels, text beside them, and what usually stands unlabelled.

use flydocs_contract::{FieldValue, request::Field};

use super::{
    Reader,
    address::addresses,
    amount::amounts,
    beside::{IN_ITS_BOX, text},
    boolean::booleans,
    candidate::{Candidate, rank},
    choice::choices,
    date::dates,
    party::parties,
    prose::sentences,
    typed::{currency, identifiers, typed},
};
use crate::local::{
    label::{Kind, Query},
    recognise::person_score,
};

/// The candidates of a field, best first.
pub(crate) fn candidates(
    reader: &Reader<'_>,
    index: usize,
    field: &Field,
    query: &Query,
) -> Vec<Candidate> {
    let mut found = Vec::new();
    match query.kind {
        Kind::Date => dates(reader, index, query, &mut found),
        Kind::Amount | Kind::Integer | Kind::Percent => amounts(reader, index, query, &mut found),
        Kind::Currency => currency(reader, index, query, &mut found),
        Kind::Iban => typed(reader, index, query, &reader.pool.ibans, 0.75, &mut found),
        Kind::Bic => typed(reader, index, query, &reader.pool.bics, 0.6, &mut found),
        Kind::Vat => {
            typed(reader, index, query, &reader.pool.vats, 0.6, &mut found);
            if found.is_empty() {
                identifiers(reader, index, query, &mut found);
            }
        }
        Kind::TaxNumber => {
            typed(
                reader,
                index,
                query,
                &reader.pool.tax_numbers,
                0.0,
                &mut found,
            );
            identifiers(reader, index, query, &mut found);
            text(reader, index, query, 1, 0.5, &mut found);
        }
        Kind::Email => typed(reader, index, query, &reader.pool.emails, 0.6, &mut found),
        Kind::Phone => typed(reader, index, query, &reader.pool.phones, 0.3, &mut found),
        Kind::Url => typed(reader, index, query, &reader.pool.urls, 0.55, &mut found),
        Kind::Time => typed(reader, index, query, &reader.pool.times, 0.35, &mut found),
        Kind::Identifier => {
            identifiers(reader, index, query, &mut found);
            if query.concept.is_none() {
                let mut words = Vec::new();
                text(reader, index, query, 1, 0.6, &mut words);
                words.retain(|c| c.text.split(' ').count() <= 3);
                found.append(&mut words);
            }
        }
        Kind::Party => parties(reader, index, query, &mut found),
        Kind::Person => {
            text(reader, index, query, 1, 0.9, &mut found);
            for candidate in &mut found {
                // A family name alone in its box looks like no person, and is one.
                let least = if candidate.evidence.notes.contains(&IN_ITS_BOX) {
                    0.8
                } else {
                    0.0
                };
                candidate.score *= 0.5 + 0.5 * person_score(&candidate.text).max(least);
            }
        }
        Kind::Address => addresses(reader, index, query, &mut found),
        Kind::Boolean => booleans(reader, index, &mut found),
        Kind::Choice => choices(reader, index, field, query, &mut found),
        Kind::Text => {
            sentences(reader, query, &mut found);
            text(reader, index, query, 4, 1.0, &mut found);
        }
    }
    if query.kind == Kind::Date {
        sentences(reader, query, &mut found);
    }
    constrain(field, &mut found);
    rank(&mut found);
    found
}

/// Patterns and bounds of the schema lower the candidates that break them.
fn constrain(field: &Field, found: &mut [Candidate]) {
    let pattern = field.pattern.as_deref().and_then(|p| {
        regex::RegexBuilder::new(&format!("^(?:{p})$"))
            .size_limit(1 << 20)
            .build()
            .ok()
    });
    for candidate in found {
        if let (Some(pattern), FieldValue::String(value)) = (&pattern, &candidate.value) {
            if pattern.is_match(value) {
                candidate.score = (candidate.score * 1.2).min(1.0);
                candidate.evidence.checked = true;
            } else {
                candidate.score *= 0.3;
            }
        }
        let value = match candidate.value {
            FieldValue::Number(n) => Some(n),
            FieldValue::Integer(n) => Some(n as f64),
            _ => None,
        };
        if let Some(n) = value
            && (field.minimum.is_some_and(|m| n < m) || field.maximum.is_some_and(|m| n > m))
        {
            candidate.score *= 0.3;
        }
    }
}
