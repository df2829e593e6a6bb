//! Every error a user can meet: a stable code, an HTTP status, a title, and a page in `docs/errors/`.

use std::{fmt, str::FromStr};

macro_rules! codes {
    ($( $(#[doc = $doc:literal])+ $variant:ident = $text:literal, $status:literal, $title:literal; )+) => {
        /// A stable error code. Each has a page `docs/errors/<code>.md`.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum ErrorCode { $( $(#[doc = $doc])+ $variant, )+ }

        impl ErrorCode {
            /// Every code.
            pub const ALL: &'static [Self] = &[ $( Self::$variant, )+ ];

            /// The code as it stands on the wire.
            pub const fn as_str(self) -> &'static str { match self { $( Self::$variant => $text, )+ } }

            /// The status of an HTTP answer that carries it; 200 for codes that only stand inside a result.
            pub const fn http_status(self) -> u16 { match self { $( Self::$variant => $status, )+ } }

            /// The code in a few words.
            pub const fn title(self) -> &'static str { match self { $( Self::$variant => $title, )+ } }
        }
    };
}

codes! {
    /// The body does not fit the shape; `errors[]` lists every fault.
    InvalidRequest = "invalid_request", 400, "Invalid request";
    /// No key, or a key nobody knows.
    Unauthorized = "unauthorized", 401, "Unauthorized";
    /// No such extraction or route.
    NotFound = "not_found", 404, "Not found";
    /// The route knows other methods.
    MethodNotAllowed = "method_not_allowed", 405, "Method not allowed";
    /// The answer cannot be given in a type the caller accepts.
    NotAcceptable = "not_acceptable", 406, "Not acceptable";
    /// The synchronous ceiling passed.
    Timeout = "timeout", 408, "Timeout";
    /// The result is not there yet.
    NotReady = "not_ready", 409, "Not ready";
    /// It is past the point where it could be cancelled.
    NotCancellable = "not_cancellable", 409, "Not cancellable";
    /// It is not in a state from which it could be retried.
    NotRetryable = "not_retryable", 409, "Not retryable";
    /// A file is over `FLYDOCS_MAX_BYTES`.
    FileTooLarge = "file_too_large", 413, "File too large";
    /// The request as a whole is over its limit.
    RequestTooLarge = "request_too_large", 413, "Request too large";
    /// The file is of a kind that is not read here.
    UnsupportedFile = "unsupported_file", 415, "Unsupported file";
    /// The request body is of a type that is not read here.
    UnsupportedMediaType = "unsupported_media_type", 415, "Unsupported media type";
    /// A file's content is not base64.
    InvalidBase64 = "invalid_base64", 422, "Invalid base64";
    /// The request contradicts itself.
    ValidationFailed = "validation_failed", 422, "Validation failed";
    /// The PDF opens only with a password.
    EncryptedPdf = "encrypted_pdf", 422, "Encrypted PDF";
    /// The PDF cannot be read, nor repaired.
    CorruptPdf = "corrupt_pdf", 422, "Corrupt PDF";
    /// The office document could not be converted.
    OfficeConversionFailed = "office_conversion_failed", 422, "Office conversion failed";
    /// The archive or mail could not be opened.
    ArchiveExtractionFailed = "archive_extraction_failed", 422, "Archive extraction failed";
    /// The image could not be decoded.
    ImageConversionFailed = "image_conversion_failed", 422, "Image conversion failed";
    /// The file has no bytes, or no pages.
    EmptyFile = "empty_file", 422, "Empty file";
    /// A file that is no PDF opens only with a password.
    EncryptedFile = "encrypted_file", 422, "Encrypted file";
    /// The archive tries to reach outside itself.
    UnsafeArchive = "unsafe_archive", 422, "Unsafe archive";
    /// The document is over a limit of this service.
    LimitExceeded = "limit_exceeded", 422, "Limit exceeded";
    /// The same idempotency key came with a different body.
    IdempotencyMismatch = "idempotency_mismatch", 422, "Idempotency mismatch";
    /// The backlog is over `FLYDOCS_MAX_QUEUED`, or the caller over its rate.
    TooManyRequests = "too_many_requests", 429, "Too many requests";
    /// Something unexpected; the request id finds it in the log.
    Internal = "internal", 500, "Internal error";
    /// The database cannot be reached; nothing was accepted.
    Unavailable = "unavailable", 503, "Unavailable";

    /// `expected_type` names no declared type.
    DocumentTypeUnknown = "document_type_unknown", 422, "Document type unknown";
    /// Two document types have one id.
    DuplicateDocumentType = "duplicate_document_type", 422, "Duplicate document type";
    /// Two fields of one type have one name.
    DuplicateFieldName = "duplicate_field_name", 422, "Duplicate field name";
    /// Two rules have one id.
    DuplicateRuleId = "duplicate_rule_id", 422, "Duplicate rule id";
    /// A rule's parent names a type that is not declared.
    RuleUnknownDoctype = "rule_unknown_doctype", 422, "Rule names an unknown document type";
    /// A rule's parent names a field that is not declared.
    RuleUnknownField = "rule_unknown_field", 422, "Rule names an unknown field";
    /// A rule's parent names a visual check that is not declared.
    RuleUnknownValidator = "rule_unknown_validator", 422, "Rule names an unknown visual check";
    /// A rule's parent names a rule that is not declared.
    RuleUnknownParent = "rule_unknown_parent", 422, "Rule names an unknown rule";
    /// A rule is its own parent.
    RuleSelfReference = "rule_self_reference", 422, "Rule refers to itself";
    /// Rules wait for each other in a circle.
    RuleCycle = "rule_cycle", 422, "Rule cycle";
    /// A pattern is no regular expression of the linear-time dialect.
    InvalidPattern = "invalid_pattern", 422, "Invalid pattern";
    /// A validator's name is not in the catalogue.
    UnknownValidator = "unknown_validator", 422, "Unknown validator";
    /// The rule engine is on and there are no rules (a warning).
    RuleEngineNoRules = "rule_engine_no_rules", 200, "Rule engine without rules";
    /// Visual authenticity is on and no type has visual checks (a warning).
    VisualAuthenticityNoValidators = "visual_authenticity_no_validators", 200, "Visual authenticity without checks";
    /// The splitter is on and every file is one document (a warning).
    SplitterSingleDoc = "splitter_single_doc", 200, "Splitter with one document";

    /// A stage ran into its ceiling; later stages ran on what was there.
    StageTimeout = "stage_timeout", 200, "Stage timeout";
    /// The engine failed on a call.
    EngineError = "engine_error", 200, "Engine error";
    /// The chosen engine cannot answer this kind of question.
    EngineUnsupported = "engine_unsupported", 200, "Engine cannot do this";
    /// The OCR program or a language of it is missing.
    OcrUnavailable = "ocr_unavailable", 200, "OCR unavailable";
    /// OCR ran and failed on a page.
    OcrFailed = "ocr_failed", 200, "OCR failed";
    /// The transformation names a group nobody has.
    TransformTargetUnknown = "transform_target_unknown", 200, "Transformation target unknown";
    /// The engine left out a rule, or answered outside its values.
    RuleNotEvaluated = "rule_not_evaluated", 200, "Rule not evaluated";

    /// Every attempt lost its worker.
    WorkerLost = "worker_lost", 200, "Worker lost";
    /// The asynchronous ceiling passed on every attempt.
    ExtractionTimeout = "extraction_timeout", 200, "Extraction timeout";
    /// No document of the request could be worked on.
    NothingExtracted = "nothing_extracted", 422, "Nothing extracted";
    /// The stored bytes of a file are gone.
    BlobMissing = "blob_missing", 200, "Stored file missing";

    /// A path on the command line cannot be read.
    FileUnreadable = "file_unreadable", 200, "File unreadable";
    /// A path on the command line cannot be written.
    FileUnwritable = "file_unwritable", 200, "File unwritable";
    /// The types file does not fit its shape.
    InvalidTypesFile = "invalid_types_file", 200, "Invalid types file";
    /// A setting has a value that cannot be, or two settings contradict each other.
    InvalidSetting = "invalid_setting", 200, "Invalid setting";
    /// The server of a client command cannot be reached.
    ServerUnreachable = "server_unreachable", 200, "Server unreachable";
    /// The embedded store lies on a network file system.
    NetworkFileSystem = "network_file_system", 200, "Embedded store on a network file system";
    /// Another process owns this data directory.
    DataDirectoryBusy = "data_directory_busy", 200, "Data directory in use";
}

impl ErrorCode {
    /// The `type` of a problem with this code.
    pub fn type_url(self) -> String {
        format!("https://flydocs.dev/problems/{}", self.as_str())
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for ErrorCode {
    type Err = UnknownCode;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .iter()
            .copied()
            .find(|c| c.as_str() == text)
            .ok_or_else(|| UnknownCode {
                given: text.chars().take(64).collect(),
            })
    }
}

/// A word that is no error code.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{given:?} is not an error code of flydocs")]
pub struct UnknownCode {
    /// What was given.
    pub given: String,
}

impl serde::Serialize for ErrorCode {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> serde::Deserialize<'de> for ErrorCode {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?
            .parse()
            .map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_code_has_a_page_and_every_page_a_code() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/errors");
        let pages: BTreeSet<String> = std::fs::read_dir(folder)
            .unwrap()
            .filter_map(|entry| {
                entry
                    .unwrap()
                    .file_name()
                    .into_string()
                    .unwrap()
                    .strip_suffix(".md")
                    .map(str::to_owned)
            })
            .filter(|page| page != "README")
            .collect();
        let codes: BTreeSet<String> = ErrorCode::ALL
            .iter()
            .map(|code| code.as_str().to_owned())
            .collect();
        assert_eq!(pages, codes);
    }

    #[test]
    fn every_page_says_what_happened_and_what_to_do() {
        for code in ErrorCode::ALL {
            let path = format!("{}/../../docs/errors/{code}.md", env!("CARGO_MANIFEST_DIR"));
            let page = std::fs::read_to_string(path).unwrap();
            assert!(
                page.starts_with(&format!("# {code}\n")),
                "{code}: the title is the code"
            );
            for part in ["## What happened", "## What to do"] {
                assert!(page.contains(part), "{code}: no {part:?}");
            }
        }
    }

    #[test]
    fn a_code_reads_back_from_its_word() {
        for code in ErrorCode::ALL {
            assert_eq!(code.as_str().parse(), Ok(*code));
        }
    }
}
