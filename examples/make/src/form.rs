//! A filled registration form with boxes and check marks.

use crate::paper::{Fonts, Paper};

/// Draws it.
pub(crate) fn draw(fonts: &Fonts) -> anyhow::Result<Vec<u8>> {
    let mut paper = Paper::new(595.0, 842.0);
    paper.page(|pen| {
        pen.left(56.0, 70.0, &fonts.bold, 16.0, "Registration of identity");
        pen.left(
            56.0,
            88.0,
            &fonts.sans,
            9.0,
            "Town of Sandmoor, citizens' office. Please fill in with capital letters.",
        );
        let boxes = [
            ("Surname", "LINDQVIST", 56.0, 120.0, 235.0),
            ("Given names", "MAJA ELIN", 304.0, 120.0, 235.0),
            ("Date of birth", "03.05.1991", 56.0, 175.0, 150.0),
            ("Place of birth", "GOTHENBURG", 219.0, 175.0, 180.0),
            ("Nationality", "SWE", 412.0, 175.0, 127.0),
            ("Document number", "X4471902", 56.0, 230.0, 235.0),
            ("Valid until", "17.09.2031", 304.0, 230.0, 235.0),
            ("Street and number", "MILL ROAD 8", 56.0, 285.0, 235.0),
            ("Postal code", "24103", 304.0, 285.0, 90.0),
            ("City", "SANDMOOR", 407.0, 285.0, 132.0),
            ("E-mail", "maja.lindqvist@post.example", 56.0, 340.0, 483.0),
        ];
        for (label, value, x, y, width) in boxes {
            pen.outline(x, y, width, 40.0);
            pen.left(x + 4.0, y + 11.0, &fonts.sans, 7.5, label);
            pen.left(x + 6.0, y + 31.0, &fonts.mono, 11.0, value);
        }
        pen.left(56.0, 415.0, &fonts.sans, 9.5, "Marital status");
        for (i, (label, ticked)) in [("single", false), ("married", true), ("divorced", false)]
            .iter()
            .enumerate()
        {
            let x = 160.0 + 110.0 * i as f32;
            pen.outline(x, 405.0, 12.0, 12.0);
            if *ticked {
                pen.left(x + 2.2, 415.2, &fonts.bold, 11.0, "X");
            }
            pen.left(x + 18.0, 415.0, &fonts.sans, 9.5, label);
        }
        pen.left(
            56.0,
            445.0,
            &fonts.sans,
            9.5,
            "I agree to be informed by e-mail",
        );
        pen.outline(270.0, 435.0, 12.0, 12.0);
        pen.left(272.2, 445.2, &fonts.bold, 11.0, "X");
        pen.line((56.0, 520.0), (250.0, 520.0), 0.6);
        pen.left(56.0, 532.0, &fonts.sans, 7.5, "Place and date");
        pen.left(60.0, 515.0, &fonts.mono, 10.0, "SANDMOOR, 02.11.2026");
        pen.line((304.0, 520.0), (539.0, 520.0), 0.6);
        pen.left(304.0, 532.0, &fonts.sans, 7.5, "Signature");
    })?;
    paper.finish()
}
