//! Document types: ids, names of fields, patterns, validators.

use std::collections::{HashMap, HashSet};

use flydocs_contract::{ErrorCode, Field, request::DocumentTypeSpec};

use super::Issues;
use crate::{patterns, validators};

pub(super) fn check(types: &[DocumentTypeSpec], issues: &mut Issues) {
    let mut ids = HashMap::new();
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
            members(&group.fields, &path, &mut names, issues);
        }
    }
}

fn members<'a>(fields: &'a [Field], path: &str, names: &mut HashSet<&'a str>, issues: &mut Issues) {
    for (f, field) in fields.iter().enumerate() {
        let path = format!("{path}.fields[{f}]");
        if !names.insert(&field.name) {
            issues.error(
                ErrorCode::DuplicateFieldName,
                format!("{path}.name"),
                format!("{:?} is already the name of another field", field.name),
            );
        }
        one(field, &path, issues);
    }
}

fn one(field: &Field, path: &str, issues: &mut Issues) {
    if let Some(pattern) = &field.pattern
        && let Err(reason) = patterns::whole(pattern)
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
        one(items, &format!("{path}.items"), issues);
    }
    if let Some(fields) = &field.fields {
        members(fields, path, &mut HashSet::new(), issues);
    }
}
