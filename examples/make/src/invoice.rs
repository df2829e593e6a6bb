//! A two-page invoice with line items, of an invented company.

use crate::paper::{Fonts, Paper, Pen};

const PAGE: (f32, f32) = (595.0, 842.0);
const LEFT: f32 = 56.0;
const RIGHT: f32 = 539.0;
const ROW: f32 = 19.0;

/// Position, article, quantity, unit price in cents.
const ITEMS: &[(&str, &str, u32, u64)] = &[
    ("HP-1001", "Oak shelf board 120 x 30 cm", 12, 2490),
    ("HP-1002", "Oak shelf board 180 x 30 cm", 8, 3650),
    ("HP-1040", "Wall bracket, cast iron, pair", 20, 1175),
    ("HP-1102", "Linseed oil varnish, 1 l", 6, 1890),
    ("HP-1103", "Linseed oil varnish, 5 l", 2, 7420),
    ("HP-1210", "Sanding paper assortment, 50 sheets", 10, 945),
    ("HP-1305", "Wood screws 4 x 40 mm, box of 500", 15, 1260),
    ("HP-1306", "Wood screws 5 x 60 mm, box of 250", 15, 1380),
    ("HP-1410", "Countersink bit set, 5 pieces", 4, 2215),
    ("HP-1502", "Joiner's mallet, beech", 3, 1990),
    ("HP-1603", "Marking gauge, brass", 3, 2750),
    ("HP-1711", "Bench clamp 30 cm", 16, 1425),
    ("HP-1712", "Bench clamp 60 cm", 10, 1840),
    ("HP-1820", "Wood glue D3, 750 g", 18, 1095),
    ("HP-1901", "Felt pads, sheet of 24", 30, 385),
    ("HP-2004", "Drawer runner 45 cm, pair", 24, 1560),
    ("HP-2110", "Cabinet hinge, soft close", 60, 295),
    ("HP-2208", "Brass knob 28 mm", 48, 420),
    ("HP-2301", "Edge banding oak, roll of 50 m", 2, 3180),
    ("HP-2415", "Dust mask FFP2, box of 20", 5, 2340),
    ("HP-2502", "Delivery by own van, Hamburg", 1, 4500),
];
const ON_FIRST_PAGE: usize = 17;

/// Draws it.
pub(crate) fn draw(fonts: &Fonts) -> anyhow::Result<Vec<u8>> {
    let mut paper = Paper::new(PAGE.0, PAGE.1);
    paper.page(|pen| {
        letterhead(pen, fonts);
        addresses(pen, fonts);
        let bottom = table(pen, fonts, 330.0, &ITEMS[..ON_FIRST_PAGE]);
        pen.right(
            RIGHT,
            bottom + 20.0,
            &fonts.sans,
            8.5,
            "continued on page 2",
        );
        footer(pen, fonts, 1);
    })?;
    paper.page(|pen| {
        letterhead(pen, fonts);
        pen.left(
            LEFT,
            130.0,
            &fonts.sans,
            9.0,
            "Invoice HP-2026-00417, continued",
        );
        let bottom = table(pen, fonts, 160.0, &ITEMS[ON_FIRST_PAGE..]);
        totals(pen, fonts, bottom + 24.0);
        footer(pen, fonts, 2);
    })?;
    paper.finish()
}

fn letterhead(pen: &mut Pen<'_, '_>, fonts: &Fonts) {
    pen.left(LEFT, 70.0, &fonts.bold, 18.0, "Harbour & Pine GmbH");
    pen.left(LEFT, 86.0, &fonts.sans, 8.5, "Timber and tools since 1987");
    pen.right(RIGHT, 62.0, &fonts.sans, 8.5, "Speicherstrasse 12");
    pen.right(RIGHT, 74.0, &fonts.sans, 8.5, "20457 Hamburg, Germany");
    pen.right(
        RIGHT,
        86.0,
        &fonts.sans,
        8.5,
        "billing@harbour-pine.example",
    );
    pen.line((LEFT, 98.0), (RIGHT, 98.0), 1.2);
}

