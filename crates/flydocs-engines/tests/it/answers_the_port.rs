use std::sync::Arc;

use flydocs_engines::{Engine, Error, ExtractQuestion, LocalLayout};
use tokio_util::sync::CancellationToken;

use crate::page::{NoImages, invoice, invoice_type};

fn question() -> ExtractQuestion {
    ExtractQuestion {
        pages: vec![invoice()],
        images: Arc::new(NoImages),
        document_type: Arc::new(invoice_type()),
        intention: String::new(),
        language_hint: None,
    }
}

#[tokio::test]
async fn the_same_question_has_the_same_answer_and_costs_nothing() {
    let cancel = CancellationToken::new();
    let first = LocalLayout.extract(question(), &cancel).await.unwrap();
    let second = LocalLayout.extract(question(), &cancel).await.unwrap();
    assert_eq!(first, second);
    assert!(first.usage.is_empty());
}

#[tokio::test]
async fn a_cancelled_question_is_not_answered() {
    let cancel = CancellationToken::new();
    cancel.cancel();
    assert!(matches!(
        LocalLayout.extract(question(), &cancel).await,
        Err(Error::Cancelled)
    ));
}

#[test]
fn the_explanation_names_label_and_reason() {
    let explanation = LocalLayout.explain(&question());
    let date = explanation
        .fields
        .iter()
        .find(|f| f.path == "header.invoice_date")
        .unwrap();
    assert!(date.why.contains("Invoice date"), "{}", date.why);
    assert!(
        date.candidates
            .iter()
            .any(|c| c.chosen && c.text == "13/02/2024")
    );
    assert!(date.candidates.iter().any(|c| !c.chosen));
    assert!(
        serde_json::to_string(&explanation)
            .unwrap()
            .contains("\"place\":\"right\"")
    );
}
