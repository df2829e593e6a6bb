//! What an extraction answers: documents, groups, fields with boxes, and how it went.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::{ExtractionId, geometry::BoundingBox};

/// Whether every stage did its work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum ResultStatus {
    /// Every stage did.
    Success,
    /// `pipeline.errors` says which stage did not.
    Partial,
}

/// The answer to one request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct ExtractionResult {
    /// The extraction's id.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub id: ExtractionId,
    /// Whether every stage did its work.
    pub status: ResultStatus,
    /// One entry a file, also for each file inside an archive or mail.
    pub files: Vec<FileSummary>,
    /// One entry a document that was extracted.
    pub documents: Vec<Document>,
    /// Documents of no declared type.
    pub discovered_documents: Vec<Document>,
    /// One entry a rule.
    pub rule_results: Vec<RuleResult>,
    /// Groups made by transformations over the whole request.
    pub request_transformations: Vec<ExtractedFieldGroup>,
    /// How it went.
    pub pipeline: PipelineSummary,
}

/// A result behind its id.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct ExtractionResultEnvelope {
    /// The extraction's id.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub id: ExtractionId,
    /// The stored result.
    pub result: ExtractionResult,
}

/// One file as it was read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct FileSummary {
    /// Its name, or its path inside its container (`a.zip/b.pdf`).
    pub filename: String,
    /// What it was sniffed to be.
    pub media_type: String,
    /// How many pages it has.
    pub page_count: u32,
    /// Its size.
    pub bytes: u64,
    /// The declared type it was matched to.
    pub matched_type: Option<String>,
    /// What the classifier said.
    pub classification: Option<Classification>,
}

/// What the classifier said of a file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Classification {
    /// The type it saw; may be undeclared.
    pub document_type: Option<String>,
    /// Whether it matches a declared type.
    pub matched: bool,
    /// 0 to 1.
    pub confidence: f64,
    /// What the document is, in words.
    pub description: Option<String>,
    /// Why.
    pub notes: Option<String>,
}

/// One document found in the files.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Document {
    /// The declared type's id; "unmatched" for a discovered document.
    #[serde(rename = "type")]
    pub type_id: String,
    /// The file it stands in.
    pub source_file: String,
    /// True when it was expected and is not there.
    pub missing: bool,
    /// Its pages in that file, from 1.
    pub pages: Vec<u32>,
    /// How sure the type is, 0 to 1.
    pub confidence: f64,
    /// What it is, in words.
    pub description: Option<String>,
    /// Why.
    pub notes: Option<String>,
    /// The groups of the type, in the type's order.
    pub field_groups: Vec<ExtractedFieldGroup>,
    /// Checks of authenticity.
    pub authenticity: Authenticity,
}

/// One group of fields.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct ExtractedFieldGroup {
    /// The group's name.
    pub name: String,
    /// Its fields, in the type's order.
    pub fields: Vec<ExtractedField>,
}

/// The value of a field. An array is the list of its rows, an object the list of its members.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum FieldValue {
    /// true or false.
    Boolean(bool),
    /// A number without a fraction.
    Integer(i64),
    /// A number.
    Number(f64),
    /// A text.
    String(String),
    /// The rows of an array, or the members of an object.
    Fields(Vec<ExtractedField>),
}

/// One field as it was read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "openapi", schema(no_recursion))]
#[serde(deny_unknown_fields)]
pub struct ExtractedField {
    /// The field's name; a row of an array has its `items` name, else the array's.
    pub name: String,
    /// The value; `null` when the document has none.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Object>))]
    pub value: Option<FieldValue>,
    /// The pages it was read from, in the file, best first.
    pub pages: Vec<u32>,
    /// How sure the engine is, 0 to 1.
    pub confidence: f64,
    /// Where it stands; `null` when no box is known.
    pub bbox: Option<BoundingBox>,
    /// Whether the value keeps the field's rules.
    pub validation: FieldValidation,
    /// What the judge said.
    pub judge: JudgeVerdict,
    /// Remarks of the engine.
    pub notes: Option<String>,
}

