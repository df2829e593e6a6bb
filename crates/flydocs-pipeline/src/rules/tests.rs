//! What is decided without a model, and what is left to one.

use std::collections::HashMap;

use flydocs_contract::{
    FieldValue,
    request::{DocumentTypeSpec, RuleSpec},
    result::{ExtractedFieldGroup, RuleResult, VisualCheckResult},
};
use serde_json::{Value, json};

use super::{
    decide,
    facts::{Facts, Sheet},
    levels,
};

fn invoice() -> DocumentTypeSpec {
    serde_json::from_value(json!({
        "id": "invoice",
        "field_groups": [{"name": "main", "fields": [
            {"name": "net", "type": "number"}, {"name": "vat", "type": "number"}, {"name": "total", "type": "number"},
            {"name": "issued", "format": "date"}, {"name": "due", "format": "date"},
            {"name": "currency"}, {"name": "note"}, {"name": "paid", "type": "boolean"}, {"name": "tax id"},
            {"name": "lines", "type": "array", "items": {"type": "object", "fields": [
                {"name": "text"}, {"name": "amount", "type": "number"}]}},
            {"name": "seller", "type": "object", "fields": [{"name": "name"}, {"name": "vat"}]},
        ]}],
        "visual_checks": [{"name": "stamp", "description": "a stamp"}],
    }))
    .unwrap()
}

fn field(name: &str, value: &Value) -> Value {
    json!({"name": name, "value": value, "pages": [1], "confidence": 1.0, "bbox": null,
        "validation": {"valid": true, "errors": []}, "notes": null,
        "judge": {"status": "uncertain", "confidence": 0.0, "evidence": null, "notes": null, "flag_for_review": false}})
}

fn document(total: f64) -> Vec<ExtractedFieldGroup> {
    let row = |text: &str, amount: f64| {
        field(
            "lines",
            &json!([field("text", &json!(text)), field("amount", &json!(amount))]),
        )
    };
    let fields = json!([
        field("net", &json!(100.1)),
        field("vat", &json!(21.02)),
        field("total", &json!(total)),
        field("issued", &json!("2024-02-20")),
        field("due", &json!("2024-03-21")),
        field("currency", &json!(" EUR ")),
        field("note", &Value::Null),
        field("paid", &json!(true)),
        field("tax id", &json!("B1")),
        field("lines", &json!([row("a", 60.05), row("b", 40.05)])),
        field(
            "seller",
            &json!([field("name", &json!("Acme")), field("vat", &Value::Null)])
        ),
    ]);
    serde_json::from_value(json!([{"name": "main", "fields": fields}])).unwrap()
}

fn rule(predicate: &str, output: &Value) -> RuleSpec {
    serde_json::from_value(json!({
        "id": "r", "predicate": predicate, "output": output,
        "parents": [
            {"kind": "field", "document_type": "invoice", "fields": ["net", "vat", "total", "issued", "due", "currency",
                "note", "paid", "tax id", "lines", "seller"]},
            {"kind": "validator", "document_type": "invoice", "validator": "stamp"},
            {"kind": "rule", "rule": "earlier"},
        ],
    }))
    .unwrap()
}

fn decide_over(predicate: &str, output: &Value, totals: &[f64]) -> Option<RuleResult> {
    let document_type = invoice();
    let like = document(0.0);
    let documents: Vec<_> = totals
        .iter()
        .map(|total| {
            let mut groups = like.clone();
            groups[0].fields[2].value = Some(FieldValue::Number(*total));
            groups
        })
        .collect();
    let visual = [VisualCheckResult {
        name: "stamp".to_owned(),
        passed: true,
        confidence: 0.9,
        notes: None,
    }];
    let earlier = RuleResult {
        rule_id: "earlier".to_owned(),
        predicate: String::new(),
        output: Some(json!(3)),
        summary: None,
        notes: Vec::new(),
        human_revision: None,
    };
    let answers = HashMap::from([("earlier".to_owned(), earlier)]);
    let sheets = documents.iter().map(|groups| Sheet {
        document_type: &document_type,
        groups,
        visual: &visual,
    });
    let facts = Facts::new(sheets, &answers);
    decide::rule(&rule(predicate, output), &facts)
}

/// The answer as JSON, `"asks a model"` when it is not given here.
fn output(predicate: &str, output: &Value) -> Value {
    match decide_over(predicate, output, &[121.12]) {
        Some(result) => result.output.unwrap_or_default(),
        None => json!("asks a model"),
    }
}

