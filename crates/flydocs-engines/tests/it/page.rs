//! Pages from lines of text: each line at its height, each part at its column, as a text layer would have it.

use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use flydocs_contract::{
    ExtractedField, FieldValue, PageWords, Rect, Word, WordSource, request::DocumentTypeSpec,
};
use flydocs_engines::{Error, PageImages};
use tokio_util::sync::CancellationToken;

const WIDTH: f64 = 600.0;
const HEIGHT: f64 = 840.0;

/// Parts of lines: left edge, base line, text, all in points. A letter is 5 points wide and 10 high.
pub(crate) fn page(number: u32, parts: &[(f64, f64, &str)]) -> Arc<PageWords> {
    let mut words = Vec::new();
    for (line, (x, y, text)) in parts.iter().enumerate() {
        let mut left = *x;
        for word in text.split(' ') {
            let width = 5.0 * word.chars().count() as f64;
            words.push(Word {
                text: word.to_owned(),
                rect: Rect::new(
                    left / WIDTH,
                    (y - 10.0) / HEIGHT,
                    (left + width) / WIDTH,
                    y / HEIGHT,
                ),
                line: line as u32,
                confidence: None,
                bold: false,
            });
            left += width + 3.0;
        }
    }
    Arc::new(PageWords {
        page: number,
        width: WIDTH,
        height: HEIGHT,
        source: WordSource::PdfText,
        words,
        rulings: Vec::new(),
    })
}

/// The page with drawn boxes: left, upper, right and lower edge, in points.
pub(crate) fn ruled(page: &PageWords, boxes: &[(f64, f64, f64, f64)]) -> Arc<PageWords> {
    let mut page = page.clone();
    page.rulings = boxes
        .iter()
        .map(|(x0, y0, x1, y1)| Rect::new(x0 / WIDTH, y0 / HEIGHT, x1 / WIDTH, y1 / HEIGHT))
        .collect();
    Arc::new(page)
}

pub(crate) fn invoice() -> Arc<PageWords> {
    page(
        1,
        &[
            (60.0, 50.0, "Nordlicht Werkzeuge GmbH"),
            (60.0, 64.0, "Hafenstraße 12"),
            (60.0, 78.0, "20457 Hamburg"),
            (60.0, 130.0, "Bill to:"),
            (60.0, 144.0, "Amber Gardens Ltd"),
            (60.0, 158.0, "4 Mill Lane"),
            (60.0, 172.0, "Bristol BS1 4DJ"),
            (380.0, 130.0, "Invoice number:"),
            (480.0, 130.0, "NW-2024-0117"),
            (380.0, 144.0, "Invoice date:"),
            (480.0, 144.0, "13/02/2024"),
            (380.0, 158.0, "Order date:"),
            (480.0, 158.0, "01/02/2024"),
            (380.0, 172.0, "Due date:"),
            (480.0, 172.0, "14/03/2024"),
            (60.0, 240.0, "Description"),
            (300.0, 240.0, "Quantity"),
            (380.0, 240.0, "Unit price"),
            (480.0, 240.0, "Amount"),
            (60.0, 260.0, "Pruning shears"),
            (320.0, 260.0, "3"),
            (395.0, 260.0, "24.50"),
            (485.0, 260.0, "73.50"),
            (60.0, 280.0, "Garden hose 25 m"),
            (320.0, 280.0, "2"),
            (395.0, 280.0, "41.25"),
            (485.0, 280.0, "82.50"),
            (380.0, 320.0, "Subtotal"),
            (480.0, 320.0, "156.00"),
            (380.0, 334.0, "VAT 20 %"),
            (485.0, 334.0, "31.20"),
            (380.0, 348.0, "Total"),
            (472.0, 348.0, "€ 187.20"),
            (60.0, 400.0, "IBAN: DE89 3704 0044 0532 0130 00"),
        ],
    )
}

pub(crate) fn invoice_type() -> DocumentTypeSpec {
    serde_json::from_value(serde_json::json!({
        "id": "invoice", "description": "An invoice.",
        "field_groups": [
            {"name": "header", "fields": [
                {"name": "invoice_number"},
                {"name": "invoice_date", "format": "date"},
                {"name": "due_date", "format": "date"},
                {"name": "delivery_date", "format": "date"},
                {"name": "seller_name"},
                {"name": "buyer_name"},
                {"name": "currency", "format": "currency"},
                {"name": "net_total", "type": "number"},
                {"name": "tax_total", "type": "number"},
                {"name": "total", "type": "number"},
                {"name": "iban", "validators": [{"name": "iban"}]},
                {"name": "payment", "type": "object", "fields": [{"name": "iban"}, {"name": "bic"}]}
            ]},
            {"name": "items", "fields": [
                {"name": "lines", "type": "array", "items": {"name": "line", "type": "object", "fields": [
                    {"name": "description"}, {"name": "quantity", "type": "integer"},
                    {"name": "unit_price", "type": "number"}, {"name": "amount", "type": "number"}
                ]}}
            ]}
        ]
    }))
    .unwrap()
}

pub(crate) fn text(field: &ExtractedField) -> Option<String> {
    match field.value.as_ref()? {
        FieldValue::String(s) => Some(s.clone()),
        FieldValue::Number(n) => Some(n.to_string()),
        FieldValue::Integer(n) => Some(n.to_string()),
        FieldValue::Boolean(b) => Some(b.to_string()),
        FieldValue::Fields(_) => None,
    }
}

pub(crate) fn member<'a>(fields: &'a [ExtractedField], name: &str) -> &'a ExtractedField {
    fields.iter().find(|f| f.name == name).unwrap()
}

pub(crate) fn rows(field: &ExtractedField) -> &[ExtractedField] {
    match &field.value {
        Some(FieldValue::Fields(rows)) => rows,
        _ => &[],
    }
}

#[derive(Debug)]
pub(crate) struct NoImages;

#[async_trait]
impl PageImages for NoImages {
    async fn jpeg(&self, _page: u32, _cancel: &CancellationToken) -> Result<Bytes, Error> {
        Err(Error::Cancelled)
    }
}
