//! rules: what needs no model, what an engine is asked, and what is made of its answers.

use std::sync::Arc;

use flydocs_contract::{ExtractionResult, result::RuleResult};
use flydocs_engines::RulesQuestion;
use serde_json::{Value, json};

use crate::fakes::{Behaviour, FakeEngine, errors, file, house, request};

fn answer(id: &str, output: Value) -> RuleResult {
    RuleResult {
        rule_id: id.to_owned(),
        predicate: "whatever the engine says it was".to_owned(),
        output: (!output.is_null()).then_some(output),
        summary: Some("because".to_owned()),
        notes: Vec::new(),
        human_revision: None,
    }
}

fn scripted(
    script: impl Fn(&RulesQuestion, usize) -> Vec<RuleResult> + Send + Sync + 'static,
) -> FakeEngine {
    FakeEngine {
        rules: Some(Arc::new(script)),
        ..FakeEngine::default()
    }
}

async fn evaluated(engine: FakeEngine, rules: Value) -> ExtractionResult {
    let house = house([engine]);
    let request = request(
        &["invoice"],
        json!({"rules": rules, "options": {"stages": {"rule_engine": true}}}),
    );
    house
        .run(&request, &[file("a.pdf", "number: A-1\ntotal: 12.5")])
        .await
        .unwrap()
}

fn rule(id: &str, predicate: &str, output: Value, parents: Value) -> Value {
    json!({"id": id, "predicate": predicate, "output": output, "parents": parents})
}

fn fields(names: &[&str]) -> Value {
    json!({"kind": "field", "document_type": "invoice", "fields": names})
}

fn outputs(result: &ExtractionResult) -> Vec<(&str, Option<&Value>)> {
    result
        .rule_results
        .iter()
        .map(|r| (r.rule_id.as_str(), r.output.as_ref()))
        .collect()
}

#[tokio::test]
async fn simple_rules_ask_nobody_and_come_in_the_order_of_the_request() {
    let engine = FakeEngine::default();
    let result = evaluated(
        engine.clone(),
        json!([
            rule(
                "last",
                "`a-1` and twice > 20",
                Value::Null,
                json!([{"kind": "rule", "rule": "a-1"}, {"kind": "rule", "rule": "twice"}])
            ),
            rule(
                "a-1",
                "total > 10",
                Value::Null,
                json!([fields(&["total"])])
            ),
            rule(
                "twice",
                "total * 2",
                json!({"type": "number"}),
                json!([fields(&["total"])])
            ),
        ]),
    )
    .await;
    assert_eq!(
        outputs(&result),
        [
            ("last", Some(&json!(true))),
            ("a-1", Some(&json!(true))),
            ("twice", Some(&json!(25)))
        ]
    );
    assert_eq!(engine.count("evaluate_rules"), 0);
    assert_eq!(errors(&result), []);
}

#[tokio::test]
async fn the_others_of_a_level_are_one_question_with_their_context() {
    let engine = scripted(|question, round| {
        let contexts: Vec<_> = question.contexts.iter().map(|(_, c)| c.clone()).collect();
        let (rules, context) = if round == 1 {
            let fields = json!({"total": 12.5, "number": "A-1"});
            (
                2,
                json!({"documents": {"invoice": [{"fields": fields}]}, "rules": {}}),
            )
        } else {
            (1, json!({"documents": {}, "rules": {"fair": true}}))
        };
        assert_eq!((question.rules.len(), &contexts[0]), (rules, &context));
        question
            .rules
            .iter()
            .map(|r| answer(&r.id, json!("true")))
            .collect()
    });
    let result = evaluated(
        engine.clone(),
        json!([
            rule(
                "fair",
                "The price is fair",
                Value::Null,
                json!([fields(&["total", "number"])])
            ),
            rule("kind", "It is kind", Value::Null, json!([])),
            rule(
                "then",
                "So be it",
                Value::Null,
                json!([{"kind": "rule", "rule": "fair"}])
            ),
        ]),
    )
    .await;
    assert_eq!(engine.count("evaluate_rules"), 2);
    let yes = json!(true);
    assert_eq!(
        outputs(&result),
        [
            ("fair", Some(&yes)),
            ("kind", Some(&yes)),
            ("then", Some(&yes))
        ]
    );
    assert_eq!(result.rule_results[0].predicate, "The price is fair");
}

