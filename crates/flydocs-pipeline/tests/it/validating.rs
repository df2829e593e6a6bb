//! What is wrong with a request: every code, all faults at once, each with its path.

use flydocs_contract::{ErrorCode, ExtractRequest, result::ValidationResponse};
use flydocs_pipeline::validate::{self, FileDescriptor};
use serde_json::{Value, json};

use crate::fakes::document_type;

fn parsed(body: Value) -> ExtractRequest {
    serde_json::from_value(body).unwrap()
}

fn findings(response: &ValidationResponse) -> Vec<(&str, &str)> {
    let all = response.errors.iter().chain(&response.warnings);
    all.map(|issue| (issue.code.as_str(), issue.path.as_str()))
        .collect()
}

fn with(extra: Value) -> ExtractRequest {
    let mut body = json!({
        "files": [{"filename": "a.pdf", "content_base64": ""}],
        "document_types": [document_type("invoice")],
    });
    for (key, value) in extra.as_object().unwrap() {
        body[key] = value.clone();
    }
    parsed(body)
}

fn one_type(fields: Value) -> ExtractRequest {
    with(json!({"document_types": [{"id": "t", "field_groups": [
        {"name": "g", "fields": fields}, {"name": "h", "fields": [{"name": "z"}]}]}]}))
}

fn rules(rules: Value) -> ExtractRequest {
    with(json!({ "rules": rules }))
}

/// One request for each code, and where it is found.
fn cases() -> Vec<(ExtractRequest, Vec<(&'static str, &'static str)>)> {
    let parent = |parent: Value| rules(json!([{"id": "r", "predicate": "p", "parents": [parent]}]));
    let after = |id: &str, parents: &[&str]| {
        let parents: Vec<_> = parents
            .iter()
            .map(|p| json!({"kind": "rule", "rule": p}))
            .collect();
        json!({"id": id, "predicate": "p", "parents": parents})
    };
    vec![
        (with(json!({})), vec![]),
        (
            with(json!({"files": [
                {"filename": "a", "content_base64": "", "expected_type": "invoice"},
                {"filename": "b", "content_base64": "", "expected_type": "bill"}]})),
            vec![("document_type_unknown", "files[1].expected_type")],
        ),
        (
            with(
                json!({"document_types": [document_type("a"), document_type("b"), document_type("a")]}),
            ),
            vec![("duplicate_document_type", "document_types[2].id")],
        ),
        (
            one_type(
                json!([{"name": "a"}, {"name": "z"}, {"name": "o", "type": "object", "fields": [
                {"name": "a"}, {"name": "x"}, {"name": "x"}]}]),
            ),
            vec![
                (
                    "duplicate_field_name",
                    "document_types[0].field_groups[0].fields[2].fields[2].name",
                ),
                (
                    "duplicate_field_name",
                    "document_types[0].field_groups[1].fields[0].name",
                ),
            ],
        ),
        (
            one_type(
                json!([{"name": "a", "pattern": "(?=x)"}, {"name": "l", "type": "array", "items":
                {"type": "object", "fields": [{"name": "b", "pattern": "("}]}}]),
            ),
            vec![
                (
                    "invalid_pattern",
                    "document_types[0].field_groups[0].fields[0].pattern",
                ),
                (
                    "invalid_pattern",
                    "document_types[0].field_groups[0].fields[1].items.fields[0].pattern",
                ),
            ],
        ),
        (
            one_type(
                json!([{"name": "a", "validators": [{"name": "iban"}, {"name": "ibam"}]},
                {"name": "l", "type": "array", "items": {"validators": [{"name": "x"}]}}]),
            ),
            vec![
                (
                    "unknown_validator",
                    "document_types[0].field_groups[0].fields[0].validators[1].name",
                ),
                (
                    "unknown_validator",
                    "document_types[0].field_groups[0].fields[1].items.validators[0].name",
                ),
            ],
        ),
        (
            rules(
                json!([{"id": "r", "predicate": "p"}, {"id": "s", "predicate": "p"}, {"id": "r", "predicate": "q"}]),
            ),
            vec![("duplicate_rule_id", "rules[2].id")],
        ),
        (
            parent(json!({"kind": "field", "document_type": "bill", "fields": ["x"]})),
            vec![("rule_unknown_doctype", "rules[0].parents[0].document_type")],
        ),
        (
            parent(json!({"kind": "validator", "document_type": "bill", "validator": "x"})),
            vec![("rule_unknown_doctype", "rules[0].parents[0].document_type")],
        ),
        (
            parent(
                json!({"kind": "field", "document_type": "invoice", "fields": ["number", "nummer", "dni"]}),
            ),
            vec![
                ("rule_unknown_field", "rules[0].parents[0].fields[1]"),
                ("rule_unknown_field", "rules[0].parents[0].fields[2]"),
            ],
        ),
        (
            parent(json!({"kind": "validator", "document_type": "invoice", "validator": "iban"})),
            vec![("rule_unknown_validator", "rules[0].parents[0].validator")],
        ),
        (
            parent(json!({"kind": "rule", "rule": "x"})),
            vec![("rule_unknown_parent", "rules[0].parents[0].rule")],
        ),
        (
            parent(json!({"kind": "rule", "rule": "r"})),
            vec![("rule_self_reference", "rules[0].parents[0].rule")],
        ),
        (
            rules(json!([
                after("z", &["c"]),
                after("a", &["b"]),
                after("b", &["c"]),
                after("c", &["a"]),
                after("d", &[])
            ])),
            vec![("rule_cycle", "rules[1].parents")],
        ),
        (
            rules(json!([
                after("a", &["b"]),
                after("b", &["a"]),
                after("c", &["d"]),
                after("d", &["c"])
            ])),
            vec![
                ("rule_cycle", "rules[0].parents"),
                ("rule_cycle", "rules[2].parents"),
            ],
        ),
        (
            with(json!({"options": {"stages": {"rule_engine": true}}})),
            vec![("rule_engine_no_rules", "options.stages.rule_engine")],
        ),
        (
            parsed(json!({
                "files": [{"filename": "a.pdf", "content_base64": "", "expected_type": "t"}],
                "document_types": [{"id": "t", "field_groups": [{"name": "g", "fields": [{"name": "f"}]}]}],
                "options": {"stages": {"visual_authenticity": true, "splitter": true}},
            })),
            vec![
                (
                    "visual_authenticity_no_validators",
                    "options.stages.visual_authenticity",
                ),
                ("splitter_single_doc", "options.stages.splitter"),
            ],
        ),
    ]
}

