//! What is wrong with a request before any work: every contradiction at once, each with its path.
//!
//! The shape of a request is checked before (`ExtractRequest::faults`); here its parts are held against each other,
//! in the contract's order: files, types, rule references, rule graph, stages.

mod rules;
mod types;

use flydocs_contract::{
    ErrorCode, ExtractRequest,
    result::{Severity, ValidationIssue, ValidationResponse},
};

/// What is known of a file before it is read: enough to validate a request whose files came apart from it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FileDescriptor {
    /// Its name.
    pub filename: String,
    /// The id of a declared type it is pinned to.
    pub expected_type: Option<String>,
    /// How many pages it has, when somebody has looked.
    pub page_count: Option<u32>,
}

/// Validates a request with its files inside.
pub fn request(request: &ExtractRequest) -> ValidationResponse {
    let files = request.files.iter().map(|file| FileDescriptor {
        filename: file.filename.clone(),
        expected_type: file.expected_type.clone(),
        page_count: None,
    });
    with_files(request, &files.collect::<Vec<_>>())
}

/// Validates a request whose files came apart from it (multipart, stored files); `request.files` is not looked at.
pub fn with_files(request: &ExtractRequest, files: &[FileDescriptor]) -> ValidationResponse {
    let mut issues = Issues::default();
    expected_types(request, files, &mut issues);
    types::check(&request.document_types, &mut issues);
    rules::references(request, &mut issues);
    rules::graph(&request.rules, &mut issues);
    stages(request, files, &mut issues);
    ValidationResponse {
        ok: issues.errors.is_empty(),
        error_count: issues.errors.len() as u32,
        warning_count: issues.warnings.len() as u32,
        errors: issues.errors,
        warnings: issues.warnings,
    }
}

fn expected_types(request: &ExtractRequest, files: &[FileDescriptor], issues: &mut Issues) {
    for (i, file) in files.iter().enumerate() {
        if let Some(expected) = &file.expected_type
            && !request.document_types.iter().any(|t| t.id == *expected)
        {
            issues.error(
                ErrorCode::DocumentTypeUnknown,
                format!("files[{i}].expected_type"),
                format!("{expected:?} is not among document_types"),
            );
        }
    }
}

fn stages(request: &ExtractRequest, files: &[FileDescriptor], issues: &mut Issues) {
    let stages = &request.options.stages;
    if stages.rule_engine && request.rules.is_empty() {
        issues.warning(
            ErrorCode::RuleEngineNoRules,
            "options.stages.rule_engine",
            "the rule engine is on and there are no rules",
        );
    }
    let has_checks = request
        .document_types
        .iter()
        .any(|t| !t.visual_checks.is_empty());
    if stages.visual_authenticity && !has_checks {
        issues.warning(
            ErrorCode::VisualAuthenticityNoValidators,
            "options.stages.visual_authenticity",
            "visual authenticity is on and no document type has visual_checks",
        );
    }
    let is_one_document =
        |file: &FileDescriptor| file.expected_type.is_some() || file.page_count == Some(1);
    if stages.splitter && !files.is_empty() && files.iter().all(is_one_document) {
        issues.warning(
            ErrorCode::SplitterSingleDoc,
            "options.stages.splitter",
            "the splitter is on and every file is one document (it has an expected_type, or one page)",
        );
    }
}

/// Findings in the order they are made.
#[derive(Debug, Default)]
struct Issues {
    errors: Vec<ValidationIssue>,
    warnings: Vec<ValidationIssue>,
}

impl Issues {
    fn error(&mut self, code: ErrorCode, path: impl Into<String>, message: impl Into<String>) {
        self.errors.push(ValidationIssue {
            severity: Severity::Error,
            code: code.as_str().to_owned(),
            message: message.into(),
            path: path.into(),
        });
    }

    fn warning(&mut self, code: ErrorCode, path: impl Into<String>, message: impl Into<String>) {
        self.warnings.push(ValidationIssue {
            severity: Severity::Warning,
            code: code.as_str().to_owned(),
            message: message.into(),
            path: path.into(),
        });
    }
}
