//! The rows of a list as an indented table, one column a member.

use flydocs_contract::{ExtractedField, FieldValue};

use super::{
    Page,
    words::{percent, rule_word, shown},
};
use crate::output::{
    Paint,
    rows::{Grid, Lean, wrap},
};

/// More are noise.
const MOST_DECIMALS: usize = 6;

impl Page {
    /// The rows of a list.
    pub(super) fn table(&mut self, rows: &[ExtractedField], indent: usize) {
        let paint = self.look.paint;
        let width = self.look.width.saturating_sub(indent);
        let Some(names) = member_names(rows) else {
            for row in rows {
                let value = row.value.as_ref().map_or_else(|| "—".to_owned(), shown);
                let (mark, wrong) = mark(row, paint);
                self.tally.wrong += usize::from(wrong);
                for line in wrap(&value, width.saturating_sub(4)) {
                    self.push(format!("{}{line}  {mark}", " ".repeat(indent)));
                }
            }
            return;
        };
        let leans = names.iter().map(|name| lean(rows, name));
        let mut columns = vec![Lean::Right];
        columns.extend(leans);
        columns.extend([Lean::Right, Lean::Right, Lean::Left]);
        let mut grid = Grid::new(columns);
        let mut head = vec![String::new()];
        head.extend(names.iter().map(|n| (*n).to_owned()));
        head.extend(["conf".to_owned(), "page".to_owned(), String::new()]);
        grid.row(head);
        for (i, row) in rows.iter().enumerate() {
            let mut cells = vec![(i + 1).to_string()];
            for name in &names {
                let value = member(row, name).and_then(|m| m.value.as_ref());
                let digits = decimals(rows, name);
                cells.push(value.map_or_else(|| "—".to_owned(), |value| aligned(value, digits)));
            }
            let (mark, wrong) = row_mark(row, paint);
            self.tally.wrong += usize::from(wrong);
            let confidence = row_confidence(row);
            cells.push(paint.graded(confidence, &percent(confidence)));
            cells.push(row.pages.first().map_or_else(String::new, u32::to_string));
            cells.push(mark);
            grid.row(cells);
        }
        for (i, lines) in grid.lines(width).into_iter().enumerate() {
            for line in lines {
                let line = if i == 0 { paint.dim(&line) } else { line };
                self.push(format!("{}{line}", " ".repeat(indent)));
            }
            if let Some(row) = i.checked_sub(1).and_then(|i| rows.get(i)) {
                self.row_errors(row, indent + 3);
            }
        }
    }

    fn row_errors(&mut self, row: &ExtractedField, indent: usize) {
        let Some(FieldValue::Fields(members)) = &row.value else {
            return;
        };
        for member in members {
            for error in &member.validation.errors {
                let rule = rule_word(error.rule);
                let text = format!("{}: {rule}: {}", member.name, error.message);
                let paint = self.look.paint;
                for line in wrap(&text, self.look.width.saturating_sub(indent)) {
                    self.push(format!("{}{}", " ".repeat(indent), paint.bad(&line)));
                }
            }
        }
    }
}

/// Rows of a list all have one name: that of the list, or of its items. Names of members are unique.
pub(super) fn is_rows(field: &ExtractedField, children: &[ExtractedField]) -> bool {
    match children {
        [] => true,
        [one] => one.name == field.name || matches!(one.value, Some(FieldValue::Fields(_))),
        [first, rest @ ..] => rest.iter().all(|child| child.name == first.name),
    }
}

/// The members of rows that are objects, in the order they first stand.
fn member_names(rows: &[ExtractedField]) -> Option<Vec<&str>> {
    let mut names: Vec<&str> = Vec::new();
    for row in rows {
        let Some(FieldValue::Fields(members)) = &row.value else {
            return None;
        };
        for member in members {
            if !names.contains(&member.name.as_str()) {
                names.push(&member.name);
            }
        }
    }
    (!names.is_empty()).then_some(names)
}

fn member<'a>(row: &'a ExtractedField, name: &str) -> Option<&'a ExtractedField> {
    match &row.value {
        Some(FieldValue::Fields(members)) => members.iter().find(|m| m.name == name),
        _ => None,
    }
}

fn lean(rows: &[ExtractedField], name: &str) -> Lean {
    let numeric = rows.iter().all(|row| {
        !matches!(
            member(row, name).and_then(|m| m.value.as_ref()),
            Some(FieldValue::String(_) | FieldValue::Boolean(_) | FieldValue::Fields(_))
        )
    });
    if numeric { Lean::Right } else { Lean::Left }
}

/// How many decimals the numbers of a column need.
fn decimals(rows: &[ExtractedField], name: &str) -> usize {
    let values = rows
        .iter()
        .filter_map(|row| member(row, name)?.value.as_ref());
    let digits = values.filter_map(|value| match value {
        FieldValue::Number(number) => {
            let text = number.to_string();
            text.split_once('.').map(|(_, decimals)| decimals.len())
        }
        _ => None,
    });
    digits.max().unwrap_or(0).min(MOST_DECIMALS)
}

/// A number with the decimals of its column, so that points stand under points.
fn aligned(value: &FieldValue, digits: usize) -> String {
    match value {
        FieldValue::Number(number) => format!("{number:.digits$}"),
        other => shown(other),
    }
}

/// A row is as sure as its members on average, when it says nothing of itself.
fn row_confidence(row: &ExtractedField) -> f64 {
    if row.confidence > 0.0 {
        return row.confidence;
    }
    let Some(FieldValue::Fields(members)) = &row.value else {
        return 0.0;
    };
    let known: Vec<f64> = members
        .iter()
        .filter(|m| m.value.is_some())
        .map(|m| m.confidence)
        .collect();
    if known.is_empty() {
        0.0
    } else {
        known.iter().sum::<f64>() / known.len() as f64
    }
}

pub(super) fn mark(field: &ExtractedField, paint: Paint) -> (String, bool) {
    if !field.validation.valid {
        (paint.bad("✗"), true)
    } else if !field.validation.errors.is_empty() {
        (paint.warn("!"), false)
    } else if field.value.is_none() {
        (String::new(), false)
    } else {
        (paint.good("✓"), false)
    }
}

fn row_mark(row: &ExtractedField, paint: Paint) -> (String, bool) {
    let members_fine = match &row.value {
        Some(FieldValue::Fields(members)) => members.iter().all(|m| m.validation.valid),
        _ => true,
    };
    if members_fine {
        mark(row, paint)
    } else {
        (paint.bad("✗"), true)
    }
}
