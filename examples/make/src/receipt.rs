//! A shop receipt, narrow and in one column.

use crate::paper::{Fonts, Paper};

const WIDTH: f32 = 226.0;

/// Draws it.
pub(crate) fn draw(fonts: &Fonts) -> anyhow::Result<Vec<u8>> {
    let mut paper = Paper::new(WIDTH, 400.0);
    paper.page(|pen| {
        let middle = WIDTH / 2.0;
        pen.center(middle, 34.0, &fonts.bold, 12.0, "GREEN LANE GROCERS");
        pen.center(
            middle,
            48.0,
            &fonts.sans,
            8.0,
            "27 Green Lane, Leeds LS11 8BP",
        );
        pen.center(middle, 60.0, &fonts.sans, 8.0, "Tel. +44 113 496 0182");
        pen.left(16.0, 84.0, &fonts.mono, 8.0, "Receipt no: 0048213");
        pen.left(16.0, 96.0, &fonts.mono, 8.0, "Date: 21/08/2026");
        pen.right(WIDTH - 16.0, 96.0, &fonts.mono, 8.0, "17:42");
        pen.line((16.0, 104.0), (WIDTH - 16.0, 104.0), 0.6);
        let lines = [
            ("Wholemeal bread", "2.40"),
            ("Milk 2 l", "1.95"),
            ("Apples Braeburn 1.2 kg", "3.12"),
            ("Coffee, ground 250 g", "5.60"),
            ("Carrier bag", "0.30"),
        ];
        for (i, (name, price)) in lines.iter().enumerate() {
            let y = 120.0 + 14.0 * i as f32;
            pen.left(16.0, y, &fonts.mono, 8.5, name);
            pen.right(WIDTH - 16.0, y, &fonts.mono, 8.5, price);
        }
        pen.line((16.0, 184.0), (WIDTH - 16.0, 184.0), 0.6);
        pen.left(16.0, 200.0, &fonts.mono, 8.5, "Subtotal");
        pen.right(WIDTH - 16.0, 200.0, &fonts.mono, 8.5, "13.37");
        pen.left(16.0, 218.0, &fonts.bold, 11.0, "TOTAL GBP");
        pen.right(WIDTH - 16.0, 218.0, &fonts.bold, 11.0, "13.37");
        pen.left(16.0, 236.0, &fonts.mono, 8.5, "Cash");
        pen.right(WIDTH - 16.0, 236.0, &fonts.mono, 8.5, "20.00");
        pen.left(16.0, 250.0, &fonts.mono, 8.5, "Change");
        pen.right(WIDTH - 16.0, 250.0, &fonts.mono, 8.5, "6.63");
        pen.center(
            middle,
            290.0,
            &fonts.sans,
            8.0,
            "Thank you for shopping with us!",
        );
    })?;
    paper.finish()
}
