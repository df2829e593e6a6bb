//! Sums that a document must keep: net and tax make the total.

use flydocs_contract::FieldValue;

use super::candidate::Candidate;

/// How many candidates of each amount take part.
const DEPTH: usize = 7;

/// The number of a candidate.
pub(crate) fn value(candidate: &Candidate) -> Option<f64> {
    match candidate.value {
        FieldValue::Number(n) => Some(n),
        FieldValue::Integer(n) => Some(n as f64),
        _ => None,
    }
}

/// Raises the candidates of net, tax and total that keep the sum together. Empty slots are fields not asked for.
pub(crate) fn weigh_sums(
    net: Option<&mut Vec<Candidate>>,
    tax: Option<&mut Vec<Candidate>>,
    total: Option<&mut Vec<Candidate>>,
) {
    let (Some(net), Some(tax), Some(total)) = (net, tax, total) else {
        return;
    };
    let mut best: Option<(f64, usize, usize, usize)> = None;
    for (i, n) in net.iter().enumerate().take(DEPTH) {
        for (j, t) in tax.iter().enumerate().take(DEPTH) {
            for (k, g) in total.iter().enumerate().take(DEPTH) {
                let (Some(a), Some(b), Some(c)) = (value(n), value(t), value(g)) else {
                    continue;
                };
                let tight = (a + b - c).abs() <= 0.011 && c > 0.0 && b >= 0.0 && a > 0.0;
                // Three times the same printed number, or tax over half of net, proves nothing.
                if !tight || b > 0.5 * a {
                    continue;
                }
                let distinct = !n.overlaps(g) && !t.overlaps(g) && !t.overlaps(n);
                let sum =
                    n.score + t.score + g.score + if b == 0.0 || !distinct { -0.3 } else { 0.0 };
                if best.is_none_or(|(s, ..)| sum > s) {
                    best = Some((sum, i, j, k));
                }
            }
        }
    }
    let Some((sum, i, j, k)) = best else { return };
    if sum < 0.9 {
        return;
    }
    for (list, at) in [(net, i), (tax, j), (total, k)] {
        let top = list.iter().map(|c| c.score).fold(0.0, f64::max);
        let candidate = &mut list[at];
        candidate.score = (candidate.score + 0.2)
            .max(0.5 * (candidate.score + top) + 0.12)
            .min(1.2);
        candidate.evidence.checked = true;
        candidate.evidence.notes.push("net and tax make the total");
        list.sort_by(|a, b| b.score.total_cmp(&a.score));
    }
}
