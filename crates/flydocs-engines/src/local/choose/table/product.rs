//! Quantity times price is the amount: which columns keep it, and which rows.

use flydocs_contract::request::Field;

use super::{Cell, Header, fill::Item};
use crate::local::{choose::arithmetic, label::Query};

/// Which header fills which column asked for. Where a price is known, quantity and amount are those columns whose
/// numbers keep the product: "Amount" is the quantity in some tables.
pub(super) fn assign(
    header: &Header,
    columns: &[(&Field, Option<usize>)],
    queries: &[Query],
    items: &[Item],
) -> Vec<Option<usize>> {
    let mut assignment: Vec<Option<usize>> = (0..columns.len())
        .map(|asked| header.columns.iter().position(|c| c.asked == Some(asked)))
        .collect();
    let at = |name: &str| {
        columns
            .iter()
            .position(|(_, q)| q.is_some_and(|q| queries[q].concept_name() == name))
    };
    let (Some(quantity), Some(price), Some(amount)) =
        (at("quantity"), at("unit_price"), at("line_amount"))
    else {
        return assignment;
    };
    let keeps = |q: usize, p: usize, a: usize| {
        let value = |item: &Item, at: usize| item.cells[at].as_ref().and_then(arithmetic::value);
        items
            .iter()
            .filter(
                |item| match (value(item, q), value(item, p), value(item, a)) {
                    (Some(q), Some(p), Some(a)) => {
                        a > 0.0 && (q * p - a).abs() <= 0.011 + 0.002 * a.abs()
                    }
                    _ => false,
                },
            )
            .count()
    };
    let Some(p) = assignment[price] else {
        return assignment;
    };
    let now = match (assignment[quantity], assignment[amount]) {
        (Some(q), Some(a)) => keeps(q, p, a),
        _ => 0,
    };
    let mut best = (now, assignment[quantity], assignment[amount]);
    for q in 0..header.columns.len() {
        for a in 0..header.columns.len() {
            if q == a
                || q == p
                || a == p
                || header.columns[q].label_is_text()
                || header.columns[a].label_is_text()
            {
                continue;
            }
            let kept = keeps(q, p, a);
            if kept > best.0 && kept * 3 >= items.len() * 2 && now == 0 {
                best = (kept, Some(q), Some(a));
            }
        }
    }
    (assignment[quantity], assignment[amount]) = (best.1, best.2);
    assignment
}

/// Quantity times price is the amount: a row that keeps this is checked.
pub(super) fn check_product(
    columns: &[(&Field, Option<usize>)],
    queries: &[Query],
    cells: &mut [Cell],
) {
    let at = |name: &str| {
        columns
            .iter()
            .position(|(_, q)| q.is_some_and(|q| queries[q].concept_name() == name))
    };
    let (Some(quantity), Some(price), Some(amount)) =
        (at("quantity"), at("unit_price"), at("line_amount"))
    else {
        return;
    };
    let value = |cells: &[Cell], at: usize| cells[at].as_ref().and_then(arithmetic::value);
    let (Some(q), Some(p), Some(a)) = (
        value(cells, quantity),
        value(cells, price),
        value(cells, amount),
    ) else {
        return;
    };
    if (q * p - a).abs() <= 0.011 + 0.001 * a.abs() {
        for cell in [quantity, price, amount] {
            if let Some(candidate) = &mut cells[cell] {
                candidate.evidence.checked = true;
                candidate.score = (candidate.score + 0.15).min(1.0);
            }
        }
    }
}
