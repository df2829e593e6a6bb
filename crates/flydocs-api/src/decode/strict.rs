//! JSON as a value, with the one thing `serde_json::Value` lets pass refused: a key that stands twice.

use std::fmt;

use flydocs_contract::{Fault, JsonObject};
use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

/// Parses a body; a fault when it is no JSON or says a key twice.
pub(crate) fn parse(text: &[u8]) -> Result<Value, Fault> {
    let mut deserializer = serde_json::Deserializer::from_slice(text);
    let value = Strict
        .deserialize(&mut deserializer)
        .and_then(|value| deserializer.end().map(|()| value));
    value.map_err(|error| {
        let message = error.to_string();
        match message.strip_prefix(TWICE) {
            Some(place) => Fault::new("", format!("a key stands twice: {place}")),
            None if text.iter().all(u8::is_ascii_whitespace) => {
                Fault::new("", "the body is empty; it must be a JSON object")
            }
            None => Fault::new("", format!("the body is not JSON: {message}")),
        }
    })
}

const TWICE: &str = "twice ";

struct Strict;

impl<'de> DeserializeSeed<'de> for Strict {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(Strict)? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut object = JsonObject::new();
        while let Some(key) = entries.next_key::<String>()? {
            let value = entries.next_value_seed(Strict)?;
            if object.contains_key(&key) {
                return Err(A::Error::custom(format!("{TWICE}{key:?}")));
            }
            object.insert(key, value);
        }
        Ok(Value::Object(object))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_that_stands_twice_is_a_fault() {
        let fault = parse(br#"{"a":{"b":1,"b":2}}"#).unwrap_err();
        assert_eq!(
            fault.message,
            "a key stands twice: \"b\" at line 1 column 18"
        );
        assert_eq!(
            parse(br#"{"a":[1,-2,3.5,"x",null,true]}"#).unwrap(),
            serde_json::json!({"a": [1, -2, 3.5, "x", null, true]})
        );
    }

    #[test]
    fn depth_bad_utf8_and_rubbish_are_faults_not_crashes() {
        for bad in [
            "[".repeat(100_000).into_bytes(),
            b"{\"a\":\"\xff\"}".to_vec(),
            b"{} {}".to_vec(),
            b"   ".to_vec(),
            b"{\"a\":1e999}".to_vec(),
        ] {
            assert!(parse(&bad).is_err());
        }
    }
}
