//! Several proposals of one kind become one type: what any of the documents has.

use flydocs_contract::request::{DocumentTypeSpec, Field, FieldGroup, FieldType};

/// Proposals with the same id are put together; the rest stays as it is, in order.
pub(crate) fn merged(proposals: Vec<DocumentTypeSpec>) -> Vec<DocumentTypeSpec> {
    let mut types: Vec<DocumentTypeSpec> = Vec::new();
    for proposal in proposals {
        match types.iter_mut().find(|t| t.id == proposal.id) {
            Some(known) => groups(&mut known.field_groups, proposal.field_groups),
            None => types.push(proposal),
        }
    }
    types
}

fn groups(known: &mut Vec<FieldGroup>, further: Vec<FieldGroup>) {
    for group in further {
        match known.iter_mut().find(|g| g.name == group.name) {
            Some(known) => fields(&mut known.fields, group.fields),
            None => known.push(group),
        }
    }
}

fn fields(known: &mut Vec<Field>, further: Vec<Field>) {
    for field in further {
        let Some(same) = known.iter_mut().find(|f| f.name == field.name) else {
            known.push(field);
            continue;
        };
        if same.field_type != field.field_type || same.format != field.format {
            // What is a date here and a text there is a text.
            if same.field_type != FieldType::Array && field.field_type != FieldType::Array {
                same.field_type = FieldType::String;
                same.format = None;
            }
            continue;
        }
        if let (Some(columns), Some(items)) = (
            same.items.as_mut().and_then(|i| i.fields.as_mut()),
            field.items.and_then(|i| i.fields),
        ) {
            fields(columns, items);
        }
    }
}

#[cfg(test)]
mod tests {
    use flydocs_contract::request::{DocumentTypeSpec, FieldFormat, FieldType};

    use super::merged;

    fn proposal(fields: &serde_json::Value) -> DocumentTypeSpec {
        serde_json::from_value(serde_json::json!({
            "id": "t", "field_groups": [{"name": "fields", "fields": fields}]
        }))
        .unwrap_or_else(|error| panic!("{error}"))
    }

    #[test]
    fn a_type_has_the_fields_of_all_its_documents_and_the_widest_kind_of_each() {
        let types = merged(vec![
            proposal(
                &serde_json::json!([{"name": "a", "format": "date"}, {"name": "b", "type": "number"}]),
            ),
            proposal(
                &serde_json::json!([{"name": "b"}, {"name": "a", "format": "date"}, {"name": "c"}]),
            ),
        ]);
        assert_eq!(types.len(), 1);
        let fields = &types[0].field_groups[0].fields;
        let names: Vec<&str> = fields.iter().map(|f| f.name.as_str()).collect();
        assert_eq!(names, ["a", "b", "c"]);
        assert_eq!(fields[0].format, Some(FieldFormat::Date));
        assert_eq!(fields[1].field_type, FieldType::String);
    }
}
