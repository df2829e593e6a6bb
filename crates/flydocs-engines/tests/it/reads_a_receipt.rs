use std::sync::Arc;

use flydocs_contract::{PageWords, WordSource, request::DocumentTypeSpec};
use flydocs_engines::LocalLayout;

use crate::page::{member, page, text};

fn receipt_type() -> DocumentTypeSpec {
    serde_json::from_value(serde_json::json!({
        "id": "receipt", "field_groups": [{"name": "receipt", "fields": [
            {"name": "company"}, {"name": "address"}, {"name": "date", "format": "date"}, {"name": "total", "type": "number"}
        ]}]
    }))
    .unwrap()
}

fn read(page: Arc<PageWords>, field: &str) -> Option<String> {
    let groups = LocalLayout.read(&[page], &receipt_type());
    text(member(&groups[0].fields, field))
}

const HEAD: &[(f64, f64, &str)] = &[
    (60.0, 50.0, "KAKTUS TRADING SDN BHD (456123-X)"),
    (60.0, 64.0, "12, JALAN MAWAR 3,"),
    (60.0, 78.0, "50450 KUALA LUMPUR"),
    (60.0, 92.0, "GST Reg. No : 000123456789"),
    (60.0, 120.0, "Date: 04/05/2018 12:14:08 PM"),
];

fn with_head(parts: &[(f64, f64, &str)]) -> Arc<PageWords> {
    let mut all = HEAD.to_vec();
    all.extend_from_slice(parts);
    page(1, &all)
}

#[test]
fn a_total_that_was_misread_is_found_by_what_was_given_and_given_back() {
    let read = read(
        with_head(&[
            (60.0, 150.0, "BREAD"),
            (300.0, 150.0, "108.50"),
            (60.0, 180.0, "Total"),
            (300.0, 180.0, "106.50"),
            (60.0, 210.0, "CASH RM"),
            (300.0, 210.0, "RM 150.00"),
            (60.0, 224.0, "CHANGE RM"),
            (300.0, 224.0, "RM 41.50"),
        ]),
        "total",
    );
    assert_eq!(read.as_deref(), Some("108.5"));
}

/// The page as a recogniser would hand it over, every word as sure as given.
fn recognised(page: &PageWords, confidence: f32) -> Arc<PageWords> {
    let mut page = page.clone();
    page.source = WordSource::Ocr;
    for word in &mut page.words {
        word.confidence = Some(confidence);
    }
    Arc::new(page)
}

#[test]
fn a_digit_misread_in_the_total_is_put_right_by_what_was_given_and_given_back() {
    let page = with_head(&[
        (60.0, 180.0, "Total"),
        (300.0, 180.0, "67.89"),
        (60.0, 210.0, "CASH RM"),
        (300.0, 210.0, "100.00"),
        (60.0, 224.0, "CHANGE RM"),
        (300.0, 224.0, "32.15"),
    ]);
    let mut doubtful = (*recognised(&page, 0.9)).clone();
    for word in doubtful.words.iter_mut().filter(|w| w.text == "67.89") {
        word.confidence = Some(0.6);
    }
    assert_eq!(read(Arc::new(doubtful), "total").as_deref(), Some("67.85"));
    assert_eq!(
        read(page, "total").as_deref(),
        Some("67.89"),
        "a text layer is not misread"
    );
}

#[test]
fn recognised_amounts_may_be_torn_at_the_separator() {
    let page = with_head(&[(60.0, 180.0, "Total"), (300.0, 180.0, "RM40 . 50")]);
    assert_eq!(
        read(recognised(&page, 0.8), "total").as_deref(),
        Some("40.5")
    );
}

#[test]
fn a_misread_word_of_an_address_is_put_right_and_a_line_with_a_register_number_is_none_of_it() {
    let page = page(
        1,
        &[
            (60.0, 50.0, "KAKTUS TRADING SON BLD"),
            (60.0, 64.0, "12, JALAN MAWAR 3,"),
            (60.0, 78.0, "50450 KUALA LUNPUR"),
            (60.0, 92.0, "(PLAZA ID No :001092886528)"),
        ],
    );
    let page = recognised(&page, 0.8);
    assert_eq!(
        read(page.clone(), "address").as_deref(),
        Some("12, JALAN MAWAR 3, 50450 KUALA LUMPUR")
    );
    assert_eq!(
        read(page, "company").as_deref(),
        Some("KAKTUS TRADING SDN BHD")
    );
}