#[tokio::test]
async fn an_answer_out_of_bounds_gets_one_second_try() {
    let words = json!({"type": "string", "valid_outputs": ["low", "high"]});
    let rules = json!([
        rule("mended", "How high is it", words.clone(), json!([])),
        rule("fine", "And this one", words.clone(), json!([])),
        rule("stubborn", "Is it", Value::Null, json!([])),
    ]);
    let engine = scripted(|question, round| {
        let repairs = question
            .contexts
            .iter()
            .filter(|(_, c)| c.get("repair").is_some());
        assert_eq!(
            repairs.count(),
            if round == 1 { 0 } else { question.rules.len() }
        );
        let answers = question
            .rules
            .iter()
            .map(|rule| match (rule.id.as_str(), round) {
                ("mended", 1) => answer("mended", json!("HIGH")),
                ("mended", _) => answer("mended", json!("high")),
                ("stubborn", _) => answer("stubborn", json!(5)),
                (id, _) => answer(id, json!("low")),
            });
        answers.collect()
    });
    let result = evaluated(engine.clone(), rules).await;
    assert_eq!(engine.count("evaluate_rules"), 2);
    assert_eq!(
        outputs(&result),
        [
            ("mended", Some(&json!("high"))),
            ("fine", Some(&json!("low"))),
            ("stubborn", None)
        ]
    );
    let revision = result.rule_results[2].human_revision.as_ref().unwrap();
    assert!(
        revision.contains("boolean") && revision.contains("asked again"),
        "{revision}"
    );
    assert_eq!(errors(&result), [("rules", "rule_not_evaluated")]);
}

#[tokio::test]
async fn a_rule_the_engine_leaves_out_is_reported() {
    let engine = scripted(|_, _| vec![answer("here", json!(true)), answer("unasked", json!(true))]);
    let rules = json!([
        rule("here", "Is it here", Value::Null, json!([])),
        rule("gone", "Is it gone", Value::Null, json!([])),
    ]);
    let result = evaluated(engine, rules).await;
    assert_eq!(
        outputs(&result),
        [("here", Some(&json!(true))), ("gone", None)]
    );
    assert_eq!(errors(&result), [("rules", "rule_not_evaluated")]);
    assert!(result.pipeline.errors[0].message.contains("gone"));
    assert!(result.rule_results[1].human_revision.is_some());
}

#[tokio::test]
async fn what_an_engine_leaves_to_a_person_is_not_asked_twice() {
    let engine = scripted(|question, _| {
        question
            .rules
            .iter()
            .map(|r| RuleResult {
                human_revision: Some("look at the stamp".to_owned()),
                ..answer(&r.id, Value::Null)
            })
            .collect()
    });
    let rules = json!([rule("r", "Is the stamp real", Value::Null, json!([]))]);
    let result = evaluated(engine.clone(), rules).await;
    assert_eq!(engine.count("evaluate_rules"), 1);
    assert_eq!(
        result.rule_results[0].human_revision.as_deref(),
        Some("look at the stamp")
    );
    assert_eq!(errors(&result), []);
}

#[tokio::test]
async fn an_engine_that_fails_takes_only_its_own_rules_away() {
    let engine = FakeEngine::that("evaluate_rules", Behaviour::CannotDoThat);
    let rules = json!([
        rule("open", "Is it fair", Value::Null, json!([])),
        rule(
            "simple",
            "total > 1",
            Value::Null,
            json!([fields(&["total"])])
        ),
        rule(
            "later",
            "simple and open",
            Value::Null,
            json!([{"kind": "rule", "rule": "simple"}, {"kind": "rule", "rule": "open"}])
        ),
    ]);
    let result = evaluated(engine, rules).await;
    assert_eq!(
        outputs(&result),
        [("simple", Some(&json!(true))), ("later", None)]
    );
    assert!(
        result.rule_results[1]
            .human_revision
            .as_ref()
            .unwrap()
            .contains("open")
    );
    assert_eq!(errors(&result), [("rules", "engine_unsupported")]);
    assert!(result.pipeline.errors[0].message.contains("open"));
}