impl ExtractedField {
    /// A field without a value.
    pub fn empty(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            value: None,
            pages: Vec::new(),
            confidence: 0.0,
            bbox: None,
            validation: FieldValidation::default(),
            judge: JudgeVerdict::default(),
            notes: None,
        }
    }
}

/// Whether a value keeps the field's rules.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct FieldValidation {
    /// False iff an error of severity "error" exists.
    pub valid: bool,
    /// Every broken rule; a warning's message ends in " `[warning]`".
    pub errors: Vec<FieldValidationError>,
}

impl Default for FieldValidation {
    fn default() -> Self {
        Self {
            valid: true,
            errors: Vec::new(),
        }
    }
}

/// One broken rule of a field.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct FieldValidationError {
    /// Which kind of rule.
    pub rule: ValidationRule,
    /// What is wrong.
    pub message: String,
}

/// The kinds of rules a value can break.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum ValidationRule {
    /// A required field without a value.
    Required,
    /// The value is of another type.
    Type,
    /// The value does not match the pattern.
    Pattern,
    /// The value is not of the format.
    Format,
    /// The value is not one of the listed.
    Enum,
    /// The value is below the minimum.
    Minimum,
    /// The value is above the maximum.
    Maximum,
    /// A validator of the catalogue said no.
    Validator,
}

/// What a judge can say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum JudgeStatus {
    /// The document says so.
    Pass,
    /// The document says otherwise.
    Fail,
    /// It cannot be told.
    Uncertain,
}

/// What the judge said of a field.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct JudgeVerdict {
    /// The verdict; "uncertain" until a judge spoke.
    pub status: JudgeStatus,
    /// 0 to 1.
    pub confidence: f64,
    /// The words of the document it rests on.
    pub evidence: Option<String>,
    /// Why.
    pub notes: Option<String>,
    /// True when a person should look.
    pub flag_for_review: bool,
}

impl Default for JudgeVerdict {
    fn default() -> Self {
        Self {
            status: JudgeStatus::Uncertain,
            confidence: 0.0,
            evidence: None,
            notes: None,
            flag_for_review: false,
        }
    }
}

/// Checks of a document's authenticity.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Authenticity {
    /// One entry a visual check of the type.
    pub visual: Vec<VisualCheckResult>,
    /// Whether the content agrees with itself; `null` when it was not asked for.
    pub content: Option<ContentAuthenticity>,
}

/// One visual check.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct VisualCheckResult {
    /// The check's name.
    pub name: String,
    /// Whether the document passes.
    pub passed: bool,
    /// 0 to 1.
    pub confidence: f64,
    /// Why.
    pub notes: Option<String>,
}

/// Whether something holds, or cannot be told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum IntegrityStatus {
    /// It holds.
    Valid,
    /// It does not.
    Invalid,
    /// It cannot be told.
    Uncertain,
}

/// Whether the content of a document agrees with itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct ContentAuthenticity {
    /// Over all checks.
    pub overall_integrity_status: IntegrityStatus,
    /// One entry a check.
    pub checks: Vec<ContentCheck>,
}

/// One check of the content.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct ContentCheck {
    /// The check's name.
    pub name: String,
    /// What it looks at.
    pub description: String,
    /// Whether it holds.
    pub status: IntegrityStatus,
    /// The words of the document it rests on.
    pub evidence: Option<String>,
    /// Why.
    pub reasoning: Option<String>,
}

/// What a rule says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct RuleResult {
    /// The rule's id.
    pub rule_id: String,
    /// Its predicate, as given.
    pub predicate: String,
    /// Its answer, of the declared output type; `null` when there is none.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Object>))]
    pub output: Option<serde_json::Value>,
    /// In a sentence.
    pub summary: Option<String>,
    /// Step by step.
    pub notes: Vec<String>,
    /// What a person should look at.
    pub human_revision: Option<String>,
}

