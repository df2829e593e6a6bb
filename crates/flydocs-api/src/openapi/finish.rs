//! What the derives cannot say: an optional key of a request may be null, the value of a field is a tree, a
//! multipart request is a request without its files, every problem has its status.

use std::collections::BTreeSet;

use flydocs_contract::ErrorCode;
use serde_json::{Map, Value, json};

/// Finishes the derived document.
pub(super) fn finish(mut document: Value) -> Value {
    multipart_request(&mut document);
    required_lists(&mut document);
    null_for_optional_keys(&mut document);
    tree_values(&mut document);
    closed_objects(&mut document);
    named_fields(&mut document);
    parameters(&mut document);
    event_streams(&mut document);
    links(&mut document);
    problem_codes(&mut document);
    document
}

fn schemas(document: &mut Value) -> Option<&mut Map<String, Value>> {
    document
        .pointer_mut("/components/schemas")
        .and_then(Value::as_object_mut)
}

/// `MultipartRequest` = `ExtractRequest` without `files`, with `file_options`.
fn multipart_request(document: &mut Value) {
    let Some(schemas) = schemas(document) else {
        return;
    };
    let Some(mut request) = schemas.get("ExtractRequest").cloned() else {
        return;
    };
    let options = schemas
        .get("MultipartRequest")
        .and_then(|own| own.pointer("/properties/file_options"))
        .cloned();
    if let Some(properties) = request.get_mut("properties").and_then(Value::as_object_mut) {
        properties.shift_remove("files");
        if let Some(options) = options {
            properties.insert("file_options".to_owned(), options);
        }
    }
    if let Some(object) = request.as_object_mut() {
        object.insert(
            "description".to_owned(),
            "The part `request` of a multipart body: an ExtractRequest without `files`.".into(),
        );
    }
    schemas.insert("MultipartRequest".to_owned(), request);
}

/// Lists that need an entry, texts that need a character.
fn required_lists(document: &mut Value) {
    let Some(schemas) = schemas(document) else {
        return;
    };
    for (name, key) in [
        ("ExtractRequest", "files"),
        ("ExtractRequest", "document_types"),
        ("MultipartRequest", "document_types"),
        ("DocumentTypeSpec", "field_groups"),
        ("FieldGroup", "fields"),
    ] {
        set(schemas, name, key, "minItems", 1.into());
    }
    for (name, key) in [
        ("FileInput", "filename"),
        ("DocumentTypeSpec", "id"),
        ("FieldGroup", "name"),
        ("RuleSpec", "id"),
    ] {
        set(schemas, name, key, "minLength", 1.into());
    }
    set(
        schemas,
        "ExtractionOptions",
        "language_hint",
        "maxLength",
        16.into(),
    );
    if let Some(required) = schemas
        .get_mut("ExtractRequest")
        .and_then(|s| s.get_mut("required"))
        .and_then(Value::as_array_mut)
        && !required.contains(&"files".into())
    {
        required.insert(0, "files".into());
    }
}

fn set(schemas: &mut Map<String, Value>, name: &str, key: &str, word: &str, value: Value) {
    if let Some(property) = schemas
        .get_mut(name)
        .and_then(|s| s.pointer_mut(&format!("/properties/{key}")))
        .and_then(Value::as_object_mut)
    {
        property.insert(word.to_owned(), value);
    }
}

/// A client may send an explicit null for every optional key of a request.
fn null_for_optional_keys(document: &mut Value) {
    let Some(schemas) = schemas(document) else {
        return;
    };
    let mut reached = BTreeSet::new();
    reach(schemas, "ExtractRequest", &mut reached);
    reach(schemas, "MultipartRequest", &mut reached);
    for name in reached {
        if let Some(schema) = schemas.get_mut(&name) {
            nullable_properties(schema);
        }
    }
}

fn reach(schemas: &Map<String, Value>, name: &str, reached: &mut BTreeSet<String>) {
    if !reached.insert(name.to_owned()) {
        return;
    }
    let mut names = Vec::new();
    if let Some(schema) = schemas.get(name) {
        references(schema, &mut names);
    }
    for name in names {
        reach(schemas, &name, reached);
    }
}

