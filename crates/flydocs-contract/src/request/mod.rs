//! What a caller sends: files, document types, rules, options.
//!
//! The shapes are closed (an unknown key is a fault) and every optional key may be an explicit `null`. What the
//! shapes cannot say (an array needs `items`, ...) is said by [`ExtractRequest::faults`].

pub mod faults;
mod schema;

use serde::{Deserialize, Deserializer, Serialize};

use crate::JsonObject;
pub use schema::{
    DocumentTypeSpec, Field, FieldFormat, FieldGroup, FieldType, ValidatorSeverity, ValidatorSpec,
    VisualCheck,
};

/// The default of [`ExtractRequest::intention`].
pub const DEFAULT_INTENTION: &str = "Extract structured data from the document.";

/// The body of `POST /extract`, `/extract:validate` and `/extractions`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct ExtractRequest {
    /// What the extraction is for, in words.
    #[serde(
        default = "default_intention",
        deserialize_with = "null_is_default_intention"
    )]
    pub intention: String,
    /// The files, at least one.
    #[serde(default, deserialize_with = "null_is_default")]
    pub files: Vec<FileInput>,
    /// The types to look for, at least one.
    pub document_types: Vec<DocumentTypeSpec>,
    /// Rules over the fields.
    #[serde(default, deserialize_with = "null_is_default")]
    pub rules: Vec<RuleSpec>,
    /// What to do and how.
    #[serde(default, deserialize_with = "null_is_default")]
    pub options: ExtractionOptions,
    /// Where webhooks go (`/extractions` only).
    #[serde(default)]
    pub callback_url: Option<String>,
    /// Echoed on webhooks, verbatim (`/extractions` only).
    #[serde(default, deserialize_with = "null_is_default")]
    #[cfg_attr(feature = "openapi", schema(value_type = Object))]
    pub metadata: JsonObject,
}

/// One file of a request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct FileInput {
    /// Its name, at least one character.
    pub filename: String,
    /// Its bytes in standard base64; a `data:<type>;base64,` prefix is cut.
    pub content_base64: String,
    /// What the caller takes it for; `null` = sniffed.
    #[serde(default)]
    pub content_type: Option<String>,
    /// The id of a declared type it is pinned to.
    #[serde(default)]
    pub expected_type: Option<String>,
}

/// A question answered from fields, checks and other rules.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct RuleSpec {
    /// Its id.
    pub id: String,
    /// The question.
    pub predicate: String,
    /// What it looks at.
    #[serde(default, deserialize_with = "null_is_default")]
    pub parents: Vec<RuleParent>,
    /// What it answers.
    #[serde(default, deserialize_with = "null_is_default")]
    pub output: RuleOutput,
}

/// Something a rule looks at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum RuleParent {
    /// Fields of a type.
    Field {
        /// The type's id.
        document_type: String,
        /// The fields' names.
        fields: Vec<String>,
    },
    /// A visual check of a type.
    Validator {
        /// The type's id.
        document_type: String,
        /// The check's name.
        validator: String,
    },
    /// Another rule.
    Rule {
        /// Its id.
        rule: String,
    },
}

/// The type of a rule's answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum RuleOutputType {
    /// true or false.
    Boolean,
    /// A text.
    String,
    /// A number.
    Number,
}

/// What a rule answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct RuleOutput {
    /// The type of the answer.
    #[serde(rename = "type", default = "default_rule_output_type")]
    pub output_type: RuleOutputType,
    /// The answers allowed; `null` = any of the type.
    #[serde(default)]
    pub valid_outputs: Option<Vec<String>>,
}

impl Default for RuleOutput {
    fn default() -> Self {
        Self {
            output_type: RuleOutputType::Boolean,
            valid_outputs: Some(vec!["true".to_owned(), "false".to_owned()]),
        }
    }
}

/// What to do and how.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct ExtractionOptions {
    /// `<provider>:<name>`; `null` = the service's own.
    #[serde(default)]
    pub model: Option<String>,
    /// The language of the documents, at most 16 characters.
    #[serde(default)]
    pub language_hint: Option<String>,
    /// Whether boxes are wanted.
    #[serde(default = "yes", deserialize_with = "null_is_true")]
    pub return_bboxes: bool,
    /// Taken for every file's content type.
    #[serde(default)]
    pub declared_media_type: Option<String>,
    /// Which stages run.
    #[serde(default, deserialize_with = "null_is_default")]
    pub stages: StageToggles,
    /// When a stronger model is asked.
    #[serde(default)]
    pub escalation: Option<EscalationSpec>,
    /// What is done with the groups.
    #[serde(default, deserialize_with = "null_is_default")]
    pub transformations: Vec<Transformation>,
}

