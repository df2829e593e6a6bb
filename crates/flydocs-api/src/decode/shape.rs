//! Holds a JSON value against a schema of the published OpenAPI document and names every fault at once.
//!
//! The very document that `/openapi.json` serves is what requests are checked against, so the two cannot
//! drift. It understands what that document uses: `$ref`, `type`, `properties`, `required`, closed objects,
//! `items`, `enum`, `oneOf` (null or one; or told apart by a tag) and `minimum`.
//!
//! Beside the faults it leaves a value in which they are mended as far as possible, so that the checks that
//! need the typed request can run too and a caller reads all of it in one answer.

use flydocs_contract::Fault;
use serde_json::{Map, Value};

/// A body with thousands of faults needs no longer list.
const MOST_FAULTS: usize = 100;

/// What a walk found.
#[derive(Debug)]
pub(crate) struct Found {
    /// Every fault.
    pub faults: Vec<Fault>,
    /// The value with the faults mended as far as possible: for further checks only.
    pub mended: Value,
}

/// Every fault of `value` against the component called `name`.
pub(crate) fn check(document: &Value, name: &str, value: Value) -> Found {
    let mut walk = Walk {
        document,
        faults: Vec::new(),
        mends: Vec::new(),
    };
    if let Some(schema) = walk.component(name) {
        walk.value(schema, &value, &Place::default());
    }
    let mut mended = value;
    for mend in walk.mends {
        mend.apply(&mut mended);
    }
    Found {
        faults: walk.faults,
        mended,
    }
}

/// A place in the body, as people and as `serde_json` write it.
#[derive(Debug, Clone, Default)]
struct Place {
    path: String,
    pointer: String,
}

impl Place {
    fn key(&self, key: &str) -> Self {
        let shown: String = key.chars().take(80).collect();
        Self {
            path: if self.path.is_empty() {
                shown
            } else {
                format!("{}.{shown}", self.path)
            },
            pointer: format!(
                "{}/{}",
                self.pointer,
                key.replace('~', "~0").replace('/', "~1")
            ),
        }
    }

    fn item(&self, index: usize) -> Self {
        Self {
            path: format!("{}[{index}]", self.path),
            pointer: format!("{}/{index}", self.pointer),
        }
    }
}

enum Mend {
    Set(String, Value),
    Insert(String, String, Value),
    Remove(String, String),
}

impl Mend {
    fn apply(self, value: &mut Value) {
        match self {
            Self::Set(pointer, better) => {
                if let Some(slot) = value.pointer_mut(&pointer) {
                    *slot = better;
                }
            }
            Self::Insert(pointer, key, missing) => {
                if let Some(object) = value.pointer_mut(&pointer).and_then(Value::as_object_mut) {
                    object.insert(key, missing);
                }
            }
            Self::Remove(pointer, key) => {
                if let Some(object) = value.pointer_mut(&pointer).and_then(Value::as_object_mut) {
                    object.shift_remove(&key);
                }
            }
        }
    }
}

struct Walk<'a> {
    document: &'a Value,
    faults: Vec<Fault>,
    mends: Vec<Mend>,
}

