//! Holds extracted values against their fields' rules: in the contract's order, through arrays and objects.

use std::collections::HashMap;

use flydocs_contract::{
    Field, FieldType, FieldValue,
    request::{DocumentTypeSpec, FieldFormat, ValidatorSeverity},
    result::{
        ExtractedField, ExtractedFieldGroup, FieldValidation, FieldValidationError, ValidationRule,
    },
};
use regex::Regex;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::{
    patterns,
    validators::{self, iso8601},
};

/// What stands at the end of a message that does not make a value invalid.
const WARNING: &str = " [warning]";

/// Checks every field of the groups against the type, writing the verdicts into them. Stops between two fields when
/// nobody waits for them any more; they are then not to be used.
pub(crate) fn groups(
    document_type: &DocumentTypeSpec,
    groups: &mut [ExtractedFieldGroup],
    stop: &CancellationToken,
) {
    let mut checker = Checker::new(stop);
    for group in groups {
        let spec = document_type
            .field_groups
            .iter()
            .find(|g| g.name == group.name);
        if let Some(spec) = spec {
            checker.members(&spec.fields, &mut group.fields);
        }
    }
}

/// Holds the patterns it has compiled: rows of a table share theirs.
struct Checker<'a> {
    patterns: HashMap<String, Result<Regex, String>>,
    stop: &'a CancellationToken,
}

impl<'a> Checker<'a> {
    fn new(stop: &'a CancellationToken) -> Self {
        Self {
            patterns: HashMap::new(),
            stop,
        }
    }

    /// Checks fields by name; true when none has a hard error.
    fn members(&mut self, specs: &[Field], fields: &mut [ExtractedField]) -> bool {
        let mut all_valid = true;
        for field in fields {
            if let Some(spec) = specs.iter().find(|spec| spec.name == field.name) {
                all_valid &= self.one(spec, field);
            }
        }
        all_valid
    }

    /// Checks one field and all below it; true when it has no hard error.
    fn one(&mut self, spec: &Field, field: &mut ExtractedField) -> bool {
        if self.stop.is_cancelled() {
            return true;
        }
        let mut findings = Findings::default();
        match &field.value {
            None if spec.required => {
                findings.error(ValidationRule::Required, "a value is required");
            }
            None => {}
            Some(value) => self.value(spec, value, &mut findings),
        }
        let below = match (&mut field.value, spec.field_type) {
            (Some(FieldValue::Fields(rows)), FieldType::Array) => {
                let items = spec.items.as_deref();
                let mut all_valid = true;
                for row in rows {
                    // Every row gets its verdict, also after the first that fails.
                    all_valid &= items.is_none_or(|items| self.one(items, row));
                }
                all_valid
            }
            (Some(FieldValue::Fields(fields)), FieldType::Object) => {
                self.members(spec.fields.as_deref().unwrap_or_default(), fields)
            }
            _ => true,
        };
        let valid = findings.valid && below;
        field.validation = FieldValidation {
            valid,
            errors: findings.errors,
        };
        valid
    }

    fn value(&mut self, spec: &Field, value: &FieldValue, findings: &mut Findings) {
        if !has_type(spec.field_type, value) {
            let wanted = spec.field_type.as_str();
            findings.error(ValidationRule::Type, format!("must be of type {wanted}"));
            return;
        }
        if let (Some(pattern), Some(text)) = (&spec.pattern, text_of(value)) {
            match self.compiled(pattern) {
                Ok(regex) if regex.is_match(&text) => {}
                Ok(_) => findings.error(
                    ValidationRule::Pattern,
                    format!("does not match the pattern {pattern}"),
                ),
                Err(reason) => findings.error(
                    ValidationRule::Pattern,
                    format!("the pattern cannot be used: {reason}"),
                ),
            }
        }
        if let (Some(format), FieldValue::String(text)) = (spec.format, value)
            && !has_format(format, text)
        {
            let wanted = format.as_str();
            findings.error(
                ValidationRule::Format,
                format!("must have the format {wanted}"),
            );
        }
        if let Some(allowed) = &spec.allowed
            && !allowed.iter().any(|one| equals(one, value))
        {
            let list = allowed.iter().map(Value::to_string).collect::<Vec<_>>();
            findings.error(
                ValidationRule::Enum,
                format!("must be one of {}", list.join(", ")),
            );
        }
        if let Some(number) = number_of(value) {
            if let Some(minimum) = spec.minimum.filter(|m| number < *m) {
                findings.error(
                    ValidationRule::Minimum,
                    format!("must be at least {minimum}"),
                );
            }
            if let Some(maximum) = spec.maximum.filter(|m| number > *m) {
                findings.error(
                    ValidationRule::Maximum,
                    format!("must be at most {maximum}"),
                );
            }
        }
        for validator in &spec.validators {
            if let Err(wrong) = validators::check(validator, value) {
                match validator.severity {
                    ValidatorSeverity::Error => findings.error(ValidationRule::Validator, wrong),
                    ValidatorSeverity::Warning => {
                        findings.warning(ValidationRule::Validator, &wrong);
                    }
                }
            }
        }
    }