#[test]
fn a_sure_total_is_not_changed_by_a_doubtful_change() {
    let page = with_head(&[
        (60.0, 180.0, "Total"),
        (300.0, 180.0, "30.30"),
        (60.0, 210.0, "CASH RM"),
        (300.0, 210.0, "50.60"),
        (60.0, 224.0, "CHANGE RM"),
        (300.0, 224.0, "19.70"),
    ]);
    let mut page = (*recognised(&page, 0.9)).clone();
    for word in page.words.iter_mut().filter(|w| w.text == "50.60") {
        word.confidence = Some(0.6);
    }
    assert_eq!(read(Arc::new(page), "total").as_deref(), Some("30.3"));
}

#[test]
fn where_nothing_is_called_a_total_the_subtotal_is_one() {
    let page = with_head(&[
        (60.0, 180.0, "SUBTOTAL"),
        (300.0, 180.0, "RN152. 00"),
        (60.0, 194.0, "GST 0%"),
        (300.0, 194.0, "RN0. 00"),
    ]);
    assert_eq!(
        read(recognised(&page, 0.8), "total").as_deref(),
        Some("152")
    );
}

#[test]
fn the_line_with_the_register_number_is_the_firm_and_a_trade_on_its_own_line_belongs_to_the_name() {
    let body = [
        (60.0, 78.0, "12, JALAN MAWAR 3,"),
        (60.0, 92.0, "50450 KUALA LUMPUR"),
    ];
    let registered = [
        &[
            (60.0, 50.0, "KAKTUS"),
            (60.0, 64.0, "FOUR WINDS SDN BHD (456123-X)"),
        ],
        &body[..],
    ]
    .concat();
    assert_eq!(
        read(page(1, &registered), "company").as_deref(),
        Some("FOUR WINDS SDN BHD")
    );
    let trade = [
        &[
            (60.0, 50.0, "KAKTUS UTARA"),
            (60.0, 64.0, "STATIONERY SDN. BHD"),
        ],
        &body[..],
    ]
    .concat();
    assert_eq!(
        read(page(1, &trade), "company").as_deref(),
        Some("KAKTUS UTARA STATIONERY SDN. BHD")
    );
}

#[test]
fn of_two_totals_the_one_after_rounding_is_paid() {
    let read = read(
        with_head(&[
            (60.0, 150.0, "GREEN TEA"),
            (300.0, 150.0, "74.68"),
            (60.0, 164.0, "GST:"),
            (300.0, 164.0, "4.93"),
            (60.0, 180.0, "Grand Total :"),
            (300.0, 180.0, "87.08"),
            (60.0, 194.0, "Rounding Adjustment:"),
            (300.0, 194.0, "0.02"),
            (60.0, 210.0, "Net Total :"),
            (300.0, 210.0, "87.10"),
        ]),
        "total",
    );
    assert_eq!(read.as_deref(), Some("87.1"));
}

#[test]
fn the_head_of_a_column_of_amounts_is_no_label_of_the_total() {
    let read = read(
        with_head(&[
            (60.0, 150.0, "ITEM"),
            (300.0, 150.0, "AMOUNT"),
            (400.0, 150.0, "TAX"),
            (60.0, 164.0, "RICE"),
            (295.0, 164.0, "373.50"),
            (60.0, 178.0, "SUGAR"),
            (300.0, 178.0, "115.80"),
            (60.0, 200.0, "Total Inclusive GST :"),
            (300.0, 200.0, "489.30"),
            (60.0, 214.0, "Cash"),
            (300.0, 214.0, "489.30"),
        ]),
        "total",
    );
    assert_eq!(read.as_deref(), Some("489.3"));
}

#[test]
fn the_letterhead_gives_name_address_and_date() {
    let page = || with_head(&[(60.0, 150.0, "Total 5.00")]);
    assert_eq!(
        read(page(), "company").as_deref(),
        Some("KAKTUS TRADING SDN BHD")
    );
    assert_eq!(
        read(page(), "address").as_deref(),
        Some("12, JALAN MAWAR 3, 50450 KUALA LUMPUR")
    );
    assert_eq!(read(page(), "date").as_deref(), Some("2018-05-04"));
}
