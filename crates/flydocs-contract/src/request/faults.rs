//! What the shapes alone cannot say, every fault at once: the rest of a 400 `invalid_request`.

use super::{DocumentTypeSpec, ExtractRequest, Field, FieldType};
use crate::problem::Fault;

const MAX_LANGUAGE_HINT: usize = 16;

impl ExtractRequest {
    /// Every structural fault of the request, in the order of the body. Files are not looked at when
    /// `files_come_apart` (multipart sends them as parts).
    pub fn faults(&self, files_come_apart: bool) -> Vec<Fault> {
        let mut faults = Vec::new();
        if !files_come_apart && self.files.is_empty() {
            faults.push(Fault::new("files", "at least one file is needed"));
        }
        for (i, file) in self.files.iter().enumerate() {
            if file.filename.is_empty() {
                faults.push(Fault::new(
                    format!("files[{i}].filename"),
                    "must not be empty",
                ));
            }
        }
        document_types(&self.document_types, &mut faults);
        for (i, rule) in self.rules.iter().enumerate() {
            if rule.id.is_empty() {
                faults.push(Fault::new(format!("rules[{i}].id"), "must not be empty"));
            }
        }
        self.option_faults(&mut faults);
        if let Some(url) = &self.callback_url {
            let fits = url::Url::parse(url)
                .is_ok_and(|u| matches!(u.scheme(), "http" | "https") && u.has_host());
            if !fits {
                faults.push(Fault::new("callback_url", "must be an http or https URL"));
            }
        }
        for key in self.metadata.keys().filter(|k| k.starts_with('_')) {
            faults.push(Fault::new(
                format!("metadata.{key}"),
                "keys that start with \"_\" are reserved",
            ));
        }
        faults
    }

    fn option_faults(&self, faults: &mut Vec<Fault>) {
        if let Some(hint) = &self.options.language_hint
            && hint.chars().count() > MAX_LANGUAGE_HINT
        {
            faults.push(Fault::new(
                "options.language_hint",
                format!("at most {MAX_LANGUAGE_HINT} characters"),
            ));
        }
        if let Some(escalation) = &self.options.escalation
            && !(0.0..=1.0).contains(&escalation.threshold)
        {
            faults.push(Fault::new(
                "options.escalation.threshold",
                "must be between 0 and 1",
            ));
        }
    }
}

/// The faults of document types alone, as a types file holds them.
pub fn document_types(types: &[DocumentTypeSpec], faults: &mut Vec<Fault>) {
    if types.is_empty() {
        faults.push(Fault::new(
            "document_types",
            "at least one document type is needed",
        ));
    }
    for (i, spec) in types.iter().enumerate() {
        let path = format!("document_types[{i}]");
        if spec.id.is_empty() {
            faults.push(Fault::new(format!("{path}.id"), "must not be empty"));
        }
        if let Some(country) = &spec.country
            && !(country.len() == 2 && country.bytes().all(|b| b.is_ascii_alphabetic()))
        {
            faults.push(Fault::new(
                format!("{path}.country"),
                "must be two letters (ISO 3166-1 alpha-2)",
            ));
        }
        if spec.field_groups.is_empty() {
            faults.push(Fault::new(
                format!("{path}.field_groups"),
                "at least one field group is needed",
            ));
        }
        for (g, group) in spec.field_groups.iter().enumerate() {
            let path = format!("{path}.field_groups[{g}]");
            if group.name.is_empty() {
                faults.push(Fault::new(format!("{path}.name"), "must not be empty"));
            }
            if group.fields.is_empty() {
                faults.push(Fault::new(
                    format!("{path}.fields"),
                    "at least one field is needed",
                ));
            }
            for (f, field) in group.fields.iter().enumerate() {
                one_field(
                    field,
                    &format!("{path}.fields[{f}]"),
                    Naming::Required,
                    faults,
                );
            }
        }
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Naming {
    Required,
    Optional,
}

fn one_field(field: &Field, path: &str, naming: Naming, faults: &mut Vec<Fault>) {
    if naming == Naming::Required && field.name.is_empty() {
        faults.push(Fault::new(format!("{path}.name"), "must not be empty"));
    }
    if let (Some(minimum), Some(maximum)) = (field.minimum, field.maximum)
        && minimum > maximum
    {
        faults.push(Fault::new(
            format!("{path}.minimum"),
            "must not be greater than maximum",
        ));
    }
    match (field.field_type, &field.items, &field.fields) {
        (FieldType::Array, None, _) => {
            faults.push(Fault::new(format!("{path}.items"), "an array needs items"));
        }
        (FieldType::Object, _, None) => {
            faults.push(Fault::new(
                format!("{path}.fields"),
                "an object needs fields",
            ));
        }
        _ => {}
    }
    if field.field_type != FieldType::Array && field.items.is_some() {
        faults.push(Fault::new(
            format!("{path}.items"),
            "only an array has items",
        ));
    }
    if field.field_type != FieldType::Object && field.fields.is_some() {
        faults.push(Fault::new(
            format!("{path}.fields"),
            "only an object has fields",
        ));
    }
    if let Some(items) = &field.items {
        one_field(items, &format!("{path}.items"), Naming::Optional, faults);
    }
    if let Some(members) = &field.fields {
        if members.is_empty() {
            faults.push(Fault::new(
                format!("{path}.fields"),
                "at least one field is needed",
            ));
        }
        for (i, member) in members.iter().enumerate() {
            one_field(
                member,
                &format!("{path}.fields[{i}]"),
                Naming::Required,
                faults,
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(body: serde_json::Value) -> ExtractRequest {
        serde_json::from_value(body).unwrap()
    }

    #[test]
    fn every_fault_is_named_at_once() {
        let request = request(serde_json::json!({
            "files": [],
            "document_types": [{"id": "", "field_groups": [{"name": "g", "fields": [
                {"name": "a", "type": "array"},
                {"name": "o", "type": "object", "fields": [{"name": "", "minimum": 2, "maximum": 1}]},
            ]}]}],
            "callback_url": "ftp://x",
            "metadata": {"_mine": 1},
        }));
        let paths: Vec<_> = request.faults(false).into_iter().map(|f| f.path).collect();
        assert_eq!(
            paths,
            [
                "files",
                "document_types[0].id",
                "document_types[0].field_groups[0].fields[0].items",
                "document_types[0].field_groups[0].fields[1].fields[0].name",
                "document_types[0].field_groups[0].fields[1].fields[0].minimum",
                "callback_url",
                "metadata._mine",
            ]
        );
    }

    #[test]
    fn every_optional_key_may_be_null() {
        let request = request(serde_json::json!({
            "intention": null,
            "files": [{"filename": "a", "content_base64": "", "content_type": null, "expected_type": null}],
            "document_types": [{"id": "t", "description": null, "country": null, "visual_checks": null,
                "field_groups": [{"name": "g", "description": null, "fields": [{"name": "f", "description": null,
                    "type": null, "required": null, "pattern": null, "format": null, "enum": null, "minimum": null,
                    "maximum": null, "items": null, "fields": null, "validators": null}]}]}],
            "rules": null, "options": null, "callback_url": null, "metadata": null,
        }));
        assert_eq!(request.faults(false), []);
        assert!(request.options.stages.classifier && request.options.return_bboxes);
        assert_eq!(request.intention, super::super::DEFAULT_INTENTION);
    }

    #[test]
    fn an_unknown_key_is_refused() {
        let body = serde_json::json!({"document_types": [], "colour": 1});
        assert!(
            serde_json::from_value::<ExtractRequest>(body)
                .unwrap_err()
                .to_string()
                .contains("colour")
        );
    }
}
