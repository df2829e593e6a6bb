//! Document types: ids, names of fields, patterns, validators.

use std::collections::{HashMap, HashSet};

use flydocs_contract::{ErrorCode, Field, request::DocumentTypeSpec};

use super::Issues;
use crate::{patterns, validators};

pub(super) fn check(types: &[DocumentTypeSpec], issues: &mut Issues) {
    let mut ids = HashMap::new();
    let mut patterns = Patterns::default();
    for (i, document_type) in types.iter().enumerate() {
        let path = format!("document_types[{i}]");
        if let Some(first) = ids.insert(document_type.id.as_str(), i) {
            issues.error(
                ErrorCode::DuplicateDocumentType,
                format!("{path}.id"),
                format!(
                    "{:?} is already the id of document_types[{first}]",
                    document_type.id
                ),
            );
            ids.insert(document_type.id.as_str(), first);
        }
        // One type's fields are found by name, whichever group they stand in.
        let mut names = HashSet::new();
        for (g, group) in document_type.field_groups.iter().enumerate() {
            let path = format!("{path}.field_groups[{g}]");
            members(&group.fields, &path, &mut names, &mut patterns, issues);
        }
    }
}

fn members<'a>(
    fields: &'a [Field],
    path: &str,
    names: &mut HashSet<&'a str>,
    patterns: &mut Patterns<'a>,
    issues: &mut Issues,
) {
    for (f, field) in fields.iter().enumerate() {
        let path = format!("{path}.fields[{f}]");
        if !names.insert(&field.name) {
            issues.error(
                ErrorCode::DuplicateFieldName,
                format!("{path}.name"),
                format!("{:?} is already the name of another field", field.name),
            );
        }
        one(field, &path, patterns, issues);
    }
}

fn one<'a>(field: &'a Field, path: &str, patterns: &mut Patterns<'a>, issues: &mut Issues) {
    if let Some(pattern) = &field.pattern
        && let Some(reason) = patterns.fault(pattern)
    {
        issues.error(
            ErrorCode::InvalidPattern,
            format!("{path}.pattern"),
            format!("{pattern:?} cannot be used: {reason}"),
        );
    }
    for (v, validator) in field.validators.iter().enumerate() {
        if !validators::is_known(&validator.name) {
            let known = validators::names().collect::<Vec<_>>().join(", ");
            issues.error(
                ErrorCode::UnknownValidator,
                format!("{path}.validators[{v}].name"),
                format!("{:?} is no validator; known are {known}", validator.name),
            );
        }
    }
    if let Some(items) = &field.items {
        one(items, &format!("{path}.items"), patterns, issues);
    }
    if let Some(fields) = &field.fields {
        members(fields, path, &mut HashSet::new(), patterns, issues);
    }
}

/// What is wrong with patterns, each looked at once.
#[derive(Default)]
struct Patterns<'a> {
    faults: HashMap<&'a str, Option<String>>,
}

impl<'a> Patterns<'a> {
    fn fault(&mut self, pattern: &'a str) -> Option<String> {
        let fault = self.faults.entry(pattern);
        let fault = fault.or_insert_with(|| patterns::whole(pattern).err());
        fault.clone()
    }
}
