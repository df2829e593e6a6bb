use std::sync::Arc;

use flydocs_contract::request::DocumentTypeSpec;
use flydocs_engines::{ClassifyQuestion, Engine, LocalLayout, SplitQuestion};
use tokio_util::sync::CancellationToken;

use crate::page::{NoImages, invoice, invoice_type, page};

fn types() -> Arc<[DocumentTypeSpec]> {
    let contract = serde_json::from_value(serde_json::json!({
        "id": "contract", "description": "An agreement between parties.",
        "field_groups": [{"name": "contract", "fields": [{"name": "effective_date", "format": "date"}, {"name": "jurisdiction"}]}]
    }))
    .unwrap();
    Arc::from(vec![contract, invoice_type()])
}

fn agreement(number: u32) -> Arc<flydocs_contract::PageWords> {
    page(
        number,
        &[
            (200.0, 60.0, "CONFIDENTIALITY AGREEMENT"),
            (
                60.0,
                100.0,
                "This Agreement is made as of March 4, 2019 by and between the parties",
            ),
            (
                60.0,
                114.0,
                "and shall be governed by the laws of the State of Oregon.",
            ),
        ],
    )
}

#[tokio::test]
async fn a_document_is_told_by_its_title_and_labels() {
    for (document, id) in [(invoice(), "invoice"), (agreement(1), "contract")] {
        let question = ClassifyQuestion {
            pages: vec![document],
            images: Arc::new(NoImages),
            document_types: types(),
            intention: String::new(),
        };
        let answer = LocalLayout
            .classify(question, &CancellationToken::new())
            .await
            .unwrap()
            .value;
        assert_eq!(answer.document_type.as_deref(), Some(id), "{answer:?}");
        assert!(answer.matched);
    }
}

#[tokio::test]
async fn a_page_of_something_else_matches_no_type() {
    let question = ClassifyQuestion {
        pages: vec![page(
            1,
            &[(60.0, 60.0, "the river ran slowly past the old willow")],
        )],
        images: Arc::new(NoImages),
        document_types: types(),
        intention: String::new(),
    };
    let answer = LocalLayout
        .classify(question, &CancellationToken::new())
        .await
        .unwrap()
        .value;
    assert!(!answer.matched, "{answer:?}");
}

#[tokio::test]
async fn a_file_of_two_documents_is_split_where_the_second_begins() {
    let mut second = (*invoice()).clone();
    second.page = 1;
    let question = SplitQuestion {
        pages: vec![Arc::new(second), agreement(2)],
        images: Arc::new(NoImages),
        document_types: types(),
        intention: String::new(),
    };
    let segments = LocalLayout
        .split(question, &CancellationToken::new())
        .await
        .unwrap()
        .value;
    let pages: Vec<(u32, u32)> = segments
        .iter()
        .map(|s| (s.page_start, s.page_end))
        .collect();
    assert_eq!(pages, [(1, 1), (2, 2)]);
    assert_eq!(segments[1].provisional_type.as_deref(), Some("contract"));
}

#[tokio::test]
async fn pages_that_count_on_stay_together() {
    let numbered = |number: u32, of: &str| {
        page(
            number,
            &[
                (60.0, 60.0, "Invoice number: A-77"),
                (60.0, 100.0, "work"),
                (500.0, 820.0, of),
            ],
        )
    };
    let question = SplitQuestion {
        pages: vec![numbered(1, "Page 1 of 2"), numbered(2, "Page 2 of 2")],
        images: Arc::new(NoImages),
        document_types: types(),
        intention: String::new(),
    };
    assert!(
        LocalLayout
            .split(question, &CancellationToken::new())
            .await
            .unwrap()
            .value
            .is_empty()
    );
}