fn references(schema: &Value, names: &mut Vec<String>) {
    match schema {
        Value::Object(object) => {
            if let Some(reference) = object.get("$ref").and_then(Value::as_str) {
                names.extend(reference.rsplit('/').next().map(str::to_owned));
            }
            object.values().for_each(|v| references(v, names));
        }
        Value::Array(list) => list.iter().for_each(|v| references(v, names)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn nullable_properties(schema: &mut Value) {
    if let Some(branches) = schema.get_mut("oneOf").and_then(Value::as_array_mut) {
        branches.iter_mut().for_each(nullable_properties);
    }
    let required: Vec<Value> = schema
        .get("required")
        .and_then(Value::as_array)
        .cloned()
        .unwrap_or_default();
    let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) else {
        return;
    };
    for (key, property) in properties.iter_mut() {
        if !required.contains(&Value::String(key.clone())) {
            nullable(property);
        }
    }
}

fn nullable(property: &mut Value) {
    let nothing = json!({"type": "null"});
    let Some(object) = property.as_object_mut() else {
        return;
    };
    if let Some(branches) = object.get_mut("oneOf").and_then(Value::as_array_mut) {
        if !branches.contains(&nothing) {
            branches.insert(0, nothing);
        }
        return;
    }
    match object.get_mut("type") {
        Some(Value::String(one)) => {
            let both = json!([one, "null"]);
            object.insert("type".to_owned(), both);
        }
        Some(Value::Array(several)) => {
            if !several.contains(&"null".into()) {
                several.push("null".into());
            }
        }
        _ => {
            if let Some(reference) = object.shift_remove("$ref") {
                object.insert("oneOf".to_owned(), json!([nothing, {"$ref": reference}]));
            }
        }
    }
}

/// The value of a field, and the answer of a rule.
fn tree_values(document: &mut Value) {
    let Some(schemas) = schemas(document) else {
        return;
    };
    let value = json!({
        "description": "The value; an array is the list of its rows, an object the list of its members; `null` when the document has none.",
        "oneOf": [
            {"type": "null"},
            {"type": "string"},
            {"type": "boolean"},
            {"type": "number"},
            {"type": "array", "items": {"$ref": "#/components/schemas/ExtractedField"}},
        ],
    });
    let output = json!({
        "description": "Its answer, of the declared output type; `null` when there is none.",
        "type": ["string", "number", "boolean", "null"],
    });
    for (name, key, better) in [
        ("ExtractedField", "value", value),
        ("RuleResult", "output", output),
    ] {
        if let Some(slot) = schemas
            .get_mut(name)
            .and_then(|s| s.pointer_mut(&format!("/properties/{key}")))
        {
            *slot = better;
        }
    }
}

/// Every object that names its keys knows no others.
fn closed_objects(document: &mut Value) {
    let Some(schemas) = schemas(document) else {
        return;
    };
    for schema in schemas.values_mut() {
        close(schema);
        let branches = schema.get_mut("oneOf").and_then(Value::as_array_mut);
        branches.into_iter().flatten().for_each(close);
    }
}

fn close(schema: &mut Value) {
    if let Some(object) = schema.as_object_mut()
        && object.contains_key("properties")
    {
        object
            .entry("additionalProperties")
            .or_insert(Value::Bool(false));
    }
}

/// A field has a name everywhere but as the `items` of another.
fn named_fields(document: &mut Value) {
    for place in [
        "/components/schemas/FieldGroup/properties/fields/items",
        "/components/schemas/Field/properties/fields/items",
    ] {
        if let Some(items) = document.pointer_mut(place).and_then(Value::as_object_mut) {
            items.insert("required".to_owned(), json!(["name"]));
        }
    }
    if let Some(name) = document.pointer_mut("/components/schemas/Field/properties/name")
        && let Some(name) = name.as_object_mut()
    {
        name.insert("minLength".to_owned(), 1.into());
    }
}

/// Parameters are texts, which may be absent but not null; headers are visible ASCII; an empty time is none.
fn parameters(document: &mut Value) {
    let paths = document.get_mut("paths").and_then(Value::as_object_mut);
    let operations = paths
        .into_iter()
        .flat_map(Map::values_mut)
        .filter_map(Value::as_object_mut)
        .flat_map(Map::values_mut);
    for parameters in operations.filter_map(|o| o.get_mut("parameters")?.as_array_mut()) {
        for parameter in parameters {
            let is_header = parameter.get("in") == Some(&"header".into());
            let Some(schema) = parameter.get_mut("schema").and_then(Value::as_object_mut) else {
                continue;
            };
            if let Some(Value::Array(types)) = schema.get("type")
                && let Some(one) = types.iter().find(|one| **one != "null").cloned()
            {
                schema.insert("type".to_owned(), one);
            }
            if is_header && schema.contains_key("maxLength") {
                schema.insert("pattern".to_owned(), "^[!-~]([ -~]*[!-~])?$".into());
            }
            if schema.get("format") == Some(&"date-time".into()) {
                let time = Value::Object(std::mem::take(schema));
                let nothing = json!({"type": "string", "maxLength": 0});
                schema.insert("anyOf".to_owned(), json!([time, nothing]));
            }
        }
    }
}

/// What each event of a stream is made of.
fn event_streams(document: &mut Value) {
    let place = "/paths/~1api~1v1~1extractions~1{id}~1events/get/responses/200/content/text~1event-stream/schema";
    if let Some(schema) = document.pointer_mut(place) {
        *schema = json!({
            "type": "object",
            "required": ["event", "id", "data"],
            "properties": {
                "event": {"type": "string", "enum": ["state", "progress", "settled"]},
                "id": {"type": "string", "description": "The revision of the extraction: what Last-Event-ID resumes after."},
                "data": {"type": "string", "contentMediaType": "application/json", "description": "A StateChange, StageProgress or Extraction."},
            },
        });
    }
}

/// Where the id of an answer leads.
fn links(document: &mut Value) {
    let of_extraction = |id: &str| {
        let operations = [
            "get",
            "result",
            "delete",
            "cancel",
            "retry",
            "events",
            "deliveries",
        ];
        let link = |operation: &str| {
            let link = json!({"operationId": operation, "parameters": {"id": id}});
            (operation.to_owned(), link)
        };
        Value::Object(operations.into_iter().map(link).collect())
    };
    let of_delivery =
        |id: &str| json!({"redeliver": {"operationId": "redeliver", "parameters": {"id": id}}});
    for (place, links) in [
        (
            "/paths/~1api~1v1~1extractions/post/responses/202",
            of_extraction("$response.body#/id"),
        ),
        (
            "/paths/~1api~1v1~1extractions/get/responses/200",
            of_extraction("$response.body#/items/0/id"),
        ),
        (
            "/paths/~1api~1v1~1extractions~1{id}~1deliveries/get/responses/200",
            of_delivery("$response.body#/items/0/id"),
        ),
    ] {
        if let Some(response) = document.pointer_mut(place).and_then(Value::as_object_mut) {
            response.insert("links".to_owned(), links);
        }
    }
}

/// What every route may answer beside its own; and images, which have no schema.
fn problem_codes(document: &mut Value) {
    let Some(paths) = document.get_mut("paths").and_then(Value::as_object_mut) else {
        return;
    };
    for (path, item) in paths {
        let everywhere: &[&str] = if path.starts_with("/api/") {
            &["400", "401", "406", "429", "500"]
        } else {
            &["400", "406", "500"]
        };
        let operations = item.as_object_mut().into_iter().flat_map(Map::values_mut);
        for responses in operations.filter_map(|operation| {
            operation
                .get_mut("responses")
                .and_then(Value::as_object_mut)
        }) {
            for status in everywhere {
                responses.entry(*status).or_insert_with(|| {
                    json!({
                        "description": titles(status),
                        "content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}},
                    })
                });
            }
            for response in responses.values_mut() {
                if let Some(image) = response.pointer_mut("/content/image~1png") {
                    *image = json!({});
                }
            }
            responses.sort_keys();
        }
    }
}

fn titles(status: &str) -> String {
    let codes: Vec<&str> = ErrorCode::ALL
        .iter()
        .filter(|c| c.http_status().to_string() == status)
        .map(|c| c.as_str())
        .collect();
    codes.join(", ")
}
