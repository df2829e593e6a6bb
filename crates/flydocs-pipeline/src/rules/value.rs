//! Values of the deterministic form, and how they compare and compute.

use chrono::{Days, NaiveDate};
use flydocs_contract::{FieldValue, result::ExtractedField};

use crate::validators::iso8601::calendar_date;

/// A value inside a predicate.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Value {
    Nothing,
    Flag(bool),
    Number(f64),
    Text(String),
    Date(NaiveDate),
    List(Vec<Self>),
    Object(Vec<(String, Self)>),
}

/// Why a predicate has no answer here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Undecided {
    /// A value it needs is not in the document.
    Missing(String),
    /// It is not of the deterministic form after all: a model has to read it.
    NotSimple,
}

/// What comparisons and arithmetic answer.
pub(crate) type Decided<T = Value> = Result<T, Undecided>;

impl Value {
    /// The value of a field.
    pub(crate) fn of_field(field: &ExtractedField, is_array: bool) -> Self {
        match &field.value {
            None => Self::Nothing,
            Some(FieldValue::Boolean(flag)) => Self::Flag(*flag),
            Some(FieldValue::Integer(number)) => Self::Number(*number as f64),
            Some(FieldValue::Number(number)) => Self::Number(*number),
            Some(FieldValue::String(text)) => Self::of_text(text),
            Some(FieldValue::Fields(rows)) if is_array => {
                let rows = rows.iter().map(|row| Self::of_field(row, false));
                Self::List(rows.collect())
            }
            Some(FieldValue::Fields(members)) => {
                let members = members.iter().map(|member| {
                    let is_rows = is_list(member);
                    (member.name.clone(), Self::of_field(member, is_rows))
                });
                Self::Object(members.collect())
            }
        }
    }

    /// A text; one that is a date of the calendar is one.
    pub(crate) fn of_text(text: &str) -> Self {
        let text = text.trim();
        calendar_date(text).map_or_else(|| Self::Text(text.to_owned()), Self::Date)
    }

    /// A value that came back from a rule.
    pub(crate) fn of_json(value: &serde_json::Value) -> Self {
        match value {
            serde_json::Value::Bool(flag) => Self::Flag(*flag),
            serde_json::Value::Number(number) => {
                number.as_f64().map_or(Self::Nothing, Self::Number)
            }
            serde_json::Value::String(text) => Self::of_text(text),
            serde_json::Value::Null
            | serde_json::Value::Array(_)
            | serde_json::Value::Object(_) => Self::Nothing,
        }
    }

    /// Whether there is anything: a text that is not blank, a list or object with something in it.
    pub(crate) fn is_present(&self) -> bool {
        match self {
            Self::Nothing => false,
            Self::Text(text) => !text.is_empty(),
            Self::List(values) => values.iter().any(Self::is_present),
            Self::Object(members) => members.iter().any(|(_, value)| value.is_present()),
            Self::Flag(_) | Self::Number(_) | Self::Date(_) => true,
        }
    }

    /// A member of an object; of a list, that member of every row.
    pub(crate) fn member(&self, name: &str) -> Option<Self> {
        match self {
            Self::Nothing => Some(Self::Nothing),
            Self::Object(members) => {
                let found = members.iter().find(|(known, _)| known == name);
                found.map(|(_, value)| value.clone())
            }
            Self::List(rows) => {
                let values: Option<Vec<_>> = rows.iter().map(|row| row.member(name)).collect();
                values.map(Self::List)
            }
            Self::Flag(_) | Self::Number(_) | Self::Text(_) | Self::Date(_) => None,
        }
    }

    /// The value in the words of a note.
    pub(crate) fn shown(&self) -> String {
        match self {
            Self::Nothing => "nothing".to_owned(),
            Self::Flag(flag) => flag.to_string(),
            Self::Number(number) => number.to_string(),
            Self::Text(text) => format!("{text:?}"),
            Self::Date(date) => date.to_string(),
            Self::List(values) => {
                let values: Vec<_> = values.iter().map(Self::shown).collect();
                format!("[{}]", values.join(", "))
            }
            Self::Object(_) => "an object".to_owned(),
        }
    }
}

/// Rows of an array share one name, members of an object never do.
fn is_list(field: &ExtractedField) -> bool {
    let Some(FieldValue::Fields(below)) = &field.value else {
        return false;
    };
    match below.as_slice() {
        [] => true,
        [only] => matches!(only.value, Some(FieldValue::Fields(_))),
        [first, rest @ ..] => rest.iter().all(|field| field.name == first.name),
    }
}

/// Two numbers are equal when they differ by no more than arithmetic itself may make of them.
pub(crate) fn is_close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-9 * a.abs().max(b.abs()).max(1.0)
}

/// How two values of one kind stand to each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Relation {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

/// Compares two values that are there.
pub(crate) fn compare(relation: Relation, a: &Value, b: &Value) -> Decided<bool> {
    use std::cmp::Ordering;
    let ordering = match (a, b) {
        (Value::Number(a), Value::Number(b)) if is_close(*a, *b) => Ordering::Equal,
        (Value::Number(a), Value::Number(b)) => a.partial_cmp(b).ok_or(Undecided::NotSimple)?,
        (Value::Date(a), Value::Date(b)) => a.cmp(b),
        (Value::Text(_) | Value::Date(_), Value::Text(_) | Value::Date(_))
        | (Value::Flag(_), Value::Flag(_)) => {
            return match relation {
                Relation::Equal => Ok(a == b),
                Relation::NotEqual => Ok(a != b),
                Relation::Less
                | Relation::LessOrEqual
                | Relation::Greater
                | Relation::GreaterOrEqual => Err(Undecided::NotSimple),
            };
        }
        _ => return Err(Undecided::NotSimple),
    };
    Ok(match relation {
        Relation::Equal => ordering.is_eq(),
        Relation::NotEqual => ordering.is_ne(),
        Relation::Less => ordering.is_lt(),
        Relation::LessOrEqual => ordering.is_le(),
        Relation::Greater => ordering.is_gt(),
        Relation::GreaterOrEqual => ordering.is_ge(),
    })
}

/// The four operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operation {
    Add,
    Subtract,
    Multiply,
    Divide,
}

/// Computes with two values that are there; dates take days and give days.
pub(crate) fn compute(operation: Operation, a: &Value, b: &Value) -> Decided {
    let number = match (operation, a, b) {
        (Operation::Add, Value::Number(a), Value::Number(b)) => a + b,
        (Operation::Subtract, Value::Number(a), Value::Number(b)) => a - b,
        (Operation::Multiply, Value::Number(a), Value::Number(b)) => a * b,
        (Operation::Divide, Value::Number(a), Value::Number(b)) => a / b,
        (Operation::Subtract, Value::Date(a), Value::Date(b)) => (*a - *b).num_days() as f64,
        (Operation::Add, Value::Date(date), Value::Number(days)) => return shifted(*date, *days),
        (Operation::Subtract, Value::Date(date), Value::Number(days)) => {
            return shifted(*date, -days);
        }
        _ => return Err(Undecided::NotSimple),
    };
    if number.is_finite() {
        Ok(Value::Number(number))
    } else {
        Err(Undecided::NotSimple)
    }
}

fn shifted(date: NaiveDate, days: f64) -> Decided {
    if days.fract() != 0.0 || days.abs() > 1e6 {
        return Err(Undecided::NotSimple);
    }
    let count = Days::new(days.abs() as u64);
    let moved = if days < 0.0 {
        date.checked_sub_days(count)
    } else {
        date.checked_add_days(count)
    };
    moved.map(Value::Date).ok_or(Undecided::NotSimple)
}
