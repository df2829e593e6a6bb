//! Rules: ids, what their parents name, and that none waits for itself.

use std::collections::HashMap;

use flydocs_contract::{
    ErrorCode, ExtractRequest,
    request::{DocumentTypeSpec, RuleParent, RuleSpec},
};

use super::Issues;

pub(super) fn references(request: &ExtractRequest, issues: &mut Issues) {
    let mut ids = HashMap::new();
    for (i, rule) in request.rules.iter().enumerate() {
        if let Some(first) = ids.get(rule.id.as_str()) {
            issues.error(
                ErrorCode::DuplicateRuleId,
                format!("rules[{i}].id"),
                format!("{:?} is already the id of rules[{first}]", rule.id),
            );
        } else {
            ids.insert(rule.id.as_str(), i);
        }
    }
    for (i, rule) in request.rules.iter().enumerate() {
        for (p, parent) in rule.parents.iter().enumerate() {
            let path = format!("rules[{i}].parents[{p}]");
            one(request, rule, parent, &path, issues);
        }
    }
}

fn one(
    request: &ExtractRequest,
    rule: &RuleSpec,
    parent: &RuleParent,
    path: &str,
    issues: &mut Issues,
) {
    match parent {
        RuleParent::Field {
            document_type,
            fields,
        } => {
            let Some(spec) = declared(request, document_type, path, issues) else {
                return;
            };
            let known = || spec.field_groups.iter().flat_map(|g| &g.fields);
            for (f, name) in fields.iter().enumerate() {
                if !known().any(|field| field.name == *name) {
                    issues.error(
                        ErrorCode::RuleUnknownField,
                        format!("{path}.fields[{f}]"),
                        format!("{document_type:?} has no field {name:?}"),
                    );
                }
            }
        }
        RuleParent::Validator {
            document_type,
            validator,
        } => {
            let Some(spec) = declared(request, document_type, path, issues) else {
                return;
            };
            if !spec
                .visual_checks
                .iter()
                .any(|check| check.name == *validator)
            {
                issues.error(
                    ErrorCode::RuleUnknownValidator,
                    format!("{path}.validator"),
                    format!("{document_type:?} has no visual check {validator:?}"),
                );
            }
        }
        RuleParent::Rule { rule: parent } if *parent == rule.id => issues.error(
            ErrorCode::RuleSelfReference,
            format!("{path}.rule"),
            format!("{parent:?} is its own parent"),
        ),
        RuleParent::Rule { rule: parent } => {
            if !request.rules.iter().any(|known| known.id == *parent) {
                issues.error(
                    ErrorCode::RuleUnknownParent,
                    format!("{path}.rule"),
                    format!("there is no rule {parent:?}"),
                );
            }
        }
    }
}

fn declared<'a>(
    request: &'a ExtractRequest,
    id: &str,
    path: &str,
    issues: &mut Issues,
) -> Option<&'a DocumentTypeSpec> {
    let found = request.document_types.iter().find(|t| t.id == id);
    if found.is_none() {
        issues.error(
            ErrorCode::RuleUnknownDoctype,
            format!("{path}.document_type"),
            format!("{id:?} is not among document_types"),
        );
    }
    found
}

/// Finds circles of two rules and more; each circle once, at the rule that stands first in the request.
pub(super) fn graph(rules: &[RuleSpec], issues: &mut Issues) {
    let mut walk = Walk {
        rules,
        marks: vec![Mark::New; rules.len()],
        trail: Vec::new(),
        cycles: Vec::new(),
    };
    for start in 0..rules.len() {
        walk.visit(start);
    }
    for cycle in walk.cycles {
        let Some(first) = cycle.first() else {
            continue;
        };
        let names: Vec<_> = cycle
            .iter()
            .chain([first])
            .filter_map(|i| rules.get(*i))
            .map(|rule| rule.id.as_str())
            .collect();
        issues.error(
            ErrorCode::RuleCycle,
            format!("rules[{first}].parents"),
            format!("rules wait for each other: {}", names.join(" -> ")),
        );
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Mark {
    New,
    OnTrail,
    Done,
}

struct Walk<'a> {
    rules: &'a [RuleSpec],
    marks: Vec<Mark>,
    trail: Vec<usize>,
    cycles: Vec<Vec<usize>>,
}

impl Walk<'_> {
    /// Walks from a rule to its parents, without recursion: a chain may be as long as a request.
    fn visit(&mut self, start: usize) {
        let mut open = vec![(start, 0)];
        while let Some((rule, next)) = open.pop() {
            if next == 0 {
                if self.mark(rule) != Mark::New {
                    continue;
                }
                self.set(rule, Mark::OnTrail);
                self.trail.push(rule);
            }
            let parents = self.parents(rule);
            let Some(parent) = parents.get(next) else {
                self.set(rule, Mark::Done);
                self.trail.pop();
                continue;
            };
            open.push((rule, next + 1));
            match self.mark(*parent) {
                Mark::New => open.push((*parent, 0)),
                Mark::OnTrail => self.close(*parent),
                Mark::Done => {}
            }
        }
    }

    /// The parents of a rule that are other rules; its own id and unknown ones are said elsewhere.
    fn parents(&self, rule: usize) -> Vec<usize> {
        let parents = self.rules.get(rule).map(|r| r.parents.as_slice());
        let ids = parents.unwrap_or_default().iter().filter_map(|p| match p {
            RuleParent::Rule { rule } => Some(rule),
            RuleParent::Field { .. } | RuleParent::Validator { .. } => None,
        });
        ids.filter_map(|id| self.rules.iter().position(|r| r.id == *id))
            .filter(|parent| *parent != rule)
            .collect()
    }

    fn close(&mut self, back_to: usize) {
        let from = self.trail.iter().position(|rule| *rule == back_to);
        let mut cycle = self.trail.split_off(from.unwrap_or(0));
        self.trail.extend(&cycle);
        let smallest = cycle.iter().enumerate().min_by_key(|(_, rule)| **rule);
        if let Some((place, _)) = smallest {
            cycle.rotate_left(place);
        }
        self.cycles.push(cycle);
    }

    fn mark(&self, rule: usize) -> Mark {
        self.marks.get(rule).copied().unwrap_or(Mark::Done)
    }

    fn set(&mut self, rule: usize, mark: Mark) {
        if let Some(slot) = self.marks.get_mut(rule) {
            *slot = mark;
        }
    }
}
