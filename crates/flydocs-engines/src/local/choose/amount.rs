//! Candidates for an amount or another number.

use super::{
    Reader,
    candidate::{Candidate, Place},
    labelled::labelled,
    totals::agreeing,
};
use crate::local::{
    label::{Kind, Query},
    pool::number,
};

/// Numbers near a label.
pub(crate) fn amounts(
    reader: &Reader<'_>,
    index: usize,
    query: &Query,
    found: &mut Vec<Candidate>,
) {
    let document = reader.document;
    let integer = query.kind == Kind::Integer;
    let money = matches!(
        query.concept_name(),
        "total" | "net_total" | "tax_total" | "amount_due"
    );
    for amount in &reader.pool.amounts {
        let a = &amount.value;
        let percent = query.kind == Kind::Percent;
        if money && a.percent || percent && !a.percent && a.currency.is_some() {
            continue;
        }
        if integer && a.decimals > 0 {
            continue;
        }
        let mut form = amount.form;
        if form < 0.1 || reader.ordinals.contains(&amount.span.first) {
            continue;
        }
        if a.percent != percent {
            form *= if a.percent && !integer { 0.6 } else { 0.8 };
        }
        // A year that stands alone is seldom an amount.
        if a.currency.is_none()
            && a.decimals == 0
            && (1990.0..=2040.0).contains(&a.value)
            && !integer
        {
            form *= 0.55;
        }
        if (query.kind == Kind::Integer || !money) && a.currency.is_none() && a.decimals == 0 {
            // A whole number is as good as one with cents when no money is asked for.
            form = 0.9 * (form / 0.6).min(1.0);
        }
        let value = number(a.value, integer);
        let row = document.tokens[amount.span.first].row;
        let last_in_row = !reader.pool.amounts.iter().any(|o| {
            document.tokens[o.span.first].row == row
                && o.span.first > amount.span.last
                && o.form > 0.5
                && !o.value.percent
        });
        for label in &reader.labels.of_query[index] {
            let Some((mut score, mut evidence)) =
                labelled(reader, query, label, &amount.span, form)
            else {
                continue;
            };
            if evidence.place == Place::Right && money {
                // The words between are other columns of the same row.
                if !last_in_row {
                    score *= 0.8;
                }
            }
            if evidence.place == Place::Below && money {
                if let Some(bonus) = reader.totals_row(row, amount.span.first) {
                    score = score.max(label.strength() * bonus * (0.45 + 0.55 * form));
                    evidence.place = Place::Column;
                } else {
                    let header = document.tokens[label.first().first].row;
                    score *= if reader.header_rows.contains(&header) {
                        0.6
                    } else if reader.heads_columns(label) {
                        0.5
                    } else {
                        0.85
                    };
                }
            }
            if money && a.currency.is_some() {
                score *= 1.03;
            }
            if money && a.value < 0.0 {
                score *= 0.7;
            }
            found.extend(Candidate::new(
                document,
                vec![amount.span],
                value.clone(),
                score,
                evidence,
            ));
        }
        if query.concept_name() == "total" && amount.form > 0.4 && a.value > 0.0 {
            for (name, weight) in [("net_total", 0.5), ("amount_due", 0.62)] {
                if name == "net_total" && reader.asked.contains(&name) {
                    continue;
                }
                let Some((concept, _)) = reader.lexicon.get(name) else {
                    continue;
                };
                for label in reader.labels.of_concept[concept].iter().take(12) {
                    if let Some((score, evidence)) =
                        labelled(reader, query, label, &amount.span, form)
                    {
                        found.extend(Candidate::new(
                            document,
                            vec![amount.span],
                            value.clone(),
                            weight * score,
                            evidence,
                        ));
                    }
                }
            }
        }
    }
    if query.concept_name() == "total" {
        agreeing(reader, found);
    }
}
