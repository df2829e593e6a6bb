//! What is done with groups after extraction: entities resolved here, everything else by an engine.

pub(crate) mod entities;

use flydocs_contract::{
    FieldType, FieldValue,
    request::{DocumentTypeSpec, FieldGroup, Transformation, TransformationScope},
    result::ExtractedFieldGroup,
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

/// The schema of a group: its namesake's, or for a group that a transformation made, that of the same fields.
pub(crate) fn schema_of<'a>(
    document_type: &'a DocumentTypeSpec,
    group: &ExtractedFieldGroup,
) -> Option<&'a FieldGroup> {
    let groups = || document_type.field_groups.iter();
    let has_fields_of = |spec: &&FieldGroup| {
        let names = spec.fields.iter().map(|f| f.name.as_str());
        names.eq(group.fields.iter().map(|f| f.name.as_str()))
    };
    groups()
        .find(|spec| spec.name == group.name)
        .or_else(|| groups().find(has_fields_of))
}

/// The name of the first array among a group's fields.
pub(crate) fn first_array(schema: &FieldGroup) -> Option<&str> {
    let array = schema
        .fields
        .iter()
        .find(|f| f.field_type == FieldType::Array);
    array.map(|f| f.name.as_str())
}

/// One group of several: the fields of the first, each array holding the rows of all.
pub(crate) fn gathered(groups: Vec<ExtractedFieldGroup>) -> Option<ExtractedFieldGroup> {
    let mut groups = groups.into_iter();
    let mut first = groups.next()?;
    for field in groups.flat_map(|group| group.fields) {
        let Some(FieldValue::Fields(rows)) = field.value else {
            continue;
        };
        let Some(array) = first.fields.iter_mut().find(|f| f.name == field.name) else {
            continue;
        };
        match &mut array.value {
            Some(FieldValue::Fields(all)) => all.extend(rows),
            _ => array.value = Some(FieldValue::Fields(rows)),
        }
        for page in field.pages {
            if !array.pages.contains(&page) {
                array.pages.push(page);
            }
        }
        array.confidence = array.confidence.max(field.confidence);
    }
    Some(first)
}
