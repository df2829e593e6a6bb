//! A field with listed values.

use flydocs_contract::{FieldValue, request::Field};

use super::{
    Reader,
    beside::text,
    candidate::{Candidate, Evidence, Place},
    option::marked_option,
};
use crate::local::{
    label::Query,
    layout::Span,
    text::{fold, similar},
};

/// One of the listed values: near a label, or anywhere when it is a telling word.
pub(crate) fn choices(
    reader: &Reader<'_>,
    index: usize,
    field: &Field,
    query: &Query,
    found: &mut Vec<Candidate>,
) {
    if let Some(marked) = marked_option(reader, index, field) {
        found.push(marked);
        return;
    }
    let document = reader.document;
    let mut beside = Vec::new();
    text(reader, index, query, 1, 1.0, &mut beside);
    for allowed in field.allowed.iter().flatten() {
        let printed = match allowed {
            serde_json::Value::String(s) => s.clone(),
            other => other.to_string(),
        };
        let Some(value) = value_of(allowed) else {
            continue;
        };
        let wanted = fold(&printed);
        for candidate in &beside {
            let read = fold(&candidate.text);
            let fit =
                similar(&read, &wanted).max(if !wanted.is_empty() && read.contains(&wanted) {
                    0.85
                } else {
                    0.0
                });
            if fit > 0.0 {
                let mut hit = candidate.clone();
                hit.value = value.clone();
                hit.score *= fit;
                found.push(hit);
            }
        }
        if wanted.len() < 3 {
            continue;
        }
        let words: Vec<&str> = wanted.split(' ').collect();
        for start in 0..document.tokens.len().saturating_sub(words.len() - 1) {
            let fits = words.iter().enumerate().all(|(i, w)| {
                fold(
                    document.tokens[start + i]
                        .text
                        .trim_matches(|c: char| !c.is_alphanumeric()),
                ) == *w
            });
            if fits {
                let span = Span::whole(document, start, start + words.len() - 1);
                let evidence = Evidence::unlabelled(Place::Unlabelled, 0.7);
                found.extend(Candidate::new(
                    document,
                    vec![span],
                    value.clone(),
                    0.4,
                    evidence,
                ));
            }
        }
    }
}

/// A listed value as an answer.
pub(crate) fn value_of(json: &serde_json::Value) -> Option<FieldValue> {
    Some(match json {
        serde_json::Value::String(s) => FieldValue::String(s.clone()),
        serde_json::Value::Bool(b) => FieldValue::Boolean(*b),
        serde_json::Value::Number(n) => match n.as_i64() {
            Some(i) => FieldValue::Integer(i),
            None => FieldValue::Number(n.as_f64()?),
        },
        _ => return None,
    })
}
