//! transform: scopes, outputs, one after the other.

use flydocs_contract::{ExtractionResult, FieldValue, result::ExtractedFieldGroup};
use serde_json::{Value, json};

use crate::fakes::{FakeEngine, errors, field, file, house, request, text};

const FIRST: &str = "number: A-1\nperson: 1A|Ana Mar Sol\nperson: |MAR SOL\nperson: 2B|Luis Rey";
const SECOND: &str = "number: B-1\nperson: 1-a|Ana\nperson: 3C|Eva";

async fn transformed(transformations: Value) -> ExtractionResult {
    let house = house([FakeEngine::default()]);
    let options = json!({"stages": {"transform": true}, "transformations": transformations});
    let request = request(&["invoice"], json!({"options": options}));
    house
        .run(&request, &[file("a.pdf", FIRST), file("b.pdf", SECOND)])
        .await
        .unwrap()
}

fn entities(scope: &str, output: Option<&str>) -> Value {
    json!({"type": "entity_resolution", "target_group": "parties", "output_group": output, "scope": scope,
        "match_by": ["dni", "name"]})
}

fn names(groups: &[ExtractedFieldGroup], group: &str) -> Vec<String> {
    let group = groups.iter().find(|g| g.name == group).unwrap();
    let Some(FieldValue::Fields(rows)) = &group.fields[0].value else {
        panic!("{} has no rows", group.name)
    };
    let name = |row: &flydocs_contract::ExtractedField| match &row.value {
        Some(FieldValue::Fields(members)) => match &members[1].value {
            Some(FieldValue::String(name)) => name.clone(),
            other => panic!("no name: {other:?}"),
        },
        other => panic!("no row: {other:?}"),
    };
    rows.iter().map(name).collect()
}

#[tokio::test]
async fn a_task_keeps_its_entities_in_place() {
    let result = transformed(json!([entities("task", None)])).await;
    assert_eq!(
        names(&result.documents[0].field_groups, "parties"),
        ["Ana Mar Sol", "Luis Rey"]
    );
    assert_eq!(
        names(&result.documents[1].field_groups, "parties"),
        ["Ana", "Eva"]
    );
    assert_eq!(result.request_transformations, []);
}

#[tokio::test]
async fn an_output_group_stands_beside_what_it_was_made_of() {
    let result = transformed(json!([entities("task", Some("people"))])).await;
    let groups = &result.documents[0].field_groups;
    assert_eq!(names(groups, "parties").len(), 3);
    assert_eq!(names(groups, "people"), ["Ana Mar Sol", "Luis Rey"]);
    assert_eq!(groups.len(), 3);
}

#[tokio::test]
async fn a_request_brings_the_rows_of_all_documents_together() {
    let result = transformed(json!([entities("request", None)])).await;
    assert_eq!(
        names(&result.request_transformations, "parties"),
        ["Ana Mar Sol", "Luis Rey", "Eva"]
    );
    assert_eq!(names(&result.documents[0].field_groups, "parties").len(), 3);
    let row = match &result.request_transformations[0].fields[0].value {
        Some(FieldValue::Fields(rows)) => rows[0].clone(),
        other => panic!("no rows: {other:?}"),
    };
    assert_eq!((row.pages, row.confidence), (vec![1], 0.8));
}

#[tokio::test]
async fn one_transformation_works_on_what_the_one_before_made() {
    let result = transformed(json!([
        entities("task", Some("people")),
        {"type": "entity_resolution", "target_group": "people", "scope": "request", "output_group": "everybody",
            "match_by": ["dni", "name"]},
    ]))
    .await;
    assert_eq!(
        names(&result.request_transformations, "everybody"),
        ["Ana Mar Sol", "Luis Rey", "Eva"]
    );
}

#[tokio::test]
async fn an_engine_rewrites_a_group_in_its_own_schema() {
    let result = transformed(json!([
        {"type": "llm", "target_group": "main", "scope": "task", "intention": "-new"},
        {"type": "llm", "target_group": "main", "scope": "request", "output_group": "all", "intention": "!"},
    ]))
    .await;
    assert_eq!(field(&result, 0, "number").value, text("A-1-new"));
    assert_eq!(result.request_transformations[0].name, "all");
    assert_eq!(
        result.request_transformations[0].fields[0].value,
        text("A-1-new!")
    );
    assert_eq!(result.request_transformations[0].fields.len(), 3);
}

#[tokio::test]
async fn a_group_nobody_has_or_that_has_no_rows_is_an_error_and_the_rest_goes_on() {
    let mut without_rows = entities("task", None);
    without_rows["target_group"] = json!("main");
    let mut unknown = entities("task", None);
    unknown["target_group"] = json!("nobody");
    unknown["id"] = json!("t1");
    let result = transformed(json!([unknown, without_rows, entities("task", None)])).await;
    assert_eq!(
        errors(&result),
        [
            ("transform", "transform_target_unknown"),
            ("transform", "transform_target_unknown")
        ]
    );
    assert!(result.pipeline.errors[0].message.contains("\"t1\""));
    assert_eq!(
        names(&result.documents[0].field_groups, "parties"),
        ["Ana Mar Sol", "Luis Rey"]
    );
}
