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

#[cfg(test)]
mod tests {
    use flydocs_contract::{BoxSource, Rect};
    use serde_json::json;

    use super::*;

    fn spec() -> DocumentTypeSpec {
        serde_json::from_value(json!({"id": "t", "field_groups": [
            {"name": "g", "fields": [
                {"name": "a"},
                {"name": "n", "type": "number"},
                {"name": "rows", "type": "array", "items": {"type": "object", "fields": [{"name": "x"}, {"name": "y"}]}},
            ]},
            {"name": "h", "fields": [{"name": "b"}]},
        ]}))
        .unwrap()
    }

    fn field(name: &str, value: FieldValue, pages: &[u32]) -> ExtractedField {
        ExtractedField {
            value: Some(value),
            pages: pages.to_vec(),
            confidence: 0.5,
            ..ExtractedField::empty(name)
        }
    }

    fn text(value: &str) -> FieldValue {
        FieldValue::String(value.to_owned())
    }

    #[test]
    fn every_field_of_the_type_is_there_in_its_order_and_nothing_else() {
        let row = |members| field("whatever", FieldValue::Fields(members), &[2]);
        let answered = vec![
            ExtractedFieldGroup {
                name: "unasked".to_owned(),
                fields: vec![field("a", text("no"), &[2])],
            },
            ExtractedFieldGroup {
                name: "g".to_owned(),
                fields: vec![
                    field("extra", text("no"), &[2]),
                    field(
                        "rows",
                        FieldValue::Fields(vec![row(vec![
                            field("y", text("2"), &[2]),
                            field("z", text("no"), &[2]),
                        ])]),
                        &[2],
                    ),
                    field("a", text("first"), &[9, 3, 2, 3]),
                    field("a", text("second"), &[2]),
                ],
            },
        ];
        let groups = groups(&spec(), answered, &[2, 3]);
        let names: Vec<_> = groups.iter().map(|g| g.name.as_str()).collect();
        assert_eq!(names, ["g", "h"]);
        let fields = &groups[0].fields;
        let names: Vec<_> = fields.iter().map(|f| f.name.as_str()).collect();
        assert_eq!(names, ["a", "n", "rows"]);
        assert_eq!(
            (fields[0].value.clone(), fields[0].pages.as_slice()),
            (Some(text("first")), [3, 2].as_slice())
        );
        assert_eq!(fields[1], ExtractedField::empty("n"));
        let Some(FieldValue::Fields(rows)) = &fields[2].value else {
            panic!("rows are left")
        };
        assert_eq!(rows[0].name, "rows");
        let Some(FieldValue::Fields(members)) = &rows[0].value else {
            panic!("members are left")
        };
        assert_eq!(members[0], ExtractedField::empty("x"));
        assert_eq!(
            (members.len(), members[1].value.clone()),
            (2, Some(text("2")))
        );
        assert_eq!(groups[1].fields, [ExtractedField::empty("b")]);
    }

    #[test]
    fn figures_stay_inside_their_bounds() {
        let boxed = |rect: Rect| ExtractedField {
            bbox: Some(BoundingBox::unjudged(rect, BoxSource::Llm, None)),
            confidence: f64::NAN,
            ..field("a", text("x"), &[])
        };
        let one = |field| {
            let group = ExtractedFieldGroup {
                name: "g".to_owned(),
                fields: vec![field],
            };
            groups(&spec(), vec![group], &[7])
                .remove(0)
                .fields
                .remove(0)
        };
        let outside = one(boxed(Rect::new(-0.5, 0.2, 1.5, 0.3)));
        assert_eq!(outside.bbox.unwrap().rect(), Rect::new(0.0, 0.2, 1.0, 0.3));
        assert!(outside.confidence.abs() < f64::EPSILON);
        // The only page there is.
        assert_eq!(outside.pages, [7]);
        assert_eq!(one(boxed(Rect::new(f64::NAN, 0.2, 0.3, 0.3))).bbox, None);
        let group = ExtractedFieldGroup {
            name: "g".to_owned(),
            fields: vec![field("n", FieldValue::Number(f64::INFINITY), &[7])],
        };
        assert_eq!(groups(&spec(), vec![group], &[7])[0].fields[1].value, None);
        for (given, wanted) in [(-1.0, 0.0), (0.25, 0.25), (7.0, 1.0), (f64::INFINITY, 0.0)] {
            assert!((confidence(given) - wanted).abs() < f64::EPSILON, "{given}");
        }
    }
}
