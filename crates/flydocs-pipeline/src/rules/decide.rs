//! Decides a rule of the deterministic form from facts alone.
//!
//! Over several documents of a type a yes is a yes of all of them, and a no of one is a no.

use std::collections::BTreeMap;

use flydocs_contract::{
    request::{RuleOutputType, RuleSpec},
    result::RuleResult,
};

use super::{
    answer,
    facts::{Facts, Source, resolve},
    parse::{Expression, Function, predicate},
    value::{Decided, Undecided, Value, compare, compute},
};

/// How many combinations of documents are looked at before a rule is left to a model.
const MAX_COMBINATIONS: usize = 1_000;

/// The answer of a rule, when it can be given without a model.
pub(crate) fn rule(rule: &RuleSpec, facts: &Facts<'_>) -> Option<RuleResult> {
    let expression = predicate(&rule.predicate)?;
    let names = Names::of(rule, &expression)?;
    let mut values = Vec::new();
    let mut notes = Vec::new();
    for picked in names.combinations(facts)? {
        let view = View {
            names: &names,
            facts,
            picked: &picked,
        };
        let value = view.there(&expression);
        if value == Err(Undecided::NotSimple) {
            return None;
        }
        for (name, (source, path)) in &names.known {
            let note = format!("{name} = {}", view.read(source, path).ok()?.shown());
            if !notes.contains(&note) {
                notes.push(note);
            }
        }
        values.push(value);
    }
    let decided = over_all(values)?;
    let (output, human_revision) = match decided {
        Ok(value) => answer::fit(rule, &typed(rule.output.output_type, &value)?),
        Err(missing) => (
            None,
            Some(format!("cannot be told: the documents have no {missing}")),
        ),
    };
    Some(RuleResult {
        rule_id: rule.id.clone(),
        predicate: rule.predicate.clone(),
        output,
        summary: Some("decided from the fields, without a model".to_owned()),
        notes,
        human_revision,
    })
}

/// One answer of the answers over all documents; the inner error names what is missing.
fn over_all(values: Vec<Decided>) -> Option<Result<Value, String>> {
    let is_logic = values
        .iter()
        .all(|v| matches!(v, Ok(Value::Flag(_)) | Err(Undecided::Missing(_))));
    if is_logic && values.contains(&Ok(Value::Flag(false))) {
        return Some(Ok(Value::Flag(false)));
    }
    let mut only: Option<Value> = None;
    for value in values {
        match value {
            Err(Undecided::Missing(name)) => return Some(Err(name)),
            Err(Undecided::NotSimple) => return None,
            // Documents that answer differently are for a model to weigh.
            Ok(value) if only.as_ref().is_some_and(|known| *known != value) => return None,
            Ok(value) => only = Some(value),
        }
    }
    only.map(Ok)
}

/// The value as the rule's output type has it; `None` when it is of another.
fn typed(output_type: RuleOutputType, value: &Value) -> Option<serde_json::Value> {
    match (output_type, value) {
        (RuleOutputType::Boolean, Value::Flag(flag)) => Some((*flag).into()),
        (RuleOutputType::Number, Value::Number(number)) => Some(answer::number(*number)),
        (RuleOutputType::String, Value::Text(text)) => Some(text.as_str().into()),
        (RuleOutputType::String, Value::Date(date)) => Some(date.to_string().into()),
        _ => None,
    }
}

/// What the names of an expression stand for.
struct Names {
    known: BTreeMap<String, (Source, Vec<String>)>,
}

impl Names {
    /// `None` when a name stands for nothing, or for several things.
    fn of(rule: &RuleSpec, expression: &Expression) -> Option<Self> {
        let mut names = Vec::new();
        collect(expression, &mut names);
        let known = names.into_iter().map(|name| {
            let found = resolve(rule, name)?;
            Some((name.join("."), found))
        });
        let known: Option<BTreeMap<_, _>> = known.collect();
        // Without a name it is a sentence that happens to compute, not a rule over fields.
        known.filter(|k| !k.is_empty()).map(|known| Self { known })
    }

    /// Which document of each type to look at, in every combination.
    fn combinations(&self, facts: &Facts<'_>) -> Option<Vec<BTreeMap<String, usize>>> {
        let mut combinations = vec![BTreeMap::new()];
        let types = self.known.values().filter_map(|(s, _)| s.document_type());
        for document_type in types.collect::<std::collections::BTreeSet<_>>() {
            // Without a document of a type its fields are missing: still one thing to look at.
            let count = facts.count_of(document_type).max(1);
            if combinations.len() * count > MAX_COMBINATIONS {
                return None;
            }
            combinations = combinations
                .iter()
                .flat_map(|picked| {
                    (0..count).map(move |nth| {
                        let mut picked = picked.clone();
                        picked.insert(document_type.to_owned(), nth);
                        picked
                    })
                })
                .collect();
        }
        Some(combinations)
    }
}

fn collect<'a>(expression: &'a Expression, names: &mut Vec<&'a Vec<String>>) {
    match expression {
        Expression::Literal(_) => {}
        Expression::Name(name) => names.push(name),
        Expression::Not(inside) | Expression::Present(inside) => collect(inside, names),
        Expression::And(a, b)
        | Expression::Or(a, b)
        | Expression::Compare(_, a, b)
        | Expression::Compute(_, a, b) => {
            collect(a, names);
            collect(b, names);
        }
        Expression::Among(inside, list) => {
            collect(inside, names);
            for item in list {
                collect(item, names);
            }
        }
        Expression::Call(_, list) => {
            for item in list {
                collect(item, names);
            }
        }
    }
}

