//! The order of rules: level by level, each after the rules it looks at.

use std::collections::{HashMap, HashSet};

use flydocs_contract::request::{RuleParent, RuleSpec};

/// Positions of the rules, level by level; what waits for itself comes in no level.
pub(crate) fn of(rules: &[RuleSpec]) -> Vec<Vec<usize>> {
    let mut places: HashMap<&str, usize> = HashMap::new();
    for (i, rule) in rules.iter().enumerate() {
        places.entry(&rule.id).or_insert(i);
    }
    let mut waiting: Vec<(usize, HashSet<usize>)> = rules
        .iter()
        .enumerate()
        .map(|(i, rule)| {
            let parents = rule.parents.iter().filter_map(|parent| match parent {
                RuleParent::Rule { rule } => places.get(rule.as_str()).copied(),
                RuleParent::Field { .. } | RuleParent::Validator { .. } => None,
            });
            (i, parents.collect())
        })
        .collect();
    let mut levels = Vec::new();
    loop {
        let (ready, rest): (Vec<_>, Vec<_>) = waiting
            .into_iter()
            .partition(|(_, parents)| parents.is_empty());
        if ready.is_empty() {
            return levels;
        }
        let level: Vec<_> = ready.into_iter().map(|(i, _)| i).collect();
        waiting = rest;
        for (_, parents) in &mut waiting {
            for done in &level {
                parents.remove(done);
            }
        }
        levels.push(level);
    }
}
