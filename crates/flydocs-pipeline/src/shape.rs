//! Brings what an engine answered into the shape of the declared type.
//!
//! Whatever an engine leaves out, adds, or puts out of order, a result has every field of the type, in the type's
//! order, with pages of its document and figures inside their bounds.

use std::collections::HashMap;

use flydocs_contract::{
    BoundingBox, FieldType, FieldValue,
    request::{DocumentTypeSpec, Field, FieldGroup},
    result::{ExtractedField, ExtractedFieldGroup},
};

/// A confidence inside 0 to 1.
pub(crate) fn confidence(value: f64) -> f64 {
    if value.is_finite() {
        value.clamp(0.0, 1.0)
    } else {
        0.0
    }
}

/// The groups of the type, filled with what was answered for the pages of one document.
pub(crate) fn groups(
    document_type: &DocumentTypeSpec,
    answered: Vec<ExtractedFieldGroup>,
    pages: &[u32],
) -> Vec<ExtractedFieldGroup> {
    let mut answered: Vec<Option<ExtractedFieldGroup>> = answered.into_iter().map(Some).collect();
    let wanted = document_type.field_groups.iter();
    wanted
        .map(|spec| {
            let found = answered
                .iter_mut()
                .find(|a| a.as_ref().is_some_and(|a| a.name == spec.name))
                .and_then(Option::take);
            group(spec, found.map(|g| g.fields).unwrap_or_default(), pages)
        })
        .collect()
}

/// One group of the type, filled with what was answered.
pub(crate) fn group(
    spec: &FieldGroup,
    answered: Vec<ExtractedField>,
    pages: &[u32],
) -> ExtractedFieldGroup {
    ExtractedFieldGroup {
        name: spec.name.clone(),
        fields: members(&spec.fields, answered, pages),
    }
}

fn members(wanted: &[Field], answered: Vec<ExtractedField>, pages: &[u32]) -> Vec<ExtractedField> {
    let mut by_name = HashMap::new();
    for field in answered {
        by_name.entry(field.name.clone()).or_insert(field);
    }
    let fields = wanted.iter().map(|spec| {
        by_name.remove(&spec.name).map_or_else(
            || ExtractedField::empty(spec.name.clone()),
            |found| one(spec, found, pages),
        )
    });
    fields.collect()
}

fn one(spec: &Field, mut field: ExtractedField, pages: &[u32]) -> ExtractedField {
    field.confidence = confidence(field.confidence);
    field.pages.retain(|page| pages.contains(page));
    let mut seen = Vec::new();
    field.pages.retain(|page| {
        let is_new = !seen.contains(page);
        seen.push(*page);
        is_new
    });
    if let ([only], true, true) = (pages, field.pages.is_empty(), field.value.is_some()) {
        field.pages.push(*only);
    }
    field.bbox = field.bbox.and_then(inside);
    field.value = match (spec.field_type, field.value.take()) {
        (FieldType::Array, Some(FieldValue::Fields(rows))) => {
            let items = spec.items.as_deref();
            let name = items.map_or("", |i| i.name.as_str());
            let name = if name.is_empty() { &spec.name } else { name };
            let rows = rows.into_iter().map(|row| {
                let row = ExtractedField {
                    name: name.to_owned(),
                    ..row
                };
                match items {
                    Some(items) => one(items, row, pages),
                    None => row,
                }
            });
            Some(FieldValue::Fields(rows.collect()))
        }
        (FieldType::Object, Some(FieldValue::Fields(found))) => {
            let wanted = spec.fields.as_deref().unwrap_or_default();
            Some(FieldValue::Fields(members(wanted, found, pages)))
        }
        // No figure: JSON has no word for it.
        (_, Some(FieldValue::Number(number))) if !number.is_finite() => None,
        // A wrong type is left as it is: field_validation says so.
        (_, value) => value,
    };
    field
}

/// The box cut to the page; `None` when it has edges that are no figures.
fn inside(bbox: BoundingBox) -> Option<BoundingBox> {
    let edges = [bbox.xmin, bbox.ymin, bbox.xmax, bbox.ymax];
    edges.iter().all(|e| e.is_finite()).then(|| BoundingBox {
        xmin: bbox.xmin.clamp(0.0, 1.0),
        ymin: bbox.ymin.clamp(0.0, 1.0),
        xmax: bbox.xmax.clamp(0.0, 1.0),
        ymax: bbox.ymax.clamp(0.0, 1.0),
        ..bbox
    })
}
