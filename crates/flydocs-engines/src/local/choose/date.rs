//! Candidates for a date, and the order of day and month.

use flydocs_contract::FieldValue;

use super::{
    Reader,
    candidate::{Candidate, Evidence, Place},
    labelled::labelled,
};
use crate::local::{label::Query, recognise::DayOrder, text::fold};

/// Dates near a label; for the date of the document itself also those without one.
pub(crate) fn dates(reader: &Reader<'_>, index: usize, query: &Query, found: &mut Vec<Candidate>) {
    let order = reader.order;
    let concept = query.concept_name();
    for (nth, date) in reader.pool.dates.iter().enumerate() {
        let Some(value) = date.value.read(order) else {
            continue;
        };
        let iso = FieldValue::String(value.format("%Y-%m-%d").to_string());
        let spans = vec![date.span];
        for label in &reader.labels.of_query[index] {
            if let Some((mut score, evidence)) =
                labelled(reader, query, label, &date.span, date.form)
            {
                // "of", "vom", "le" and their like are no labels by themselves.
                if label.letters < 4 && !label.closed {
                    score *= 0.55;
                }
                found.extend(Candidate::new(
                    reader.document,
                    spans.clone(),
                    iso.clone(),
                    score,
                    evidence,
                ));
            }
        }
        if concept == "issue_date"
            && let Some(label) = reader.numbered_before(&date.span)
        {
            let mut evidence = Evidence::unlabelled(Place::Right, date.form);
            evidence.label = Some(label.first().text(reader.document));
            evidence.label_strength = 0.8;
            evidence.notes.push("follows the number of the document");
            found.extend(Candidate::new(
                reader.document,
                spans.clone(),
                iso.clone(),
                0.86 * date.form,
                evidence,
            ));
        }
        if matches!(concept, "issue_date" | "effective_date") && !query.quoted && date.form > 0.4 {
            let first = if nth == 0 {
                0.42
            } else {
                0.34 - 0.01 * nth.min(10) as f64
            };
            let taken = reader.claimed_by_other(query, &date.span);
            let timed = reader.pool.times.iter().any(|t| {
                reader.document.tokens[t.span.first].row
                    == reader.document.tokens[date.span.first].row
            });
            let score =
                first * date.form * if taken { 0.4 } else { 1.0 } + if timed { 0.08 } else { 0.0 };
            found.extend(Candidate::new(
                reader.document,
                spans,
                iso,
                score,
                Evidence::unlabelled(Place::Unlabelled, date.form),
            ));
        }
    }
}

/// The order of day and month: what the dates show, else what the schema says.
pub(crate) fn order_of(
    shown: Option<DayOrder>,
    description: &str,
    country: Option<&str>,
    us_style: bool,
) -> DayOrder {
    if let Some(order) = shown {
        return order;
    }
    let said = fold(description);
    if said.contains("day first") || said.contains("day/month") || said.contains("dd/mm") {
        return DayOrder::DayFirst;
    }
    if said.contains("month first") || said.contains("month/day") || said.contains("mm/dd") {
        return DayOrder::MonthFirst;
    }
    match country {
        Some("US" | "PH" | "FM" | "PW") => DayOrder::MonthFirst,
        None if us_style => DayOrder::MonthFirst,
        _ => DayOrder::DayFirst,
    }
}
