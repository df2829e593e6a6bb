//! The total of a receipt or an invoice, held against what else the document says: what was given and what came
//! back, the sum of the lines, the same amount in other places, rounding.

use super::{
    Reader,
    arithmetic::value,
    candidate::{Candidate, Evidence, Place},
    relation::relate,
};
use crate::local::{
    pool::{Typed, number},
    recognise::Amount,
    text::fold,
};

/// Amounts closer than this are the same.
const SAME: f64 = 0.006;
/// From this score on something is called a total.
const NAMED: f64 = 0.35;
/// No till rounds by more.
const ROUNDED_BY: f64 = 0.051;

/// Raises the totals that agree with the rest of the document, and adds those that only the rest tells of.
pub(crate) fn agreeing(reader: &Reader<'_>, found: &mut Vec<Candidate>) {
    paid(reader, found);
    lines(reader, found);
    repeated(found);
    rounded(reader, found);
    before_tax(found);
}

/// Where nothing is called a total, what is called a subtotal is one.
fn before_tax(found: &mut [Candidate]) {
    if found.iter().any(|c| c.score >= NAMED) {
        return;
    }
    let subtotal = |c: &Candidate| {
        c.evidence
            .label
            .as_deref()
            .is_some_and(|l| fold(l).starts_with("sub"))
    };
    let best = found.iter_mut().filter(|c| subtotal(c) && c.score > 0.2);
    if let Some(best) = best.max_by(|a, b| a.score.total_cmp(&b.score)) {
        best.score = NAMED;
        best.evidence.notes.push("nothing else is called a total");
    }
}

/// What was given less the change is what was paid.
fn paid(reader: &Reader<'_>, found: &mut Vec<Candidate>) {
    let (given, change) = (beside(reader, "cash_given"), beside(reader, "change_given"));
    let mut paid: Vec<f64> = Vec::new();
    let mut sure: f64 = 0.0;
    for g in &given {
        for c in &change {
            let difference = g.value.value - c.value.value;
            if c.value.value >= 0.0 && difference > SAME {
                paid.push((difference * 100.0).round() / 100.0);
                let both = [g, c].map(|a| a.span.certainty(reader.document));
                sure = sure.max(both[0].min(both[1]));
            }
        }
    }
    let is = |wanted: f64, v: f64| (wanted - v).abs() < SAME;
    for candidate in found.iter_mut() {
        let Some(v) = value(candidate) else { continue };
        let sure = paid.iter().any(|p| is(*p, v));
        if sure || change.is_empty() && given.iter().any(|g| is(g.value.value, v)) {
            candidate.score = (candidate.score + if sure { 0.25 } else { 0.08 }).min(1.0);
            candidate.evidence.checked |= sure;
            candidate
                .evidence
                .notes
                .push("what was given less the change");
        }
    }
    one_digit(reader, found, &paid, sure);
    // The label of the total may be misread: the amount stands on the page all the same.
    for amount in amounts(reader) {
        let v = amount.value.value;
        let (score, note) =
            if paid.iter().any(|p| is(*p, v)) && !given.iter().any(|g| g.span == amount.span) {
                (0.72, "what was given less the change")
            } else if change.is_empty() && given.iter().any(|g| g.span == amount.span) {
                (0.4, "what was given; no change is printed")
            } else {
                continue;
            };
        if found
            .iter()
            .any(|c| c.score > score && value(c).is_some_and(|c| is(c, v)))
        {
            continue;
        }
        let mut evidence = Evidence::unlabelled(Place::Unlabelled, amount.form);
        evidence.checked = score > 0.5;
        evidence.notes.push(note);
        found.extend(Candidate::new(
            reader.document,
            vec![amount.span],
            number(v, false),
            score,
            evidence,
        ));
    }
}

/// A recognised total with one digit other than what was given less the change has that digit misread, when it
/// is the least sure of the three and stands nowhere else, nor does the right amount.
fn one_digit(reader: &Reader<'_>, found: &mut [Candidate], paid: &[f64], sure: f64) {
    let standing = |p: f64| {
        amounts(reader)
            .filter(|a| (a.value.value - p).abs() < SAME)
            .count()
    };
    for candidate in found.iter_mut() {
        let labelled = candidate.evidence.label.is_some() && candidate.score > 0.3;
        let Some(v) = value(candidate).filter(|_| labelled) else {
            continue;
        };
        let doubtful = standing(v) == 1
            && candidate
                .spans
                .iter()
                .all(|s| s.certainty(reader.document) < sure);
        if !doubtful {
            continue;
        }
        let right = paid
            .iter()
            .find(|p| one_digit_off(**p, v) && standing(**p) == 0);
        if let Some(right) = right.filter(|_| reader.document.recognised(candidate.page)) {
            candidate.value = number(*right, false);
            candidate.score = (candidate.score + 0.2).min(1.0);
            candidate.evidence.checked = true;
            let note = "a misread digit was put right: what was given less the change";
            candidate.evidence.notes.push(note);
        }
    }
}

