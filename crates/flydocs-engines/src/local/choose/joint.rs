//! The joint choice: fields take their values in order of certainty, and one place is not used twice without
//! reason.

use super::{
    Plan, Reader,
    arithmetic::weigh_sums,
    candidate::{Candidate, Place},
    scalar::candidates,
};
use crate::local::label::{Kind, Query, lexicon};

/// What was chosen for a field, and from what.
#[derive(Debug, Default, Clone)]
pub(crate) struct Choice {
    /// The candidates, best first.
    pub candidates: Vec<Candidate>,
    /// Index of the winner.
    pub winner: Option<usize>,
    /// Why there is no winner, or why it is not the first.
    pub remark: Option<&'static str>,
}

impl Choice {
    /// The winner.
    pub(crate) fn chosen(&self) -> Option<&Candidate> {
        self.winner.and_then(|at| self.candidates.get(at))
    }

    /// The score of the best candidate with another value.
    pub(crate) fn runner_up(&self) -> f64 {
        let Some(winner) = self.chosen() else {
            return 0.0;
        };
        self.candidates
            .iter()
            .filter(|c| c.value != winner.value)
            .map(|c| c.score)
            .fold(0.0, f64::max)
    }
}

/// The score below which nothing is answered.
fn threshold(kind: Kind) -> f64 {
    match kind {
        Kind::Boolean => 0.2,
        Kind::Amount
        | Kind::Integer
        | Kind::Percent
        | Kind::Vat
        | Kind::TaxNumber
        | Kind::Identifier => 0.33,
        Kind::Date => 0.31,
        _ => 0.3,
    }
}

/// Chooses a value for every single field of the plan.
pub(crate) fn choose(reader: &Reader<'_>, plan: &Plan<'_>) -> Vec<Choice> {
    let mut found: Vec<Vec<Candidate>> = plan
        .leaves
        .iter()
        .zip(&plan.queries)
        .enumerate()
        .map(|(at, (leaf, query))| {
            if leaf.single {
                candidates(reader, at, leaf.field, query)
            } else {
                Vec::new()
            }
        })
        .collect();
    sums(plan, &mut found);
    let mut choices: Vec<Choice> = found
        .into_iter()
        .map(|candidates| Choice {
            candidates,
            ..Choice::default()
        })
        .collect();
    let mut order: Vec<(f64, usize, usize)> = Vec::new();
    for (field, choice) in choices.iter().enumerate() {
        for (at, candidate) in choice.candidates.iter().enumerate() {
            order.push((candidate.score, field, at));
        }
    }
    order.sort_by(|a, b| b.0.total_cmp(&a.0));
    let mut decided = vec![false; choices.len()];
    let mut used: Vec<(usize, Candidate)> = Vec::new();
    for (score, field, at) in order {
        if decided[field] || score < threshold(plan.queries[field].kind) {
            continue;
        }
        let candidate = &choices[field].candidates[at];
        let conflict = used.iter().any(|(other, taken)| {
            taken.overlaps(candidate)
                && !may_share(
                    &plan.queries[field],
                    &plan.queries[*other],
                    candidate,
                    taken,
                )
        });
        if conflict {
            choices[field].remark = Some("a better candidate is the value of another field");
            continue;
        }
        used.push((field, candidate.clone()));
        choices[field].winner = Some(at);
        decided[field] = true;
    }
    borrow(reader, plan, &mut choices);
    choices
}

/// Whether two fields may have the same place of the page as their value.
fn may_share(a: &Query, b: &Query, first: &Candidate, second: &Candidate) -> bool {
    if matches!(a.kind, Kind::Boolean) || matches!(b.kind, Kind::Boolean) {
        // A mark ticks one box; a missing mark is no place.
        return first.evidence.place == Place::Unlabelled
            || second.evidence.place == Place::Unlabelled;
    }
    if a.kind == Kind::Currency || b.kind == Kind::Currency {
        return true;
    }
    // "Given names" is the very label of one field and stands only for its kin in another ("surname").
    let strength = |c: &Candidate| c.evidence.label_strength;
    if a.kind == Kind::Person
        && b.kind == Kind::Person
        && first.evidence.label.is_some()
        && first.evidence.label == second.evidence.label
        && (strength(first) - strength(second)).abs() > 0.05
    {
        return false;
    }
    if a.concept.is_some() && a.concept == b.concept && a.role == b.role {
        return true;
    }
    let falls_back = |x: &Query, y: &Query| {
        x.concept
            .and_then(|at| lexicon().concepts.get(at))
            .and_then(|c| c.otherwise.as_deref())
            .is_some_and(|other| other == y.concept_name())
    };
    if falls_back(a, b) || falls_back(b, a) {
        return true;
    }
    // A part of a longer text (a town in an address).
    (a.kind == Kind::Address) != (b.kind == Kind::Address)
}

fn sums(plan: &Plan<'_>, found: &mut [Vec<Candidate>]) {
    let at = |name: &str| {
        plan.queries.iter().zip(&plan.leaves).position(|(q, l)| {
            l.single && q.concept_name() == name && matches!(q.kind, Kind::Amount)
        })
    };
    let (net, tax, total) = (at("net_total"), at("tax_total"), at("total"));
    let mut lists: [Option<&mut Vec<Candidate>>; 3] = [None, None, None];
    for (index, list) in found.iter_mut().enumerate() {
        for (slot, wanted) in [net, tax, total].into_iter().enumerate() {
            if wanted == Some(index) {
                lists[slot] = Some(list);
                break;
            }
        }
    }
    let [net, tax, total] = lists;
    weigh_sums(net, tax, total);
}

/// A field without a label takes the value of the concept it falls back to.
fn borrow(reader: &Reader<'_>, plan: &Plan<'_>, choices: &mut [Choice]) {
    for field in 0..choices.len() {
        if choices[field].winner.is_some() || !plan.leaves[field].single {
            continue;
        }
        let Some(concept) = plan.queries[field].concept else {
            continue;
        };
        let Some(other) = reader.lexicon.concepts[concept].otherwise.as_deref() else {
            continue;
        };
        let lender = plan.queries.iter().position(|q| q.concept_name() == other);
        let Some(value) = lender.and_then(|l| choices[l].chosen().cloned()) else {
            continue;
        };
        let mut value = value;
        value.score *= 0.75;
        value.evidence.place = Place::Borrowed;
        choices[field].candidates.insert(0, value);
        choices[field].winner = Some(0);
        choices[field].remark =
            Some("no label of its own: the value of the field it falls back to");
    }
}
