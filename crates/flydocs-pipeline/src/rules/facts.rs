//! What a rule may look at: the fields and visual checks its parents name, in every document of their types, and
//! what other rules answered.

use std::collections::HashMap;

use flydocs_contract::{
    FieldType,
    request::{DocumentTypeSpec, RuleParent, RuleSpec},
    result::{ExtractedField, ExtractedFieldGroup, RuleResult, VisualCheckResult},
};

use super::value::Value;

/// One document as rules see it.
#[derive(Debug)]
pub(crate) struct Sheet<'a> {
    pub(crate) document_type: &'a DocumentTypeSpec,
    pub(crate) groups: &'a [ExtractedFieldGroup],
    pub(crate) visual: &'a [VisualCheckResult],
}

/// Everything there is to look at.
#[derive(Debug)]
pub(crate) struct Facts<'a> {
    by_type: HashMap<&'a str, Vec<Sheet<'a>>>,
    answers: &'a HashMap<String, RuleResult>,
}

/// What a name in a predicate stands for.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Source {
    /// A field of the documents of a type.
    Field {
        document_type: String,
        field: String,
    },
    /// A visual check of them.
    Check {
        document_type: String,
        check: String,
    },
    /// Another rule's answer.
    Rule(String),
}

impl Source {
    /// The type whose documents it stands in.
    pub(crate) fn document_type(&self) -> Option<&str> {
        match self {
            Self::Field { document_type, .. } | Self::Check { document_type, .. } => {
                Some(document_type)
            }
            Self::Rule(_) => None,
        }
    }
}

/// Every name the parents of a rule give it.
fn sources(rule: &RuleSpec) -> Vec<(&str, Source)> {
    let mut sources = Vec::new();
    for parent in &rule.parents {
        match parent {
            RuleParent::Field {
                document_type,
                fields,
            } => sources.extend(fields.iter().map(|field| {
                let source = Source::Field {
                    document_type: document_type.clone(),
                    field: field.clone(),
                };
                (field.as_str(), source)
            })),
            RuleParent::Validator {
                document_type,
                validator,
            } => {
                let source = Source::Check {
                    document_type: document_type.clone(),
                    check: validator.clone(),
                };
                sources.push((validator, source));
            }
            RuleParent::Rule { rule } => sources.push((rule, Source::Rule(rule.clone()))),
        }
    }
    sources
}

/// Finds what a dotted name stands for and what is left of it as a path into the value; `None` when nothing or
/// more than one thing has the name.
pub(crate) fn resolve(rule: &RuleSpec, name: &[String]) -> Option<(Source, Vec<String>)> {
    let (first, rest) = name.split_first()?;
    let sources = sources(rule);
    let only = |mut found: Vec<&(&str, Source)>| {
        found.dedup_by(|a, b| a.1 == b.1);
        match found.as_slice() {
            [(_, source)] => Some(source.clone()),
            _ => None,
        }
    };
    if let Some((second, path)) = rest.split_first() {
        let of_type = sources
            .iter()
            .filter(|(name, s)| name == second && s.document_type() == Some(first))
            .collect();
        if let Some(source) = only(of_type) {
            return Some((source, path.to_vec()));
        }
    }
    let named = sources.iter().filter(|(name, _)| name == first).collect();
    Some((only(named)?, rest.to_vec()))
}

impl<'a> Facts<'a> {
    pub(crate) fn new(
        sheets: impl Iterator<Item = Sheet<'a>>,
        answers: &'a HashMap<String, RuleResult>,
    ) -> Self {
        let mut by_type: HashMap<_, Vec<_>> = HashMap::new();
        for sheet in sheets {
            let id = sheet.document_type.id.as_str();
            by_type.entry(id).or_default().push(sheet);
        }
        Self { by_type, answers }
    }

    /// The documents of a type.
    pub(crate) fn count_of(&self, document_type: &str) -> usize {
        self.by_type.get(document_type).map_or(0, Vec::len)
    }

    /// The value of a source in the nth document of its type.
    pub(crate) fn value(&self, source: &Source, nth: usize) -> Value {
        match source {
            Source::Rule(id) => self
                .answers
                .get(id)
                .and_then(|answer| answer.output.as_ref())
                .map_or(Value::Nothing, Value::of_json),
            Source::Field {
                document_type,
                field,
            } => self
                .nth(document_type, nth)
                .and_then(|sheet| sheet.field(field))
                .map_or(Value::Nothing, |(field, is_array)| {
                    Value::of_field(field, is_array)
                }),
            Source::Check {
                document_type,
                check,
            } => self
                .nth(document_type, nth)
                .and_then(|sheet| sheet.visual.iter().find(|c| c.name == *check))
                .map_or(Value::Nothing, |c| Value::Flag(c.passed)),
        }
    }

    fn nth(&self, document_type: &str, nth: usize) -> Option<&Sheet<'a>> {
        self.by_type.get(document_type)?.get(nth)
    }

    /// The parents' values as JSON, for an engine: documents by type, each with its fields and checks, and rules.
    pub(crate) fn context(&self, rule: &RuleSpec) -> serde_json::Value {
        let mut documents = serde_json::Map::new();
        let mut rules = serde_json::Map::new();
        for (name, source) in sources(rule) {
            let Some(document_type) = source.document_type() else {
                let answer = self.answers.get(name).and_then(|a| a.output.clone());
                rules.insert(name.to_owned(), answer.unwrap_or_default());
                continue;
            };
            let count = self.count_of(document_type);
            let list = documents
                .entry(document_type.to_owned())
                .or_insert_with(|| vec![serde_json::json!({}); count].into());
            let kind = match source {
                Source::Check { .. } => "visual_checks",
                Source::Field { .. } | Source::Rule(_) => "fields",
            };
            for (nth, document) in list.as_array_mut().into_iter().flatten().enumerate() {
                let value = to_json(&self.value(&source, nth));
                if let Some(part) = document.as_object_mut() {
                    let part = part
                        .entry(kind)
                        .or_insert_with(|| serde_json::Map::new().into());
                    if let Some(part) = part.as_object_mut() {
                        part.insert(name.to_owned(), value);
                    }
                }
            }
        }
        serde_json::json!({"documents": documents, "rules": rules})
    }
}

impl Sheet<'_> {
    fn field(&self, name: &str) -> Option<(&ExtractedField, bool)> {
        let specs = self.document_type.field_groups.iter();
        let spec = specs.flat_map(|g| &g.fields).find(|f| f.name == name)?;
        let mut fields = self.groups.iter().flat_map(|g| &g.fields);
        let field = fields.find(|f| f.name == name)?;
        Some((field, spec.field_type == FieldType::Array))
    }
}

fn to_json(value: &Value) -> serde_json::Value {
    match value {
        Value::Nothing => serde_json::Value::Null,
        Value::Flag(flag) => (*flag).into(),
        Value::Number(number) => super::answer::number(*number),
        Value::Text(text) => text.as_str().into(),
        Value::Date(date) => date.to_string().into(),
        Value::List(values) => values.iter().map(to_json).collect(),
        Value::Object(members) => {
            let members = members.iter().map(|(name, v)| (name.clone(), to_json(v)));
            serde_json::Value::Object(members.collect())
        }
    }
}