fn one_digit_off(a: f64, b: f64) -> bool {
    let (a, b) = (format!("{a:.2}"), format!("{b:.2}"));
    a.len() == b.len() && a.chars().zip(b.chars()).filter(|(x, y)| x != y).count() == 1
}

/// Amounts with cents.
fn amounts<'a>(reader: &'a Reader<'_>) -> impl Iterator<Item = &'a Typed<Amount>> {
    reader
        .pool
        .amounts
        .iter()
        .filter(|a| a.form > 0.3 && a.value.decimals == 2 && !a.value.percent)
}

/// The amounts right of the labels of a concept, the nearest of each label.
fn beside<'a>(reader: &'a Reader<'_>, name: &str) -> Vec<&'a Typed<Amount>> {
    let Some((concept, _)) = reader.lexicon.get(name) else {
        return Vec::new();
    };
    reader.labels.of_concept[concept]
        .iter()
        .filter(|l| !l.hidden && l.opens)
        .take(6)
        .filter_map(|label| {
            amounts(reader)
                .filter_map(|a| {
                    relate(reader.document, reader.labels, label, &a.span)
                        .map(|(place, s)| (place, s, a))
                })
                .filter(|(place, s, _)| *place == Place::Right && *s > 0.3)
                .max_by(|a, b| a.1.total_cmp(&b.1))
                .map(|(_, _, a)| a)
        })
        .collect()
}

/// A total that is the sum of the amounts that end the rows above it.
fn lines(reader: &Reader<'_>, found: &mut [Candidate]) {
    let document = reader.document;
    let row_of = |a: &Typed<Amount>| document.tokens[a.span.first].row;
    let mut last: Vec<(usize, f64)> = Vec::new();
    for amount in amounts(reader) {
        match last.last_mut() {
            Some((row, v)) if *row == row_of(amount) => *v = amount.value.value,
            _ => last.push((row_of(amount), amount.value.value)),
        }
    }
    for candidate in found.iter_mut() {
        let Some(v) = value(candidate).filter(|v| *v > 0.0) else {
            continue;
        };
        let Some(row) = candidate
            .spans
            .first()
            .map(|s| document.tokens[s.first].row)
        else {
            continue;
        };
        let above: Vec<f64> = last
            .iter()
            .filter(|(r, _)| *r < row)
            .map(|(_, v)| *v)
            .collect();
        let adds_up = (0..above.len()).any(|first| {
            let mut sum = 0.0;
            above[first..].iter().enumerate().any(|(n, a)| {
                sum += a;
                n > 0 && *a > 0.0 && (sum - v).abs() < SAME
            })
        });
        if adds_up {
            candidate.score = (candidate.score + 0.12).min(1.0);
            candidate.evidence.notes.push("the sum of the lines");
        }
    }
}

/// The same amount at several places of totals speaks for itself.
fn repeated(found: &mut [Candidate]) {
    let others: Vec<f64> = found
        .iter()
        .map(|c| {
            let mut seen: Vec<&Candidate> = vec![c];
            let mut sum = 0.0;
            for other in found.iter() {
                if other.value == c.value && seen.iter().all(|s| !s.overlaps(other)) {
                    sum += other.score;
                    seen.push(other);
                }
            }
            sum
        })
        .collect();
    for (candidate, others) in found.iter_mut().zip(others) {
        candidate.score = (candidate.score + (0.2 * others).min(0.2)).min(1.0);
    }
}

/// Of two totals that differ by a rounding, the one after it is to be paid.
fn rounded(reader: &Reader<'_>, found: &mut [Candidate]) {
    let document = reader.document;
    let rounds = document.rows.iter().any(|row| {
        document.tokens[row.tokens.clone()].iter().any(|t| {
            t.pieces.iter().any(|p| {
                ["round", "rundung", "arrondi", "redonde"]
                    .iter()
                    .any(|w| p.text.starts_with(w))
            })
        })
    });
    if !rounds {
        return;
    }
    let place = |c: &Candidate| (c.page, c.rect.center().1);
    let whole = |v: f64| ((v * 20.0).round() - v * 20.0).abs() < 0.02;
    for at in 0..found.len() {
        let Some(v) = value(&found[at]).filter(|v| whole(*v)) else {
            continue;
        };
        let before = found
            .iter()
            .filter(|o| {
                place(o) < place(&found[at])
                    && value(o).is_some_and(|o| (o - v).abs() > SAME && (o - v).abs() < ROUNDED_BY)
            })
            .map(|o| o.score)
            .fold(0.0, f64::max);
        if before > found[at].score - 0.05 && found[at].score > 0.25 {
            found[at].score = (before + 0.05).min(1.05);
            found[at].evidence.notes.push("after rounding");
        }
    }
}