#[test]
fn comparisons_presence_and_arithmetic_need_no_model() {
    let boolean = json!({"type": "boolean", "valid_outputs": ["true", "false"]});
    for (predicate, wanted) in [
        ("total == net + vat", true),
        ("total = net + vat", true),
        ("total != net + vat", false),
        ("invoice.total >= 121.12", true),
        ("net * 0.21 = vat", false),
        ("abs(net * 0.21 - vat) <= 0.01", true),
        ("total / 2 > net", false),
        ("-total < 0", true),
        ("(net + vat) * 2 - total == total", true),
        ("sum(lines.amount) == net", true),
        ("count(lines) = 2 and max(lines.amount) < 61", true),
        ("round(net, 0) == 100", true),
        ("min(net, vat) == vat", true),
        ("note is missing", true),
        ("note is present", false),
        ("note is not present", true),
        ("currency is not empty", true),
        ("exists(seller.name) and not exists(seller.vat)", true),
        ("currency == 'EUR'", true),
        ("currency in (\"EUR\", \"USD\")", true),
        ("currency not in (\"GBP\")", true),
        ("due > issued", true),
        ("due - issued <= 30", true),
        ("issued + 10 == \"2024-03-01\"", true),
        ("issued between \"2024-01-01\" and \"2024-12-31\"", true),
        ("total between 1 and 100", false),
        ("paid", true),
        ("not paid or stamp", true),
        ("invoice.stamp == true", true),
        ("earlier == 3", true),
        ("`tax id` == \"B1\"", true),
        ("NOT (total < net) AND paid", true),
        // Known whatever the missing side would say.
        ("paid or note == \"x\"", true),
        ("not paid and note == \"x\"", false),
        ("total \u{2265} net", true),
    ] {
        assert_eq!(output(predicate, &boolean), json!(wanted), "{predicate}");
    }
}

#[test]
fn numbers_and_texts_can_be_answers_too() {
    let number = json!({"type": "number"});
    let string = json!({"type": "string"});
    assert_eq!(output("net + vat", &number), json!(121.12));
    assert_eq!(output("due - issued", &number), json!(30));
    assert_eq!(output("currency", &string), json!("EUR"));
    assert_eq!(output("issued", &string), json!("2024-02-20"));
}

#[test]
fn plain_language_is_left_to_a_model() {
    let boolean = json!({"type": "boolean"});
    for predicate in [
        "The total is the sum of net and VAT",
        "total matches the lines?",
        "is the total plausible",
        "totals == net",
        "net",
        "currency < \"EUR\"",
        "seller + 1 == 2",
        "currency == 5",
        "1 == 1",
        "vat_rate(net) == 1",
        "total ==",
        "(total",
        "net / 0 == 1",
        "",
    ] {
        assert_eq!(
            output(predicate, &boolean),
            json!("asks a model"),
            "{predicate:?}"
        );
    }
    let deep = format!("{}paid{}", "(".repeat(500), ")".repeat(500));
    assert_eq!(output(&deep, &boolean), json!("asks a model"));
}

#[test]
fn what_cannot_be_told_says_what_is_missing() {
    let boolean = json!({"type": "boolean"});
    for (predicate, missing) in [
        ("note == \"x\"", "note"),
        ("paid and seller.vat == \"x\"", "seller.vat"),
    ] {
        let result = decide_over(predicate, &boolean, &[121.12]).unwrap();
        assert_eq!(result.output, None, "{predicate}");
        assert!(
            result.human_revision.unwrap().contains(missing),
            "{predicate}"
        );
    }
    let result = decide_over("total > 1", &boolean, &[]).unwrap();
    assert_eq!(
        (result.output, result.human_revision.is_some()),
        (None, true)
    );
    let result = decide_over("total is missing", &boolean, &[]).unwrap();
    assert_eq!(result.output, Some(json!(true)));
}

#[test]
fn over_several_documents_a_no_of_one_is_a_no() {
    let boolean = json!({"type": "boolean"});
    let number = json!({"type": "number"});
    let answer = |totals: &[f64]| {
        decide_over("total == net + vat", &boolean, totals)
            .unwrap()
            .output
    };
    assert_eq!(answer(&[121.12, 121.12]), Some(json!(true)));
    assert_eq!(answer(&[121.12, 5.0]), Some(json!(false)));
    // A number that differs by document is no answer.
    assert!(decide_over("total", &number, &[1.0, 2.0]).is_none());
    assert_eq!(
        decide_over("total", &number, &[1.0, 1.0]).unwrap().output,
        Some(json!(1))
    );
    assert!(decide_over("total > 1", &boolean, &[5.0; 1_000]).is_some());
    assert!(decide_over("total > 1", &boolean, &[5.0; 1_001]).is_none());
}

#[test]
fn an_answer_outside_the_allowed_is_for_a_person() {
    let result = decide_over(
        "net + vat",
        &json!({"type": "number", "valid_outputs": ["1", "2"]}),
        &[121.12],
    )
    .unwrap();
    assert_eq!(result.output, None);
    assert!(result.human_revision.unwrap().contains("121.12"));
    let allowed = json!({"type": "number", "valid_outputs": ["121.120"]});
    assert_eq!(output("net + vat", &allowed), json!(121.12));
}

#[test]
fn a_decision_shows_what_it_looked_at() {
    let result = decide_over("total == net + vat", &json!({"type": "boolean"}), &[121.12]).unwrap();
    assert_eq!(
        result.notes,
        ["net = 100.1", "total = 121.12", "vat = 21.02"]
    );
}

#[test]
fn levels_follow_the_parents_and_leave_out_what_waits_for_itself() {
    let rule = |id: &str, parents: &[&str]| -> RuleSpec {
        let parents: Vec<_> = parents
            .iter()
            .map(|p| json!({"kind": "rule", "rule": p}))
            .collect();
        serde_json::from_value(json!({"id": id, "predicate": "x", "parents": parents})).unwrap()
    };
    let rules = [
        rule("c", &["a", "b"]),
        rule("a", &[]),
        rule("b", &["a", "unknown"]),
        rule("x", &["y"]),
        rule("y", &["x"]),
        rule("z", &["z"]),
    ];
    assert_eq!(levels::of(&rules), [vec![1], vec![2], vec![0]]);
}