/// An expression's names over one combination of documents.
struct View<'a> {
    names: &'a Names,
    facts: &'a Facts<'a>,
    picked: &'a BTreeMap<String, usize>,
}

impl View<'_> {
    fn value(&self, expression: &Expression) -> Decided {
        match expression {
            Expression::Literal(value) => Ok(value.clone()),
            Expression::Name(_) => self.named(expression),
            Expression::Not(inside) => Ok(Value::Flag(!self.flag(inside)?)),
            Expression::And(a, b) => self.logic(a, b, false),
            Expression::Or(a, b) => self.logic(a, b, true),
            Expression::Compare(relation, a, b) => {
                let (a, b) = (self.there(a)?, self.there(b)?);
                Ok(Value::Flag(compare(*relation, &a, &b)?))
            }
            Expression::Compute(operation, a, b) => {
                compute(*operation, &self.there(a)?, &self.there(b)?)
            }
            Expression::Present(inside) => Ok(Value::Flag(self.named(inside)?.is_present())),
            Expression::Among(inside, list) => {
                let value = self.there(inside)?;
                let mut found = false;
                for item in list {
                    let item = self.there(item)?;
                    found |= compare(super::value::Relation::Equal, &value, &item)?;
                }
                Ok(Value::Flag(found))
            }
            Expression::Call(function, list) => self.call(*function, list),
        }
    }

    /// A value that must be there.
    fn there(&self, expression: &Expression) -> Decided {
        match self.value(expression)? {
            Value::Nothing => Err(Undecided::Missing(shown(expression))),
            Value::Text(text) if text.is_empty() => Err(Undecided::Missing(shown(expression))),
            value => Ok(value),
        }
    }

    fn flag(&self, expression: &Expression) -> Decided<bool> {
        match self.there(expression)? {
            Value::Flag(flag) => Ok(flag),
            _ => Err(Undecided::NotSimple),
        }
    }

    /// `and` (decided by a false) or `or` (decided by a true), also when the other side cannot be told.
    fn logic(&self, a: &Expression, b: &Expression, decisive: bool) -> Decided {
        let sides = [self.flag(a), self.flag(b)];
        if sides.contains(&Err(Undecided::NotSimple)) {
            return Err(Undecided::NotSimple);
        }
        if sides.contains(&Ok(decisive)) {
            return Ok(Value::Flag(decisive));
        }
        for side in sides {
            side?;
        }
        Ok(Value::Flag(!decisive))
    }

    fn named(&self, expression: &Expression) -> Decided {
        let Expression::Name(name) = expression else {
            return self.value(expression);
        };
        let found = self.names.known.get(&name.join("."));
        let (source, path) = found.ok_or(Undecided::NotSimple)?;
        self.read(source, path)
    }

    fn read(&self, source: &Source, path: &[String]) -> Decided {
        let nth = source.document_type().and_then(|t| self.picked.get(t));
        let mut value = self.facts.value(source, nth.copied().unwrap_or(0));
        for part in path {
            value = value.member(part).ok_or(Undecided::NotSimple)?;
        }
        Ok(value)
    }

    fn call(&self, function: Function, list: &[Expression]) -> Decided {
        if function == Function::Count {
            let [only] = list else {
                return Err(Undecided::NotSimple);
            };
            return match self.named(only)? {
                Value::Nothing => Ok(Value::Number(0.0)),
                Value::List(values) => {
                    let there = values.iter().filter(|v| v.is_present());
                    Ok(Value::Number(there.count() as f64))
                }
                _ => Err(Undecided::NotSimple),
            };
        }
        let numbers = self.numbers(list)?;
        let number = match (function, numbers.as_slice()) {
            (Function::Sum, all) => all.iter().sum(),
            (Function::Min, [first, rest @ ..]) => rest.iter().fold(*first, |a, b| a.min(*b)),
            (Function::Max, [first, rest @ ..]) => rest.iter().fold(*first, |a, b| a.max(*b)),
            (Function::Abs, [only]) => only.abs(),
            (Function::Round, [only]) => only.round(),
            (Function::Round, [only, places]) if (0.0..=12.0).contains(places) => {
                let scale = 10_f64.powi(*places as i32);
                (only * scale).round() / scale
            }
            _ => return Err(Undecided::NotSimple),
        };
        Ok(Value::Number(number))
    }

    /// The numbers of the arguments, lists opened.
    fn numbers(&self, list: &[Expression]) -> Decided<Vec<f64>> {
        let mut numbers = Vec::new();
        for argument in list {
            let values = match self.there(argument)? {
                Value::List(values) => values,
                value => vec![value],
            };
            for value in values {
                match value {
                    Value::Number(number) => numbers.push(number),
                    // A row without the member does not count as one with zero.
                    Value::Nothing => return Err(Undecided::Missing(shown(argument))),
                    _ => return Err(Undecided::NotSimple),
                }
            }
        }
        Ok(numbers)
    }
}

fn shown(expression: &Expression) -> String {
    match expression {
        Expression::Name(name) => name.join("."),
        _ => "value".to_owned(),
    }
}