    fn compiled(&mut self, pattern: &str) -> &Result<Regex, String> {
        self.patterns
            .entry(pattern.to_owned())
            .or_insert_with(|| patterns::whole(pattern))
    }
}

/// Whether a value is of a type: an integer is a number, 5.0 is no integer, true is no number.
fn has_type(wanted: FieldType, value: &FieldValue) -> bool {
    match wanted {
        FieldType::String => matches!(value, FieldValue::String(_)),
        FieldType::Number => matches!(value, FieldValue::Integer(_) | FieldValue::Number(_)),
        FieldType::Integer => matches!(value, FieldValue::Integer(_)),
        FieldType::Boolean => matches!(value, FieldValue::Boolean(_)),
        FieldType::Array | FieldType::Object => matches!(value, FieldValue::Fields(_)),
    }
}

/// What a pattern is held against: a text, or a number as it is written.
fn text_of(value: &FieldValue) -> Option<String> {
    match value {
        FieldValue::String(text) => Some(text.clone()),
        FieldValue::Integer(number) => Some(number.to_string()),
        FieldValue::Number(number) => Some(number.to_string()),
        FieldValue::Boolean(_) | FieldValue::Fields(_) => None,
    }
}

fn number_of(value: &FieldValue) -> Option<f64> {
    match value {
        FieldValue::Integer(number) => Some(*number as f64),
        FieldValue::Number(number) => Some(*number),
        FieldValue::Boolean(_) | FieldValue::String(_) | FieldValue::Fields(_) => None,
    }
}

fn has_format(format: FieldFormat, text: &str) -> bool {
    match format {
        FieldFormat::Date => iso8601::is_calendar_date(text),
        FieldFormat::DateTime => iso8601::is_rfc3339(text),
        FieldFormat::Time => text.contains(':') && iso8601::is_time(text),
        FieldFormat::Email => validators::is_email(text),
        FieldFormat::Uri => validators::is_uri(text),
        FieldFormat::Uuid => validators::is_uuid(text),
        FieldFormat::Currency => validators::is_currency(text),
    }
}

/// Whether a value of the schema's list is the value; numbers by what they count, not how they are written.
fn equals(allowed: &Value, value: &FieldValue) -> bool {
    match value {
        FieldValue::String(text) => allowed.as_str() == Some(text),
        FieldValue::Boolean(flag) => allowed.as_bool() == Some(*flag),
        FieldValue::Integer(number) => {
            allowed.as_i64() == Some(*number) || allowed.as_f64() == Some(*number as f64)
        }
        FieldValue::Number(number) => allowed.as_f64() == Some(*number),
        FieldValue::Fields(_) => allowed.as_array().is_some_and(|list| {
            let FieldValue::Fields(rows) = value else {
                return false;
            };
            list.len() == rows.len()
                && list
                    .iter()
                    .zip(rows)
                    .all(|(allowed, row)| match &row.value {
                        Some(value) => equals(allowed, value),
                        None => allowed.is_null(),
                    })
        }),
    }
}

struct Findings {
    valid: bool,
    errors: Vec<FieldValidationError>,
}

impl Default for Findings {
    fn default() -> Self {
        Self {
            valid: true,
            errors: Vec::new(),
        }
    }
}

impl Findings {
    fn error(&mut self, rule: ValidationRule, message: impl Into<String>) {
        self.valid = false;
        self.errors.push(FieldValidationError {
            rule,
            message: message.into(),
        });
    }

