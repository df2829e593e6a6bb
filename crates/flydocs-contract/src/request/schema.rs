//! Document types: groups of fields, one recursive shape at every depth.

use serde::{Deserialize, Serialize};

use super::null_is_default;
use crate::JsonObject;

/// A type of document and the fields wanted of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct DocumentTypeSpec {
    /// Its id.
    pub id: String,
    /// What it is, in words.
    #[serde(default)]
    pub description: Option<String>,
    /// ISO 3166-1 alpha-2.
    #[serde(default)]
    pub country: Option<String>,
    /// Its groups, at least one.
    pub field_groups: Vec<FieldGroup>,
    /// What should be seen on it.
    #[serde(default, deserialize_with = "null_is_default")]
    pub visual_checks: Vec<VisualCheck>,
}

/// Something that should be seen on a document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct VisualCheck {
    /// Its name.
    pub name: String,
    /// What should be seen.
    pub description: String,
}

/// Fields that belong together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct FieldGroup {
    /// Its name.
    pub name: String,
    /// What it holds, in words.
    #[serde(default)]
    pub description: Option<String>,
    /// Its fields, at least one.
    pub fields: Vec<Field>,
}

/// The type of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum FieldType {
    /// A text.
    #[default]
    String,
    /// A number.
    Number,
    /// A number without a fraction.
    Integer,
    /// true or false.
    Boolean,
    /// Rows of one shape.
    Array,
    /// Named members.
    Object,
}

impl FieldType {
    /// The word on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::String => "string",
            Self::Number => "number",
            Self::Integer => "integer",
            Self::Boolean => "boolean",
            Self::Array => "array",
            Self::Object => "object",
        }
    }
}

/// The form of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum FieldFormat {
    /// YYYY-MM-DD.
    #[serde(rename = "date")]
    Date,
    /// RFC 3339.
    #[serde(rename = "date-time")]
    DateTime,
    /// A time of day.
    #[serde(rename = "time")]
    Time,
    /// A mail address.
    #[serde(rename = "email")]
    Email,
    /// Scheme and host.
    #[serde(rename = "uri")]
    Uri,
    /// A UUID.
    #[serde(rename = "uuid")]
    Uuid,
    /// ISO 4217.
    #[serde(rename = "currency")]
    Currency,
}

impl FieldFormat {
    /// The word on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Date => "date",
            Self::DateTime => "date-time",
            Self::Time => "time",
            Self::Email => "email",
            Self::Uri => "uri",
            Self::Uuid => "uuid",
            Self::Currency => "currency",
        }
    }
}

/// One field, at any depth.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Field {
    /// Its name, at least one character; may be absent on an `items` node only.
    #[serde(default, deserialize_with = "null_is_default")]
    pub name: String,
    /// What it holds, in words; its words help to find it.
    #[serde(default)]
    pub description: Option<String>,
    /// The type of its value.
    #[serde(rename = "type", default, deserialize_with = "null_is_default")]
    pub field_type: FieldType,
    /// Whether a document without it is at fault.
    #[serde(default, deserialize_with = "null_is_default")]
    pub required: bool,
    /// A regular expression the whole value must match (linear-time dialect).
    #[serde(default)]
    pub pattern: Option<String>,
    /// The form of the text.
    #[serde(default)]
    pub format: Option<FieldFormat>,
    /// The values allowed.
    #[serde(rename = "enum", default)]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Vec<serde_json::Value>>))]
    pub allowed: Option<Vec<serde_json::Value>>,
    /// Inclusive.
    #[serde(default)]
    pub minimum: Option<f64>,
    /// Inclusive.
    #[serde(default)]
    pub maximum: Option<f64>,
    /// The shape of a row; iff the type is array.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(no_recursion))]
    pub items: Option<Box<Self>>,
    /// The members; iff the type is object.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(no_recursion))]
    pub fields: Option<Vec<Self>>,
    /// Checks of the catalogue, in order.
    #[serde(default, deserialize_with = "null_is_default")]
    pub validators: Vec<ValidatorSpec>,
}

/// How serious a validator's "no" is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum ValidatorSeverity {
    /// The field is not valid.
    #[default]
    Error,
    /// The field stays valid.
    Warning,
}

/// A check of the catalogue.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct ValidatorSpec {
    /// Its name in the catalogue.
    pub name: String,
    /// Its parameters.
    #[serde(default, deserialize_with = "null_is_default")]
    #[cfg_attr(feature = "openapi", schema(value_type = Object))]
    pub params: JsonObject,
    /// How serious its "no" is.
    #[serde(default, deserialize_with = "null_is_default")]
    pub severity: ValidatorSeverity,
}