impl Default for ExtractionOptions {
    fn default() -> Self {
        Self {
            model: None,
            language_hint: None,
            return_bboxes: true,
            declared_media_type: None,
            stages: StageToggles::default(),
            escalation: None,
            transformations: Vec::new(),
        }
    }
}

/// Which stages run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct StageToggles {
    /// Look for several documents in one file.
    #[serde(default, deserialize_with = "null_is_default")]
    pub splitter: bool,
    /// Find the type of each document.
    #[serde(default = "yes", deserialize_with = "null_is_true")]
    pub classifier: bool,
    /// Check values against their fields.
    #[serde(default = "yes", deserialize_with = "null_is_true")]
    pub field_validation: bool,
    /// Run the visual checks.
    #[serde(default, deserialize_with = "null_is_default")]
    pub visual_authenticity: bool,
    /// Check whether the content agrees with itself.
    #[serde(default, deserialize_with = "null_is_default")]
    pub content_authenticity: bool,
    /// Judge every field.
    #[serde(default, deserialize_with = "null_is_default")]
    pub judge: bool,
    /// Ask a stronger model when the judge is not content.
    #[serde(default, deserialize_with = "null_is_default")]
    pub judge_escalation: bool,
    /// Ground the boxes on the words of the pages.
    #[serde(default, deserialize_with = "null_is_default")]
    pub bbox_refine: bool,
    /// Run the transformations.
    #[serde(default, deserialize_with = "null_is_default")]
    pub transform: bool,
    /// Evaluate the rules.
    #[serde(default, deserialize_with = "null_is_default")]
    pub rule_engine: bool,
}

impl Default for StageToggles {
    fn default() -> Self {
        Self {
            splitter: false,
            classifier: true,
            field_validation: true,
            visual_authenticity: false,
            content_authenticity: false,
            judge: false,
            judge_escalation: false,
            bbox_refine: false,
            transform: false,
            rule_engine: false,
        }
    }
}

/// When a stronger model is asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct EscalationSpec {
    /// Above this share of failed fields, 0 to 1.
    pub threshold: f64,
    /// The stronger model.
    pub model: String,
}

/// What a transformation works on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum TransformationScope {
    /// Each document alone.
    Task,
    /// All documents of the request together.
    Request,
}

/// Something done with a group after extraction.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
pub enum Transformation {
    /// Rows that speak of the same entity become one.
    EntityResolution {
        /// A name for messages.
        #[serde(default)]
        id: Option<String>,
        /// The group it reads.
        target_group: String,
        /// The group it writes; `null` = in place.
        #[serde(default)]
        output_group: Option<String>,
        /// Each document alone, or all together.
        scope: TransformationScope,
        /// The members that identify an entity.
        match_by: Vec<String>,
        /// How many words two names must share, at most 65535.
        #[serde(default = "two")]
        #[cfg_attr(feature = "openapi", schema(maximum = 65535))]
        min_shared_tokens: u16,
    },
    /// A model rewrites the group.
    Llm {
        /// A name for messages.
        #[serde(default)]
        id: Option<String>,
        /// The group it reads.
        target_group: String,
        /// The group it writes; `null` = in place.
        #[serde(default)]
        output_group: Option<String>,
        /// Each document alone, or all together.
        scope: TransformationScope,
        /// What it should do, in words.
        intention: String,
        /// A stored prompt.
        #[serde(default)]
        prompt_id: Option<String>,
    },
}

fn default_intention() -> String {
    DEFAULT_INTENTION.to_owned()
}

const fn default_rule_output_type() -> RuleOutputType {
    RuleOutputType::Boolean
}

const fn yes() -> bool {
    true
}

const fn two() -> u16 {
    2
}

fn null_is_default<'de, D: Deserializer<'de>, T: Default + Deserialize<'de>>(
    deserializer: D,
) -> Result<T, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

fn null_is_true<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or(true))
}

fn null_is_default_intention<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<String, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_else(default_intention))
}
