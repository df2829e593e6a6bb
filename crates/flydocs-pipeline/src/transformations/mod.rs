//! What is done with groups after extraction: entities resolved here, everything else by an engine.

pub(crate) mod entities;

use flydocs_contract::{
    FieldValue,
    request::{Transformation, TransformationScope},
    result::{ExtractedField, ExtractedFieldGroup},
};

/// What every kind of transformation says.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Plan<'a> {
    pub(crate) id: Option<&'a str>,
    pub(crate) target: &'a str,
    pub(crate) output: Option<&'a str>,
    pub(crate) scope: TransformationScope,
}

impl<'a> Plan<'a> {
    pub(crate) fn of(transformation: &'a Transformation) -> Self {
        match transformation {
            Transformation::EntityResolution {
                id,
                target_group,
                output_group,
                scope,
                ..
            }
            | Transformation::Llm {
                id,
                target_group,
                output_group,
                scope,
                ..
            } => Self {
                id: id.as_deref(),
                target: target_group,
                output: output_group.as_deref(),
                scope: *scope,
            },
        }
    }

    /// The transformation in the words of a message.
    pub(crate) fn subject(&self) -> String {
        match self.id {
            Some(id) => format!("transformation {id:?}"),
            None => format!("the transformation of {:?}", self.target),
        }
    }

    /// The name of the group it makes.
    pub(crate) fn output_name(&self) -> &'a str {
        self.output.unwrap_or(self.target)
    }
}

/// Puts a group among others: in the place of its namesake, else at the end.
pub(crate) fn put(groups: &mut Vec<ExtractedFieldGroup>, group: ExtractedFieldGroup) {
    match groups.iter_mut().find(|g| g.name == group.name) {
        Some(old) => *old = group,
        None => groups.push(group),
    }
}

/// One group of the rows of several: the fields of the first, its array holding the rows of all.
pub(crate) fn gathered(groups: Vec<ExtractedFieldGroup>) -> Option<ExtractedFieldGroup> {
    let mut groups = groups.into_iter();
    let mut first = groups.next()?;
    let name = array_of(&first)?.name.clone();
    for group in groups {
        let rows = group
            .fields
            .into_iter()
            .find(|f| f.name == name)
            .and_then(|f| f.value);
        let Some(FieldValue::Fields(rows)) = rows else {
            continue;
        };
        if let Some(array) = first.fields.iter_mut().find(|f| f.name == name) {
            match &mut array.value {
                Some(FieldValue::Fields(all)) => all.extend(rows),
                _ => array.value = Some(FieldValue::Fields(rows)),
            }
        }
    }
    Some(first)
}

/// The group's first field that holds rows.
pub(crate) fn array_of(group: &ExtractedFieldGroup) -> Option<&ExtractedField> {
    group.fields.iter().find(|field| is_rows(field))
}

/// Whether a field holds rows of members (an object holds members, none of which holds members of its own name).
fn is_rows(field: &ExtractedField) -> bool {
    match &field.value {
        Some(FieldValue::Fields(rows)) => {
            !rows.is_empty()
                && rows
                    .iter()
                    .all(|row| matches!(row.value, Some(FieldValue::Fields(_)) | None))
        }
        _ => false,
    }
}
