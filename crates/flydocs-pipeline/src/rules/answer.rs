//! What a rule may answer: its output's type, and the answers allowed.

use flydocs_contract::request::{RuleOutputType, RuleSpec};
use serde_json::Value;

/// An answer and what a person should look at.
pub(crate) type Fitted = (Option<Value>, Option<String>);

/// Keeps an answer that fits the rule's output; says of another why it was not kept.
pub(crate) fn fit(rule: &RuleSpec, given: &Value) -> Fitted {
    match conformed(rule, given) {
        Ok(value) => (Some(value), None),
        Err(why) => (None, Some(why)),
    }
}

/// The answer in the rule's own type, when it is one of those allowed; else what is wrong with it.
pub(crate) fn conformed(rule: &RuleSpec, given: &Value) -> Result<Value, String> {
    let wanted = rule.output.output_type;
    let Some(value) = of_type(wanted, given) else {
        let wanted = match wanted {
            RuleOutputType::Boolean => "boolean",
            RuleOutputType::String => "string",
            RuleOutputType::Number => "number",
        };
        return Err(format!("the answer {given} is not of type {wanted}"));
    };
    let text = match &value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    match &rule.output.valid_outputs {
        Some(allowed) if !allowed.iter().any(|a| is_same(wanted, a, &text)) => Err(format!(
            "the answer {given} is not among {}",
            allowed.join(", ")
        )),
        _ => Ok(value),
    }
}

fn of_type(wanted: RuleOutputType, given: &Value) -> Option<Value> {
    match (wanted, given) {
        (RuleOutputType::Boolean, Value::Bool(_)) | (RuleOutputType::String, Value::String(_)) => {
            Some(given.clone())
        }
        (RuleOutputType::Boolean, Value::String(text)) => {
            match text.trim().to_lowercase().as_str() {
                "true" => Some(true.into()),
                "false" => Some(false.into()),
                _ => None,
            }
        }
        (RuleOutputType::Number, Value::Number(_)) => Some(number(given.as_f64()?)),
        (RuleOutputType::Number, Value::String(text)) => {
            let parsed: f64 = text.trim().parse().ok()?;
            parsed.is_finite().then(|| number(parsed))
        }
        _ => None,
    }
}

fn is_same(wanted: RuleOutputType, allowed: &str, text: &str) -> bool {
    let as_number = |text: &str| text.trim().parse::<f64>().ok();
    match wanted {
        RuleOutputType::Number => allowed == text || as_number(allowed) == as_number(text),
        RuleOutputType::Boolean => allowed.eq_ignore_ascii_case(text),
        RuleOutputType::String => allowed == text,
    }
}

/// A number as JSON: whole where it is whole.
pub(crate) fn number(number: f64) -> Value {
    // Sums of cents carry the dust of binary fractions.
    let clean = (number * 1e9).round() / 1e9;
    let clean = if clean.is_finite() { clean } else { number };
    if clean.fract() == 0.0 && clean.abs() < 9e15 {
        return (clean as i64).into();
    }
    clean.into()
}