    fn warning(&mut self, rule: ValidationRule, message: &str) {
        self.errors.push(FieldValidationError {
            rule,
            message: format!("{message}{WARNING}"),
        });
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn field(name: &str, value: Value) -> ExtractedField {
        ExtractedField {
            value: serde_json::from_value(value).unwrap(),
            ..ExtractedField::empty(name)
        }
    }

    fn checked(spec: Value, value: Value) -> FieldValidation {
        let spec: Field = serde_json::from_value(spec).unwrap();
        let mut field = field(&spec.name.clone(), value);
        Checker::new(&CancellationToken::new()).one(&spec, &mut field);
        field.validation
    }

    fn rules(validation: &FieldValidation) -> Vec<ValidationRule> {
        validation.errors.iter().map(|e| e.rule).collect()
    }

    #[test]
    fn every_rule_is_kept_or_named() {
        use ValidationRule::{Enum, Format, Maximum, Minimum, Pattern, Required, Type, Validator};
        for (spec, value, wanted) in [
            (
                json!({"name": "f", "required": true}),
                json!(null),
                vec![Required],
            ),
            (json!({"name": "f"}), json!(null), vec![]),
            (
                json!({"name": "f", "required": true, "pattern": "x"}),
                json!("y"),
                vec![Pattern],
            ),
            (json!({"name": "f"}), json!(1), vec![Type]),
            (json!({"name": "f", "type": "number"}), json!(5), vec![]),
            (json!({"name": "f", "type": "number"}), json!(5.5), vec![]),
            (
                json!({"name": "f", "type": "integer"}),
                json!(5.0),
                vec![Type],
            ),
            (
                json!({"name": "f", "type": "integer"}),
                json!(true),
                vec![Type],
            ),
            (
                json!({"name": "f", "type": "number"}),
                json!(true),
                vec![Type],
            ),
            (
                json!({"name": "f", "type": "boolean"}),
                json!(false),
                vec![],
            ),
            (
                json!({"name": "f", "pattern": "[A-Z]{2}"}),
                json!("ABC"),
                vec![Pattern],
            ),
            (
                json!({"name": "f", "type": "integer", "pattern": "\\d{3}"}),
                json!(1234),
                vec![Pattern],
            ),
            (
                json!({"name": "f", "format": "date"}),
                json!("2024-02-30"),
                vec![Format],
            ),
            (
                json!({"name": "f", "format": "date"}),
                json!("20240229"),
                vec![Format],
            ),
            (
                json!({"name": "f", "format": "date"}),
                json!("2024-02-29"),
                vec![],
            ),
            (
                json!({"name": "f", "format": "date-time"}),
                json!("2024-02-29T10:00:00Z"),
                vec![],
            ),
            (
                json!({"name": "f", "format": "date-time"}),
                json!("2024-02-29T10:00"),
                vec![Format],
            ),
            (
                json!({"name": "f", "format": "time"}),
                json!("10:00:00"),
                vec![],
            ),
            (
                json!({"name": "f", "format": "time"}),
                json!("10"),
                vec![Format],
            ),
            (
                json!({"name": "f", "format": "email"}),
                json!("a@b.co"),
                vec![],
            ),
            (
                json!({"name": "f", "format": "email"}),
                json!("a@b"),
                vec![Format],
            ),
            (
                json!({"name": "f", "format": "uri"}),
                json!("example.org"),
                vec![Format],
            ),
            (
                json!({"name": "f", "format": "uuid"}),
                json!("1"),
                vec![Format],
            ),
            (
                json!({"name": "f", "format": "currency"}),
                json!("EUR"),
                vec![],
            ),
            (
                json!({"name": "f", "format": "currency"}),
                json!("EURO"),
                vec![Format],
            ),
            (
                json!({"name": "f", "enum": ["a", "b"]}),
                json!("c"),
                vec![Enum],
            ),
            (
                json!({"name": "f", "type": "number", "enum": [1, 2]}),
                json!(2.0),
                vec![],
            ),
            (
                json!({"name": "f", "type": "number", "minimum": 1}),
                json!(0.5),
                vec![Minimum],
            ),
            (
                json!({"name": "f", "type": "number", "minimum": 1, "maximum": 2}),
                json!(2),
                vec![],
            ),
            (
                json!({"name": "f", "type": "integer", "maximum": 2}),
                json!(3),
                vec![Maximum],
            ),
            (
                json!({"name": "f", "validators": [{"name": "iban"}]}),
                json!("x"),
                vec![Validator],
            ),
            // All of them, in this order; a wrong type ends it.
            (
                json!({"name": "f", "pattern": "x", "format": "email", "enum": ["y"],
                    "validators": [{"name": "iban"}, {"name": "slug"}]}),
                json!("A"),
                vec![Pattern, Format, Enum, Validator, Validator],
            ),
            (
                json!({"name": "f", "pattern": "x", "enum": ["y"]}),
                json!(true),
                vec![Type],
            ),
        ] {
            let validation = checked(spec.clone(), value.clone());
            assert_eq!(rules(&validation), wanted, "{spec} {value}");
            assert_eq!(validation.valid, wanted.is_empty(), "{spec} {value}");
        }
    }

    #[test]
    fn a_warning_is_said_and_leaves_the_value_valid() {
        let spec = json!({"name": "f", "validators": [
            {"name": "iban", "severity": "warning"}, {"name": "slug", "severity": "error"}]});
        let validation = checked(spec.clone(), json!("a"));
        assert!(validation.valid);
        assert!(validation.errors[0].message.ends_with(" [warning]"));
        let validation = checked(spec, json!("A"));
        assert!(!validation.valid);
        assert!(!validation.errors[1].message.ends_with(" [warning]"));
    }

    #[test]
    fn validators_run_in_the_declared_order() {
        let spec = json!({"name": "f", "validators": [{"name": "slug"}, {"name": "iban"}, {"name": "email"}]});
        let messages: Vec<_> = checked(spec, json!("A B"))
            .errors
            .into_iter()
            .map(|e| e.message)
            .collect();
        let names: Vec<_> = messages
            .iter()
            .filter_map(|m| m.split(':').next())
            .collect();
        assert_eq!(names, ["slug", "iban", "email"]);
    }

    #[test]
    fn a_container_is_as_valid_as_its_members_to_any_depth() {
        let spec: Field = serde_json::from_value(json!({
            "name": "lines", "type": "array", "items": {"type": "object", "fields": [
                {"name": "code", "pattern": "[0-9]+"},
                {"name": "tags", "type": "array", "items": {"type": "string", "pattern": "[a-z]+"}},
            ]},
        }))
        .unwrap();
        let list = |name: &str, below: Vec<ExtractedField>| ExtractedField {
            value: Some(FieldValue::Fields(below)),
            ..ExtractedField::empty(name)
        };
        let row = |code: &str, tag: &str| {
            list(
                "lines",
                vec![
                    field("code", json!(code)),
                    list(
                        "tags",
                        vec![field("tags", json!("ok")), field("tags", json!(tag))],
                    ),
                ],
            )
        };
        let mut lines = list("lines", vec![row("1", "a"), row("2", "B"), row("x", "c")]);
        assert!(!Checker::new(&CancellationToken::new()).one(&spec, &mut lines));
        let below = |field: &ExtractedField| match &field.value {
            Some(FieldValue::Fields(below)) => below.clone(),
            other => panic!("not a container: {other:?}"),
        };
        let verdicts: Vec<_> = below(&lines).iter().map(|r| r.validation.valid).collect();
        assert_eq!(verdicts, [true, false, false]);
        let second = &below(&lines)[1];
        assert!(below(second)[0].validation.valid && !below(second)[1].validation.valid);
        assert!(below(&below(second)[1])[0].validation.valid);
        assert!(!below(&below(second)[1])[1].validation.valid);
        // A container without an error of its own lists none.
        assert_eq!(lines.validation.errors, []);
    }

    #[test]
    fn members_are_found_by_name_whatever_their_order() {
        let document_type: DocumentTypeSpec = serde_json::from_value(json!({"id": "t", "field_groups": [
            {"name": "g", "fields": [{"name": "a", "pattern": "a"}, {"name": "b", "pattern": "b"}]}]}))
        .unwrap();
        let mut found = vec![ExtractedFieldGroup {
            name: "g".to_owned(),
            fields: vec![field("b", json!("b")), field("a", json!("b"))],
        }];
        groups(&document_type, &mut found, &CancellationToken::new());
        let verdicts: Vec<_> = found[0].fields.iter().map(|f| f.validation.valid).collect();
        assert_eq!(verdicts, [true, false]);
    }
}
