//! Errors on the wire: flat `application/problem+json`.

use serde::{Deserialize, Serialize};

use crate::{JsonObject, code::ErrorCode};

/// One thing that is wrong with a request, and where.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Fault {
    /// Where, such as `document_types[0].field_groups[1].fields[2].pattern`.
    pub path: String,
    /// What is wrong and what would be right.
    pub message: String,
}

impl Fault {
    /// Names a fault.
    pub fn new(path: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            path: path.into(),
            message: message.into(),
        }
    }
}

/// The body of every error answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Problem {
    /// `https://flydocs.dev/problems/<code>`.
    #[serde(rename = "type")]
    pub type_url: String,
    /// The code in words.
    pub title: String,
    /// The HTTP status again.
    pub status: u16,
    /// A stable code, see `docs/errors/`.
    pub code: String,
    /// What happened here, in a sentence.
    pub detail: String,
    /// The path that was asked for.
    pub instance: Option<String>,
    /// Facts of this kind of error.
    #[cfg_attr(feature = "openapi", schema(value_type = Object))]
    pub extensions: JsonObject,
}

impl Problem {
    /// Builds the problem of a code with its own title and status.
    pub fn new(code: ErrorCode, detail: impl Into<String>) -> Self {
        Self {
            type_url: code.type_url(),
            title: code.title().to_owned(),
            status: code.http_status(),
            code: code.as_str().to_owned(),
            detail: detail.into(),
            instance: None,
            extensions: JsonObject::new(),
        }
    }

    /// Adds one fact.
    pub fn with(mut self, key: &str, value: impl Into<serde_json::Value>) -> Self {
        self.extensions.insert(key.to_owned(), value.into());
        self
    }
}
