use std::sync::Arc;

use flydocs_contract::{PageWords, request::DocumentTypeSpec};
use flydocs_engines::LocalLayout;

use crate::page::{member, page, ruled, text};

fn form_type() -> DocumentTypeSpec {
    serde_json::from_value(serde_json::json!({
        "id": "form", "description": "A filled form.",
        "field_groups": [{"name": "person", "fields": [
            {"name": "surname"},
            {"name": "given_names"},
            {"name": "marital_status", "enum": ["single", "married", "divorced"]},
            {"name": "street", "description": "Street and number"},
            {"name": "city"},
            {"name": "newsletter", "description": "Wants the newsletter", "type": "boolean"}
        ]}]
    }))
    .unwrap()
}

/// The small labels stand in the boxes, over their values; the mark is put where the test says.
fn form(marks: &[(f64, f64, &str)]) -> Arc<PageWords> {
    let mut parts = vec![
        (60.0, 50.0, "Registration of a guest"),
        (60.0, 112.0, "Surname"),
        (62.0, 133.0, "OKONKWO"),
        (310.0, 112.0, "Given names"),
        (312.0, 133.0, "RUTH AMARA"),
        (60.0, 172.0, "Street and number"),
        (62.0, 193.0, "BIRCH ROAD 17"),
        (310.0, 172.0, "City"),
        (312.0, 193.0, "EASTHAVEN"),
        (56.0, 250.0, "Marital status"),
        (178.0, 250.0, "single"),
        (288.0, 250.0, "married"),
        (398.0, 250.0, "divorced"),
        (56.0, 280.0, "Newsletter"),
        (60.0, 350.0, "EASTHAVEN, 02.11.2026"),
        (56.0, 370.0, "Place and date"),
    ];
    parts.extend_from_slice(marks);
    ruled(
        &page(1, &parts),
        &[
            (56.0, 98.0, 291.0, 138.0),
            (304.0, 98.0, 539.0, 138.0),
            (56.0, 158.0, 291.0, 198.0),
            (304.0, 158.0, 539.0, 198.0),
            (160.0, 239.0, 172.0, 251.0),
            (270.0, 239.0, 282.0, 251.0),
            (380.0, 239.0, 392.0, 251.0),
            (270.0, 269.0, 282.0, 281.0),
        ],
    )
}

fn read(page: Arc<PageWords>, field: &str) -> Option<String> {
    let groups = LocalLayout.read(&[page], &form_type());
    text(member(&groups[0].fields, field))
}

#[test]
fn the_label_over_a_value_in_the_same_box_wins_over_its_neighbour() {
    assert_eq!(read(form(&[]), "surname").as_deref(), Some("OKONKWO"));
    assert_eq!(
        read(form(&[]), "given_names").as_deref(),
        Some("RUTH AMARA")
    );
}

#[test]
fn an_empty_box_does_not_take_its_neighbours_value() {
    let mut empty = PageWords::clone(&form(&[]));
    empty.words.retain(|w| w.text != "OKONKWO");
    let empty = Arc::new(empty);
    assert_eq!(read(Arc::clone(&empty), "surname"), None);
    assert_eq!(read(empty, "given_names").as_deref(), Some("RUTH AMARA"));
}

#[test]
fn the_words_of_a_label_are_no_part_of_its_value() {
    assert_eq!(read(form(&[]), "street").as_deref(), Some("BIRCH ROAD 17"));
    assert_eq!(read(form(&[]), "city").as_deref(), Some("EASTHAVEN"));
}

#[test]
fn the_option_whose_box_holds_a_mark_is_the_value() {
    for (left, option) in [(163.5, "single"), (273.5, "married"), (383.5, "divorced")] {
        let marked = form(&[(left, 250.0, "X")]);
        assert_eq!(read(marked, "marital_status").as_deref(), Some(option));
    }
}

#[test]
fn a_mark_in_the_box_after_a_statement_means_yes_and_an_empty_box_no() {
    let marked = form(&[(273.5, 280.0, "X")]);
    assert_eq!(read(marked, "newsletter").as_deref(), Some("true"));
    assert_eq!(read(form(&[]), "newsletter").as_deref(), Some("false"));
}
