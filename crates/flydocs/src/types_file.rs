//! The types file: `{"document_types": [...], "rules": [...]?, "options": {...}?}`, or a bare list of types.
//! Held against the same shape and the same semantic checks as a request.

use std::path::Path;

use flydocs_contract::{ErrorCode, ExtractRequest, Fault, JsonObject, request::FileInput};
use serde_json::Value;

use crate::{exit::Exit, failure::Failure, files, output::Say};

const KEYS: &[&str] = &["intention", "document_types", "rules", "options"];

/// Reads and checks it; the request it makes has no files yet.
pub(crate) fn read(path: &Path, say: Say) -> Result<ExtractRequest, Failure> {
    let text = files::small(path).map_err(|failure| failure.exit(Exit::Usage))?;
    check(path, &text, say)
}

/// The same for what stands in a file of this name.
pub(crate) fn check(path: &Path, text: &[u8], say: Say) -> Result<ExtractRequest, Failure> {
    if is_utf16(text) {
        let sentence = format!("{} is UTF-16; save it as UTF-8", path.display());
        return Err(Failure::new(
            ErrorCode::InvalidTypesFile,
            sentence,
            Exit::Usage,
        ));
    }
    let mut request = parse(text).map_err(|faults| {
        let sentence = match faults.len() {
            1 => format!("{} does not fit", path.display()),
            n => format!("{} does not fit in {n} places", path.display()),
        };
        Failure::new(ErrorCode::InvalidTypesFile, sentence, Exit::Usage).with_faults(faults)
    })?;
    // the semantic checks want at least one file
    request.files.push(FileInput {
        filename: "document".to_owned(),
        content_base64: String::new(),
        content_type: None,
        expected_type: None,
    });
    let found = flydocs_pipeline::validate::request(&request);
    request.files.clear();
    for warning in &found.warnings {
        say.warn(&format!(
            "{}: {}: {}",
            warning.code, warning.path, warning.message
        ));
    }
    if found.ok {
        return Ok(request);
    }
    let faults: Vec<Fault> = found
        .errors
        .iter()
        .map(|issue| {
            Fault::new(
                issue.path.clone(),
                format!("{} ({})", issue.message, issue.code),
            )
        })
        .collect();
    let code = match found.errors.as_slice() {
        [one, ..] => one.code.parse().unwrap_or(ErrorCode::ValidationFailed),
        [] => ErrorCode::ValidationFailed,
    };
    let sentence = format!("{} contradicts itself", path.display());
    Err(Failure::new(code, sentence, Exit::Usage).with_faults(faults))
}

/// Editors of Windows write it, with a mark or without one.
const fn is_utf16(text: &[u8]) -> bool {
    matches!(
        text,
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] | [0, b'{' | b'[', ..] | [b'{' | b'[', 0, ..]
    )
}

fn parse(text: &[u8]) -> Result<ExtractRequest, Vec<Fault>> {
    // the mark of UTF-8
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    let value = flydocs_api::json_value(text).map_err(|mut fault| {
        fault.message = fault.message.replace("the body", "the file");
        vec![fault]
    })?;
    let request = match value {
        Value::Array(types) => {
            let mut request = JsonObject::new();
            request.insert("document_types".to_owned(), Value::Array(types));
            request
        }
        Value::Object(object) => {
            let unknown: Vec<Fault> = object
                .keys()
                .filter(|key| !KEYS.contains(&key.as_str()))
                .map(|key| {
                    Fault::new(
                        key.clone(),
                        format!("unknown key; known here: {}", KEYS.join(", ")),
                    )
                })
                .collect();
            if !unknown.is_empty() {
                return Err(unknown);
            }
            object
        }
        _ => {
            return Err(vec![Fault::new(
                "",
                "must be a list of document types, or an object with document_types",
            )]);
        }
    };
    flydocs_api::request_without_files(Value::Object(request))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TYPE: &str = r#"{"id":"t","field_groups":[{"name":"g","fields":[{"name":"f"}]}]}"#;

    #[test]
    fn a_bare_list_and_an_object_are_the_same() {
        let list = parse(format!("[{TYPE}]").as_bytes()).unwrap();
        let object = parse(format!(r#"{{"document_types":[{TYPE}]}}"#).as_bytes()).unwrap();
        assert_eq!(list, object);
    }

    #[test]
    fn anything_else_is_refused_with_its_place() {
        for (text, path) in [
            ("7", ""),
            ("{", ""),
            (r#"{"document_types":[],"files":[]}"#, "files"),
            (
                r#"{"document_types":[{"id":"t","field_groups":[],"colour":1}]}"#,
                "document_types[0].colour",
            ),
            ("[]", "document_types"),
        ] {
            assert_eq!(parse(text.as_bytes()).unwrap_err()[0].path, path, "{text}");
        }
    }
}
