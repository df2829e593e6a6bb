use flydocs_engines::LocalLayout;

use crate::page::{invoice, invoice_type, member, page, rows, text};

#[test]
fn labels_types_and_layout_give_the_values() {
    let groups = LocalLayout.read(&[invoice()], &invoice_type());
    let header = &groups[0].fields;
    for (name, value) in [
        ("invoice_number", Some("NW-2024-0117")),
        ("invoice_date", Some("2024-02-13")),
        ("due_date", Some("2024-03-14")),
        ("delivery_date", None),
        ("seller_name", Some("Nordlicht Werkzeuge GmbH")),
        ("buyer_name", Some("Amber Gardens Ltd")),
        ("currency", Some("EUR")),
        ("net_total", Some("156")),
        ("tax_total", Some("31.2")),
        ("total", Some("187.2")),
        ("iban", Some("DE89370400440532013000")),
    ] {
        assert_eq!(text(member(header, name)).as_deref(), value, "{name}");
    }
}

#[test]
fn every_field_is_there_in_the_schemas_order() {
    let spec = invoice_type();
    let groups = LocalLayout.read(&[invoice()], &spec);
    for (group, wanted) in groups.iter().zip(&spec.field_groups) {
        let names: Vec<&str> = group.fields.iter().map(|f| f.name.as_str()).collect();
        let schema: Vec<&str> = wanted.fields.iter().map(|f| f.name.as_str()).collect();
        assert_eq!(names, schema);
    }
    let payment = rows(member(&groups[0].fields, "payment"));
    assert_eq!(
        payment.iter().map(|m| m.name.as_str()).collect::<Vec<_>>(),
        ["iban", "bic"]
    );
}

#[test]
fn the_lines_of_the_table_are_its_rows() {
    let groups = LocalLayout.read(&[invoice()], &invoice_type());
    let lines = rows(&groups[1].fields[0]);
    assert_eq!(lines.len(), 2);
    for (line, cells) in lines.iter().zip([
        ["Pruning shears", "3", "24.5", "73.5"],
        ["Garden hose 25 m", "2", "41.25", "82.5"],
    ]) {
        assert_eq!(line.name, "line");
        let read: Vec<String> = rows(line).iter().filter_map(text).collect();
        assert_eq!(read, cells);
    }
}

#[test]
fn a_box_surrounds_its_value() {
    let groups = LocalLayout.read(&[invoice()], &invoice_type());
    let number = member(&groups[0].fields, "invoice_number");
    let bbox = number.bbox.unwrap();
    assert_eq!(number.pages, [1]);
    assert!(
        (bbox.xmin - 480.0 / 600.0).abs() < 0.01 && (bbox.ymax - 130.0 / 840.0).abs() < 0.01,
        "{bbox:?}"
    );
    assert!((0.0..=1.0).contains(&number.confidence));
}

#[test]
fn a_type_is_proposed_from_the_labels_of_a_page() {
    let proposed = LocalLayout.propose_types(&[invoice()]);
    assert_eq!(proposed.id, "invoice");
    let names: Vec<&str> = proposed.field_groups[0]
        .fields
        .iter()
        .map(|f| f.name.as_str())
        .collect();
    for name in ["invoice_number", "issue_date", "due_date", "total"] {
        assert!(names.contains(&name), "{name} in {names:?}");
    }
    assert_eq!(
        proposed.field_groups[1].fields[0]
            .items
            .as_ref()
            .unwrap()
            .fields
            .as_ref()
            .unwrap()
            .len(),
        4
    );
}

fn seller_vat(parts: &[(f64, f64, &str)]) -> Option<String> {
    let spec = serde_json::from_value(serde_json::json!({
        "id": "invoice", "description": "An invoice.",
        "field_groups": [{"name": "seller", "fields": [
            {"name": "seller_name"}, {"name": "vat_id", "validators": [{"name": "vat_id"}]}
        ]}]
    }))
    .unwrap();
    let groups = LocalLayout.read(&[page(1, parts)], &spec);
    text(member(&groups[0].fields, "vat_id"))
}

#[test]
fn the_only_vat_id_in_a_block_of_facts_is_the_sellers() {
    let facts = [
        (60.0, 50.0, "Nordlicht Werkzeuge GmbH"),
        (60.0, 130.0, "Bill to"),
        (60.0, 144.0, "Amber Gardens Ltd"),
        (60.0, 158.0, "4 Mill Lane"),
        (330.0, 130.0, "Invoice number"),
        (435.0, 130.0, "NW-2024-0117"),
        (330.0, 190.0, "VAT ID"),
        (435.0, 190.0, "DE136695976"),
    ];
    assert_eq!(seller_vat(&facts).as_deref(), Some("DE136695976"));
}

#[test]
fn a_vat_id_in_the_buyers_address_is_not_the_sellers() {
    let address = [
        (60.0, 50.0, "Nordlicht Werkzeuge GmbH"),
        (60.0, 130.0, "Bill to"),
        (60.0, 144.0, "Amber Gardens Ltd"),
        (60.0, 158.0, "4 Mill Lane"),
        (60.0, 172.0, "VAT ID"),
        (100.0, 172.0, "DE136695976"),
    ];
    assert_eq!(seller_vat(&address), None);
}

#[test]
fn a_number_that_ends_a_description_is_no_quantity() {
    let lines = page(
        1,
        &[
            (120.0, 240.0, "Description"),
            (336.0, 240.0, "Quantity"),
            (410.0, 240.0, "Unit price"),
            (499.0, 240.0, "Amount"),
            (120.0, 260.0, "Wood screws 4 x 40 mm, box of 500"),
            (366.0, 260.0, "15"),
            (434.0, 260.0, "12.60"),
            (501.0, 260.0, "189.00"),
            (120.0, 280.0, "Felt pads"),
            (366.0, 280.0, "30"),
            (439.0, 280.0, "3.85"),
            (501.0, 280.0, "115.50"),
        ],
    );
    let groups = LocalLayout.read(&[lines], &invoice_type());
    let read: Vec<Vec<String>> = rows(&groups[1].fields[0])
        .iter()
        .map(|line| rows(line).iter().filter_map(text).collect())
        .collect();
    assert_eq!(
        read,
        [
            ["Wood screws 4 x 40 mm, box of 500", "15", "12.6", "189"],
            ["Felt pads", "30", "3.85", "115.5"],
        ]
    );
}
