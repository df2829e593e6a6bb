//! Holds extracted values against their fields' rules: in the contract's order, through arrays and objects.

use flydocs_contract::{
    Field, FieldType, FieldValue,
    request::{DocumentTypeSpec, FieldFormat, ValidatorSeverity},
    result::{
        ExtractedField, ExtractedFieldGroup, FieldValidation, FieldValidationError, ValidationRule,
    },
};
use serde_json::Value;

use crate::{
    patterns,
    validators::{self, iso8601},
};

/// What stands at the end of a message that does not make a value invalid.
const WARNING: &str = " [warning]";

/// Checks every field of the groups against the type, writing the verdicts into them.
pub(crate) fn groups(document_type: &DocumentTypeSpec, groups: &mut [ExtractedFieldGroup]) {
    for group in groups {
        let spec = document_type
            .field_groups
            .iter()
            .find(|g| g.name == group.name);
        if let Some(spec) = spec {
            members(&spec.fields, &mut group.fields);
        }
    }
}

/// Checks fields by name; true when none has a hard error.
fn members(specs: &[Field], fields: &mut [ExtractedField]) -> bool {
    let mut all_valid = true;
    for field in fields {
        if let Some(spec) = specs.iter().find(|spec| spec.name == field.name) {
            all_valid &= one(spec, field);
        }
    }
    all_valid
}

/// Checks one field and all below it; true when it has no hard error.
fn one(spec: &Field, field: &mut ExtractedField) -> bool {
    let mut findings = Findings::default();
    match &field.value {
        None if spec.required => findings.error(ValidationRule::Required, "a value is required"),
        None => {}
        Some(value) => value_of(spec, value, &mut findings),
    }
    let below = match (&mut field.value, spec.field_type) {
        (Some(FieldValue::Fields(rows)), FieldType::Array) => {
            let items = spec.items.as_deref();
            let verdicts = rows
                .iter_mut()
                .map(|row| items.is_none_or(|items| one(items, row)));
            // Every row gets its verdict, also after the first that fails.
            verdicts.fold(true, |all, valid| all && valid)
        }
        (Some(FieldValue::Fields(fields)), FieldType::Object) => {
            members(spec.fields.as_deref().unwrap_or_default(), fields)
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

fn value_of(spec: &Field, value: &FieldValue, findings: &mut Findings) {
    if !has_type(spec.field_type, value) {
        let wanted = spec.field_type.as_str();
        findings.error(ValidationRule::Type, format!("must be of type {wanted}"));
        return;
    }
    if let (Some(pattern), Some(text)) = (&spec.pattern, text_of(value)) {
        match patterns::whole(pattern) {
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
                ValidatorSeverity::Warning => findings.warning(ValidationRule::Validator, &wrong),
            }
        }
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