impl<'a> Walk<'a> {
    fn component(&self, name: &str) -> Option<&'a Value> {
        self.document.get("components")?.get("schemas")?.get(name)
    }

    fn resolve(&self, schema: &'a Value) -> &'a Value {
        let target = schema
            .get("$ref")
            .and_then(Value::as_str)
            .and_then(|reference| reference.rsplit('/').next())
            .and_then(|name| self.component(name));
        target.unwrap_or(schema)
    }

    fn fault(&mut self, place: &Place, message: String) {
        if self.faults.len() < MOST_FAULTS {
            self.faults.push(Fault::new(place.path.clone(), message));
        }
    }

    /// Something that fits, for want of what should stand there.
    fn stand_in(&self, schema: &'a Value) -> Value {
        let schema = self.resolve(schema);
        if let Some(branches) = schema.get("oneOf").and_then(Value::as_array) {
            return match branches.first() {
                Some(first) if !is_null(first) => self.stand_in(first),
                _ => Value::Null,
            };
        }
        if let Some(word) = schema
            .get("enum")
            .and_then(Value::as_array)
            .and_then(|words| words.first())
        {
            return word.clone();
        }
        match schema.get("type").and_then(Value::as_str) {
            Some("string") => "?".into(),
            Some("array") => Value::Array(Vec::new()),
            Some("object") => Value::Object(self.required_of(schema)),
            Some("boolean") => false.into(),
            Some("number" | "integer") => 0.into(),
            _ => Value::Null,
        }
    }

    fn required_of(&self, schema: &'a Value) -> Map<String, Value> {
        let required = schema.get("required").and_then(Value::as_array);
        let keys = required.into_iter().flatten().filter_map(Value::as_str);
        keys.filter_map(|key| {
            let property = schema.get("properties")?.get(key)?;
            Some((key.to_owned(), self.stand_in(property)))
        })
        .collect()
    }

    fn wrong(&mut self, schema: &'a Value, place: &Place, message: String) {
        let better = self.stand_in(schema);
        self.mends.push(Mend::Set(place.pointer.clone(), better));
        self.fault(place, message);
    }

    fn value(&mut self, schema: &'a Value, value: &Value, place: &Place) {
        if self.faults.len() >= MOST_FAULTS {
            return;
        }
        let schema = self.resolve(schema);
        if let Some(branches) = schema.get("oneOf").and_then(Value::as_array) {
            self.one_of(schema, branches, value, place);
            return;
        }
        if !self.of_type(schema, value, place) {
            return;
        }
        if let Some(words) = schema.get("enum").and_then(Value::as_array)
            && !words.contains(value)
            && !value.is_null()
        {
            self.wrong(schema, place, format!("must be one of {}", listed(words)));
        }
        if let (Some(minimum), Some(given)) = (
            schema.get("minimum").and_then(Value::as_f64),
            value.as_f64(),
        ) && given < minimum
        {
            self.wrong(schema, place, format!("must be {minimum} or more"));
        }
        match value {
            Value::Object(object) => self.object(schema, object, place),
            Value::Array(list) => {
                if let Some(items) = schema.get("items") {
                    for (i, item) in list.iter().enumerate() {
                        self.value(items, item, &place.item(i));
                    }
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    fn object(&mut self, schema: &'a Value, object: &Map<String, Value>, place: &Place) {
        let properties = schema.get("properties").and_then(Value::as_object);
        if schema.get("additionalProperties") == Some(&Value::Bool(false)) {
            let known: Vec<&str> = properties
                .into_iter()
                .flat_map(|p| p.keys().map(String::as_str))
                .collect();
            for key in object.keys().filter(|key| !known.contains(&key.as_str())) {
                self.mends
                    .push(Mend::Remove(place.pointer.clone(), key.clone()));
                self.fault(
                    &place.key(key),
                    format!("unknown key; known here: {}", known.join(", ")),
                );
            }
        } else if let Some(every) = schema.get("additionalProperties").filter(|s| s.is_object()) {
            for (key, value) in object {
                self.value(every, value, &place.key(key));
            }
        }
        let required = schema.get("required").and_then(Value::as_array);
        for key in required.into_iter().flatten().filter_map(Value::as_str) {
            if !object.contains_key(key) {
                if let Some(property) = properties.and_then(|p| p.get(key)) {
                    let missing = self.stand_in(property);
                    self.mends
                        .push(Mend::Insert(place.pointer.clone(), key.to_owned(), missing));
                }
                self.fault(&place.key(key), "is required".to_owned());
            }
        }
        for (key, property) in properties.into_iter().flatten() {
            if let Some(value) = object.get(key) {
                self.value(property, value, &place.key(key));
            }
        }
    }

    /// Null or one shape; or several shapes told apart by a tag.
    fn one_of(&mut self, schema: &'a Value, branches: &'a [Value], value: &Value, place: &Place) {
        if value.is_null() && branches.iter().any(is_null) {
            return;
        }
        let shapes: Vec<&'a Value> = branches
            .iter()
            .filter(|b| !is_null(b))
            .map(|b| self.resolve(b))
            .collect();
        if let [one] = shapes.as_slice() {
            self.value(one, value, place);
            return;
        }
        let Some((tag, words)) = tag_of(&shapes) else {
            return;
        };
        let Some(object) = value.as_object() else {
            self.wrong(
                schema,
                place,
                format!("must be an object, not {}", kind(value)),
            );
            return;
        };
        let given = object.get(tag);
        let chosen = shapes
            .iter()
            .zip(&words)
            .find(|(_, word)| given == Some(**word));
        if let Some((shape, _)) = chosen {
            self.value(shape, value, place);
            return;
        }
        let message = if given.is_none() {
            "is required".to_owned()
        } else {
            let words: Vec<Value> = words.into_iter().cloned().collect();
            format!("must be one of {}", listed(&words))
        };
        if let Some(first) = shapes.first() {
            let better = self.stand_in(first);
            self.mends.push(Mend::Set(place.pointer.clone(), better));
        }
        self.fault(&place.key(tag), message);
    }

    fn of_type(&mut self, schema: &'a Value, value: &Value, place: &Place) -> bool {
        let names: Vec<&str> = match schema.get("type") {
            Some(Value::String(one)) => vec![one.as_str()],
            Some(Value::Array(several)) => several.iter().filter_map(Value::as_str).collect(),
            _ => return true,
        };
        let fits = names.iter().any(|name| match *name {
            "null" => value.is_null(),
            "boolean" => value.is_boolean(),
            "string" => value.is_string(),
            "number" => value.is_number(),
            "integer" => value.is_i64() || value.is_u64(),
            "array" => value.is_array(),
            "object" => value.is_object(),
            _ => true,
        });
        if !fits {
            let wanted: Vec<&str> = names
                .iter()
                .filter(|n| **n != "null")
                .map(|n| article(n))
                .collect();
            let message = format!("must be {}, not {}", wanted.join(" or "), kind(value));
            self.wrong(schema, place, message);
        }
        fits
    }
}

fn is_null(branch: &Value) -> bool {
    branch.get("type").and_then(Value::as_str) == Some("null")
}

/// The property that every shape fixes to one word, and those words.
fn tag_of<'a>(shapes: &[&'a Value]) -> Option<(&'a str, Vec<&'a Value>)> {
    let word = |shape: &'a Value, key: &str| -> Option<&'a Value> {
        let property = shape.get("properties")?.get(key)?;
        property
            .get("const")
            .or_else(|| match property.get("enum")?.as_array()?.as_slice() {
                [one] => Some(one),
                _ => None,
            })
    };
    let first = shapes.first()?.get("properties")?.as_object()?;
    first.keys().find_map(|key| {
        let words: Option<Vec<_>> = shapes.iter().map(|s| word(s, key)).collect();
        Some((key.as_str(), words?))
    })
}

fn listed(words: &[Value]) -> String {
    let words: Vec<String> = words
        .iter()
        .map(|w| w.as_str().map_or_else(|| w.to_string(), str::to_owned))
        .collect();
    words.join(", ")
}

fn article(name: &str) -> &'static str {
    match name {
        "boolean" => "true or false",
        "string" => "a string",
        "number" => "a number",
        "integer" => "a whole number",
        "array" => "a list",
        "object" => "an object",
        _ => "something else",
    }
}

const fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn document() -> Value {
        json!({"components": {"schemas": {
            "Body": {"type": "object", "additionalProperties": false, "required": ["name", "rows"], "properties": {
                "name": {"type": "string"},
                "size": {"type": ["integer", "null"], "minimum": 0},
                "kind": {"oneOf": [{"type": "null"}, {"$ref": "#/components/schemas/Kind"}]},
                "rows": {"type": "array", "items": {"$ref": "#/components/schemas/Row"}},
                "by_name": {"type": "object", "additionalProperties": {"type": "boolean"}},
            }},
            "Kind": {"type": "string", "enum": ["a", "b"]},
            "Row": {"oneOf": [
                {"type": "object", "additionalProperties": false, "required": ["tag", "x"],
                    "properties": {"tag": {"type": "string", "enum": ["one"]}, "x": {"type": "number"}}},
                {"type": "object", "additionalProperties": false, "required": ["tag", "y"],
                    "properties": {"tag": {"type": "string", "enum": ["two"]}, "y": {"type": "string"}}},
            ]},
        }}})
    }

    fn texts(value: Value) -> Vec<String> {
        check(&document(), "Body", value)
            .faults
            .into_iter()
            .map(|f| format!("{}: {}", f.path, f.message))
            .collect()
    }

    #[test]
    fn what_fits_has_no_fault() {
        let body = json!({"name": "n", "size": null, "kind": "a", "by_name": {"k": true},
            "rows": [{"tag": "one", "x": 1}, {"tag": "two", "y": ""}]});
        assert_eq!(texts(body), Vec::<String>::new());
    }

    #[test]
    fn every_fault_is_named_with_its_place() {
        let body = json!({"size": -1, "kind": "c", "colour": 1, "by_name": {"k": 1}, "rows": [
            {"tag": "one"}, {"tag": "three"}, {"y": ""}, {"tag": "two", "y": 1, "x": 2}, 7]});
        assert_eq!(
            texts(body),
            [
                "colour: unknown key; known here: name, size, kind, rows, by_name",
                "name: is required",
                "size: must be 0 or more",
                "kind: must be one of a, b",
                "rows[0].x: is required",
                "rows[1].tag: must be one of one, two",
                "rows[2].tag: is required",
                "rows[3].x: unknown key; known here: tag, y",
                "rows[3].y: must be a string, not a number",
                "rows[4]: must be an object, not a number",
                "by_name.k: must be true or false, not a number",
            ]
        );
        assert_eq!(texts(json!([])), [": must be an object, not a list"]);
    }

    #[test]
    fn the_mended_value_fits() {
        let rows = json!([{"tag": "three"}, {"tag": "two"}, {"x": 1}]);
        let mended = check(&document(), "Body", json!({"name": "n", "rows": rows})).mended;
        assert!(check(&document(), "Body", mended).faults.is_empty());
        let body = json!({"size": "x", "kind": "c", "colour": 1, "rows": 3});
        let mended = check(&document(), "Body", body).mended;
        assert_eq!(
            mended,
            json!({"size": null, "kind": "a", "rows": [], "name": "?"})
        );
        assert!(check(&document(), "Body", mended).faults.is_empty());
    }
}