#[test]
fn every_contradiction_has_its_code_and_path() {
    for (request, wanted) in cases() {
        let response = validate::request(&request);
        assert_eq!(findings(&response), wanted);
        assert_eq!(response.ok, response.errors.is_empty());
        assert_eq!(response.error_count as usize, response.errors.len());
        assert_eq!(response.warning_count as usize, response.warnings.len());
    }
}

#[test]
fn every_semantic_code_is_provoked_above() {
    use ErrorCode as Code;
    let codes = [
        Code::DocumentTypeUnknown,
        Code::DuplicateDocumentType,
        Code::DuplicateFieldName,
        Code::DuplicateRuleId,
        Code::RuleUnknownDoctype,
        Code::RuleUnknownField,
        Code::RuleUnknownValidator,
        Code::RuleUnknownParent,
        Code::RuleSelfReference,
        Code::RuleCycle,
        Code::InvalidPattern,
        Code::UnknownValidator,
        Code::RuleEngineNoRules,
        Code::VisualAuthenticityNoValidators,
        Code::SplitterSingleDoc,
    ];
    let cases = cases();
    for code in codes {
        let is_provoked = cases
            .iter()
            .any(|(_, found)| found.iter().any(|(c, _)| *c == code.as_str()));
        assert!(is_provoked, "{code}");
    }
}

#[test]
fn a_cycle_is_named_rule_by_rule() {
    let request = rules(json!([
        {"id": "a", "predicate": "p", "parents": [{"kind": "rule", "rule": "b"}]},
        {"id": "b", "predicate": "p", "parents": [{"kind": "rule", "rule": "c"}]},
        {"id": "c", "predicate": "p", "parents": [{"kind": "rule", "rule": "a"}]},
    ]));
    let response = validate::request(&request);
    assert!(
        response.errors[0].message.ends_with("a -> b -> c -> a"),
        "{}",
        response.errors[0].message
    );
}

#[test]
fn all_faults_come_at_once_in_the_contracts_order() {
    let request = with(json!({
        "files": [{"filename": "a", "content_base64": "", "expected_type": "bill"}],
        "document_types": [document_type("invoice"), document_type("invoice")],
        "rules": [
            {"id": "a", "predicate": "p", "parents": [{"kind": "rule", "rule": "b"}, {"kind": "rule", "rule": "x"}]},
            {"id": "b", "predicate": "p", "parents": [{"kind": "rule", "rule": "a"}]},
        ],
    }));
    let codes: Vec<_> = validate::request(&request)
        .errors
        .into_iter()
        .map(|e| e.code)
        .collect();
    assert_eq!(
        codes,
        [
            "document_type_unknown",
            "duplicate_document_type",
            "rule_unknown_parent",
            "rule_cycle"
        ]
    );
}

#[test]
fn files_that_came_apart_are_validated_alike() {
    let request = with(json!({"options": {"stages": {"splitter": true}}, "files": []}));
    let file = |expected: Option<&str>, page_count| FileDescriptor {
        filename: "a.pdf".to_owned(),
        expected_type: expected.map(str::to_owned),
        page_count,
    };
    let found = |files: &[FileDescriptor]| {
        let response = validate::with_files(&request, files);
        findings(&response)
            .into_iter()
            .map(|(c, p)| (c.to_owned(), p.to_owned()))
            .collect::<Vec<_>>()
    };
    let warning = (
        "splitter_single_doc".to_owned(),
        "options.stages.splitter".to_owned(),
    );
    assert_eq!(found(&[file(None, None), file(Some("invoice"), None)]), []);
    let one_page = found(&[file(None, Some(1)), file(Some("invoice"), Some(9))]);
    assert_eq!(one_page, std::slice::from_ref(&warning));
    let unknown = (
        "document_type_unknown".to_owned(),
        "files[1].expected_type".to_owned(),
    );
    assert_eq!(
        found(&[file(Some("invoice"), None), file(Some("bill"), None)]),
        [unknown, warning]
    );
}