/// How an extraction went.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct PipelineSummary {
    /// The models really used, sorted, joined by commas.
    pub model: String,
    /// From the first stage to the last, in milliseconds.
    pub latency_ms: f64,
    /// One entry a stage, in order.
    pub trace: Vec<TraceEntry>,
    /// Failures that did not stop the extraction.
    pub errors: Vec<PipelineError>,
    /// What a stronger model changed; `null` when it was not asked for.
    pub escalation: Option<Escalation>,
    /// What metered calls cost; `null` when there was none.
    pub usage: Option<Usage>,
}

/// How a stage ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum TraceStatus {
    /// It did its work.
    Success,
    /// It did not; `pipeline.errors` says why.
    Failed,
    /// It had nothing to do, or was off.
    Skipped,
}

/// One stage as it ran.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct TraceEntry {
    /// The stage's name.
    pub node: String,
    /// When it started.
    pub started_at: DateTime<Utc>,
    /// When it ended.
    pub completed_at: DateTime<Utc>,
    /// In milliseconds, two decimals.
    pub latency_ms: f64,
    /// How it ended.
    pub status: TraceStatus,
}

/// A failure that did not stop the extraction.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct PipelineError {
    /// The stage.
    pub node: String,
    /// A stable code, see `docs/errors/`.
    pub code: String,
    /// What happened.
    pub message: String,
}

/// What a stronger model changed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Escalation {
    /// True when the first run failed too often.
    pub triggered: bool,
    /// The first model.
    pub primary_model: String,
    /// The stronger model.
    pub escalation_model: String,
    /// Failed over judged fields of the first run.
    pub primary_fail_rate: f64,
    /// The same of the second run; `null` when it did not run.
    pub escalation_fail_rate: Option<f64>,
    /// True when the second run was kept.
    pub accepted: bool,
}

/// What metered calls cost.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Usage {
    /// Tokens sent.
    pub total_input_tokens: u64,
    /// Tokens received.
    pub total_output_tokens: u64,
    /// Both.
    pub total_tokens: u64,
    /// In US dollars, from the price table.
    pub total_cost_usd: f64,
    /// How many calls.
    pub total_requests: u64,
    /// Their time together, in milliseconds.
    pub total_latency_ms: f64,
    /// How many calls were recorded.
    pub record_count: u64,
    /// Tokens written to the provider's cache.
    pub cache_creation_tokens: u64,
    /// Tokens read from it.
    pub cache_read_tokens: u64,
    /// By the question asked (extract, judge, ...).
    pub by_agent: std::collections::BTreeMap<String, UsageShare>,
    /// By model.
    pub by_model: std::collections::BTreeMap<String, UsageShare>,
}

/// One share of the usage.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct UsageShare {
    /// Tokens sent.
    pub input_tokens: u64,
    /// Tokens received.
    pub output_tokens: u64,
    /// Both.
    pub total_tokens: u64,
    /// In US dollars.
    pub cost_usd: f64,
}

/// How serious a finding of the request validation is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// The request is refused.
    Error,
    /// The request is taken.
    Warning,
}

/// One finding of the request validation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct ValidationIssue {
    /// How serious.
    pub severity: Severity,
    /// A stable code, see `docs/errors/`.
    pub code: String,
    /// What is wrong.
    pub message: String,
    /// Where, such as `files[2].expected_type`.
    pub path: String,
}

/// The answer of a dry run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct ValidationResponse {
    /// True when there is no error.
    pub ok: bool,
    /// How many errors.
    pub error_count: u32,
    /// How many warnings.
    pub warning_count: u32,
    /// Every error.
    pub errors: Vec<ValidationIssue>,
    /// Every warning.
    pub warnings: Vec<ValidationIssue>,
}