fn addresses(pen: &mut Pen<'_, '_>, fonts: &Fonts) {
    pen.left(LEFT, 130.0, &fonts.bold, 9.0, "Bill to");
    for (i, line) in ["Kaffeehaus Morgenrot eG", "Lindenallee 41", "22767 Hamburg"]
        .iter()
        .enumerate()
    {
        pen.left(LEFT, 145.0 + 13.0 * i as f32, &fonts.sans, 9.5, line);
    }
    pen.left(LEFT, 230.0, &fonts.bold, 22.0, "INVOICE");
    let facts = [
        ("Invoice number", "HP-2026-00417"),
        ("Invoice date", "14 October 2026"),
        ("Due date", "13 November 2026"),
        ("Customer number", "K-20931"),
        ("Your order", "PO-7756-B"),
        ("VAT ID", "DE136695976"),
    ];
    for (i, (label, value)) in facts.iter().enumerate() {
        let y = 130.0 + 16.0 * i as f32;
        pen.left(330.0, y, &fonts.sans, 9.5, label);
        pen.left(435.0, y, &fonts.sans, 9.5, value);
    }
    let intro = [
        "Thank you for your order. We delivered the following goods on 9 October 2026.",
        "All prices are in EUR.",
    ];
    for (i, line) in intro.iter().enumerate() {
        pen.left(LEFT, 270.0 + 14.0 * i as f32, &fonts.sans, 9.5, line);
    }
}

fn table(pen: &mut Pen<'_, '_>, fonts: &Fonts, top: f32, items: &[(&str, &str, u32, u64)]) -> f32 {
    pen.left(LEFT, top, &fonts.bold, 9.0, "Article");
    pen.left(120.0, top, &fonts.bold, 9.0, "Description");
    pen.right(380.0, top, &fonts.bold, 9.0, "Quantity");
    pen.right(460.0, top, &fonts.bold, 9.0, "Unit price");
    pen.right(RIGHT, top, &fonts.bold, 9.0, "Amount");
    pen.line((LEFT, top + 6.0), (RIGHT, top + 6.0), 0.8);
    let mut y = top + 6.0;
    for (article, description, quantity, cents) in items {
        y += ROW;
        pen.left(LEFT, y, &fonts.sans, 9.0, article);
        pen.left(120.0, y, &fonts.sans, 9.0, description);
        pen.right(380.0, y, &fonts.sans, 9.0, &quantity.to_string());
        pen.right(460.0, y, &fonts.sans, 9.0, &money(*cents));
        pen.right(
            RIGHT,
            y,
            &fonts.sans,
            9.0,
            &money(cents * u64::from(*quantity)),
        );
    }
    pen.line((LEFT, y + 7.0), (RIGHT, y + 7.0), 0.8);
    y + 7.0
}

fn totals(pen: &mut Pen<'_, '_>, fonts: &Fonts, top: f32) {
    let net: u64 = ITEMS
        .iter()
        .map(|(_, _, quantity, cents)| cents * u64::from(*quantity))
        .sum();
    let tax = (net * 19 + 50) / 100;
    let lines = [("Net amount", net), ("VAT 19 %", tax)];
    for (i, (label, cents)) in lines.iter().enumerate() {
        let y = top + 16.0 * i as f32;
        pen.left(360.0, y, &fonts.sans, 9.5, label);
        pen.right(RIGHT, y, &fonts.sans, 9.5, &money(*cents));
    }
    pen.line((360.0, top + 24.0), (RIGHT, top + 24.0), 0.8);
    pen.left(360.0, top + 40.0, &fonts.bold, 11.0, "Total amount EUR");
    pen.right(RIGHT, top + 40.0, &fonts.bold, 11.0, &money(net + tax));
    let y = top + 90.0;
    pen.left(
        LEFT,
        y,
        &fonts.sans,
        9.5,
        "Please pay within 30 days, naming the invoice number.",
    );
    pen.left(LEFT, y + 22.0, &fonts.sans, 9.5, "IBAN");
    pen.left(
        110.0,
        y + 22.0,
        &fonts.sans,
        9.5,
        "DE89 3704 0044 0532 0130 00",
    );
    pen.left(LEFT, y + 38.0, &fonts.sans, 9.5, "BIC");
    pen.left(110.0, y + 38.0, &fonts.sans, 9.5, "COBADEFFXXX");
}

fn footer(pen: &mut Pen<'_, '_>, fonts: &Fonts, page: u32) {
    pen.line((LEFT, 790.0), (RIGHT, 790.0), 0.5);
    pen.center(
        297.5,
        805.0,
        &fonts.sans,
        7.5,
        "Harbour & Pine GmbH, Hamburg. Managing director: Ida Petersen. HRB 99117.",
    );
    pen.center(297.5, 818.0, &fonts.sans, 7.5, &format!("Page {page} of 2"));
}

/// Cents as 1,234.50.
fn money(cents: u64) -> String {
    let whole = (cents / 100).to_string();
    let mut grouped = String::new();
    for (i, digit) in whole.chars().enumerate() {
        if i > 0 && (whole.len() - i).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    format!("{grouped}.{:02}", cents % 100)
}
