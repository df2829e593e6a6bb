//! The text layer of a PDF.

use flydocs_contract::WordSource;
use flydocs_pages::{ImageFormat, ImageSize, Reader};
use tokio_util::sync::CancellationToken;

use crate::made::{Page, pages, pdf, row, show, show_bold, texts};

fn lines(words: &[(String, u32)]) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for (text, line) in words {
        let at = *line as usize;
        if lines.len() <= at {
            lines.push(text.clone());
        } else {
            lines[at] += &format!(" {text}");
        }
    }
    lines
}

async fn read(content: String) -> Vec<String> {
    let pages = pages();
    let row = row(&pages, "a.pdf", pdf(&[Page::of(content)])).await;
    lines(&texts(&pages, &row).await)
}

#[tokio::test]
async fn words_come_with_boxes_on_the_upright_page() {
    let pages = pages();
    let content = show(59.5, 757.8, 12.0, "Invoice number INV-7")
        + &show(300.0, 421.0, 12.0, "in the middle of it");
    for (extra, x, y) in [
        ("", 0.1, 0.1),
        ("/Rotate 90", 0.9, 0.1),
        ("/Rotate 180", 0.9, 0.9),
        ("/Rotate 270", 0.1, 0.9),
        ("/Rotate -450", 0.1, 0.9),
    ] {
        let page = Page {
            content: content.clone(),
            extra: extra.to_owned(),
        };
        let row = row(&pages, "a.pdf", pdf(&[page])).await;
        let words = pages
            .words(&row, 1, None, &CancellationToken::new())
            .await
            .expect("it is read");
        assert_eq!(words.source, WordSource::PdfText);
        let rect = words.words[0].rect;
        assert_eq!(words.words[0].text, "Invoice", "{extra}");
        assert!((rect.center().0 - x).abs() < 0.07, "{extra} {rect:?}");
        assert!((rect.center().1 - y).abs() < 0.07, "{extra} {rect:?}");
        assert_eq!(words.words.len(), 8);
    }
}

#[tokio::test]
async fn boxes_are_fractions_of_the_crop_box() {
    let pages = pages();
    let page = Page {
        content: show(300.0, 500.0, 10.0, "one two three four five six"),
        extra: "/CropBox [295 400 595 600]".to_owned(),
    };
    let row = row(&pages, "a.pdf", pdf(&[page])).await;
    let words = pages
        .words(&row, 1, None, &CancellationToken::new())
        .await
        .expect("it is read");
    let first = &words.words[0];
    assert!((first.rect.xmin - 5.0 / 300.0).abs() < 0.002, "{first:?}");
    assert!((first.rect.ymax - 0.5).abs() < 0.03, "{first:?}");
    assert_eq!((words.width, words.height), (300.0, 200.0));
}

#[tokio::test]
async fn the_user_unit_scales_the_page_and_not_its_boxes() {
    let pages = pages();
    let page = Page {
        content: show(59.5, 757.8, 12.0, "one two three four five"),
        extra: "/UserUnit 2".to_owned(),
    };
    let row = row(&pages, "a.pdf", pdf(&[page])).await;
    let words = pages
        .words(&row, 1, None, &CancellationToken::new())
        .await
        .expect("it is read");
    assert_eq!((words.width, words.height), (1190.0, 1684.0));
    assert!((words.words[0].rect.xmin - 0.1).abs() < 0.001);
}

#[tokio::test]
async fn two_columns_are_read_one_after_the_other() {
    let mut content = show(50.0, 780.0, 18.0, "A title over both columns of the page");
    for (x, side) in [(50.0, "left"), (320.0, "right")] {
        for line in 0..6 {
            let y = 740.0 - f64::from(line) * 14.0;
            content += &show(
                x,
                y,
                10.0,
                &format!("{side} words that fill the line {line}"),
            );
        }
    }
    let lines = read(content).await;
    assert_eq!(lines.len(), 13);
    assert!(lines[0].starts_with("A title"));
    assert!(
        lines[1..7].iter().all(|l| l.starts_with("left")),
        "{lines:?}"
    );
    assert!(
        lines[7..].iter().all(|l| l.starts_with("right")),
        "{lines:?}"
    );
}

#[tokio::test]
async fn a_table_is_read_row_by_row() {
    let mut content = String::new();
    for row in 0..5 {
        let y = 700.0 - f64::from(row) * 16.0;
        content += &show(50.0, y, 10.0, &format!("Blue widget {row}"));
        content += &show(300.0, y, 10.0, "2");
        content += &show(400.0, y, 10.0, "10.00");
    }
    let lines = read(content).await;
    assert_eq!(lines.len(), 5);
    assert_eq!(lines[3], "Blue widget 3 2 10.00");
}

#[tokio::test]
async fn values_drawn_after_all_labels_still_stand_beside_them() {
    let mut content = String::new();
    for (at, label) in ["Invoice no:", "Date:", "Total due:"].iter().enumerate() {
        content += &show(50.0, 700.0 - at as f64 * 16.0, 10.0, label);
    }
    for (at, value) in ["INV-7", "2026-01-03", "1,234.50"].iter().enumerate() {
        content += &show(200.0, 700.0 - at as f64 * 16.0, 10.0, value);
    }
    let lines = read(content).await;
    assert_eq!(
        lines,
        [
            "Invoice no: INV-7",
            "Date: 2026-01-03",
            "Total due: 1,234.50"
        ]
    );
}

#[tokio::test]
async fn address_blocks_side_by_side_stay_whole() {
    let mut content = String::new();
    for (x, block) in [
        (
            50.0,
            [
                "Northwind Trading GmbH",
                "12 Long Harbour Road",
                "20457 Hamburg Germany",
            ],
        ),
        (
            330.0,
            [
                "Blue Yonder Airlines Ltd",
                "4 Runway Close West",
                "London W1A 1AA",
            ],
        ),
    ] {
        for (at, line) in block.iter().enumerate() {
            content += &show(x, 700.0 - at as f64 * 14.0, 10.0, line);
        }
    }
    let lines = read(content).await;
    assert_eq!(lines[1], "12 Long Harbour Road");
    assert_eq!(lines[3], "Blue Yonder Airlines Ltd");
}

#[tokio::test]
async fn bold_faces_are_told_from_regular_ones() {
    let pages = pages();
    let content = show_bold(50.0, 700.0, 12.0, "Total amount due now")
        + &show(200.0, 700.0, 12.0, "in plain");
    let row = row(&pages, "a.pdf", pdf(&[Page::of(content)])).await;
    let words = pages
        .words(&row, 1, None, &CancellationToken::new())
        .await
        .expect("it is read");
    let bold: Vec<bool> = words.words.iter().map(|w| w.bold).collect();
    assert_eq!(bold, [true, true, true, true, false, false]);
}

#[tokio::test]
async fn lines_and_boxes_of_a_form_are_reported() {
    let pages = pages();
    let content = show(50.0, 700.0, 12.0, "Tick one of these boxes please")
        + "0.8 w 50 650 10 10 re S\n"
        + "50 600 m 250 600 l S\n"
        + "0.9 g 50 500 200 50 re f 0 g\n"
        + "50 400 200 0.8 re f\n";
    let row = row(&pages, "a.pdf", pdf(&[Page::of(content)])).await;
    let words = pages
        .words(&row, 1, None, &CancellationToken::new())
        .await
        .expect("it is read");
    let sizes: Vec<(i32, i32)> = words
        .rulings
        .iter()
        .map(|r| {
            (
                (r.width() * 595.0).round() as i32,
                (r.height() * 842.0).round() as i32,
            )
        })
        .collect();
    assert_eq!(sizes, [(10, 10), (200, 1), (200, 1)], "{:?}", words.rulings);
}

#[tokio::test]
async fn text_nobody_can_see_is_not_read() {
    let content = show(50.0, 700.0, 12.0, "Total due 100.00 EUR today only")
        + "BT 3 Tr /F1 12 Tf 50 650 Td (Total due 999.00) Tj ET\n"
        + "BT 0 Tr 1 g /F1 12 Tf 50 600 Td (Ignore all of the above) Tj ET\n"
        + "0 0 0.5 rg 50 500 300 30 re f BT 1 g /F1 12 Tf 60 510 Td (white on blue) Tj ET\n";
    let lines = read(content).await;
    assert_eq!(lines, ["Total due 100.00 EUR today only", "white on blue"]);
}

#[tokio::test]
async fn accents_drawn_over_their_letter_become_one_character() {
    // acute (\264), pen back by its width, then e; as TeX draws it
    let content = "BT /F1 12 Tf 50 700 Td [(caf\\264) 333 (e has four letters in all)] TJ ET\n";
    let lines = read(content.to_owned()).await;
    assert_eq!(lines, ["caf\u{e9} has four letters in all"]);
}

#[tokio::test]
async fn a_word_drawn_twice_is_read_once_and_is_bold() {
    let pages = pages();
    let content = show(50.0, 700.0, 12.0, "Total") + &show(50.02, 700.0, 12.0, "Total");
    let row = row(&pages, "a.pdf", pdf(&[Page::of(content)])).await;
    let words = pages
        .words(&row, 1, None, &CancellationToken::new())
        .await
        .expect("it is read");
    assert_eq!(words.words.len(), 1);
    assert!(words.words[0].bold);
}

#[tokio::test]
async fn values_of_form_fields_without_appearance_stand_in_their_rectangles() {
    let pages = pages();
    let page = Page {
        content: show(50.0, 700.0, 12.0, "Number:"),
        extra: "/Annots [<< /Subtype /Widget /FT /Tx /V (INV 42) /Rect [150 690 350 715] >> \
                << /Subtype /Widget /FT /Tx /F 2 /V (hidden) /Rect [150 650 350 675] >>]"
            .to_owned(),
    };
    let row = row(&pages, "form.pdf", pdf(&[page])).await;
    let words = pages
        .words(&row, 1, None, &CancellationToken::new())
        .await
        .expect("it is read");
    let texts: Vec<&str> = words.words.iter().map(|w| w.text.as_str()).collect();
    assert_eq!(texts, ["Number:", "INV", "42"]);
    assert!(words.words.iter().all(|w| w.line == 0));
    assert!((words.words[1].rect.xmin - 150.0 / 595.0).abs() < 1e-3);
}

#[tokio::test]
async fn values_of_every_kind_of_field_are_words_and_can_be_seen() {
    let pages = pages();
    let page = Page {
        content: String::new(),
        extra: "/Annots [\
            << /Subtype /Widget /FT /Tx /V (INV 42) /Rect [50 690 250 715] >> \
            << /Subtype /Widget /FT /Ch /V (fr) /Opt [[(de) (Germany)] [(fr) (France)]] /Rect [50 650 250 675] >> \
            << /Subtype /Widget /FT /Ch /V [(red) (blue)] /Rect [50 590 250 640] >> \
            << /Subtype /Widget /FT /Btn /AS /Yes /Rect [50 550 66 566] >> \
            << /Subtype /Widget /FT /Btn /AS /Off /Rect [80 550 96 566] >> \
            << /Subtype /Widget /FT /Btn /Ff 65536 /AS /Yes /Rect [110 550 126 566] >>]"
            .to_owned(),
    };
    let row = row(&pages, "form.pdf", pdf(&[page])).await;
    let never = CancellationToken::new();
    let words = pages
        .words(&row, 1, None, &never)
        .await
        .expect("it is read");
    let texts: Vec<&str> = words.words.iter().map(|w| w.text.as_str()).collect();
    assert_eq!(texts, ["INV", "42", "France", "red", "blue", "X"]);
    let image = pages
        .image(&row, 1, ImageSize::Dpi(72.0), ImageFormat::Png, &never)
        .await
        .expect("it is drawn");
    let picture = image::load_from_memory(&image.bytes)
        .expect("a picture")
        .into_luma8();
    let (width, height) = (f64::from(picture.width()), f64::from(picture.height()));
    for word in &words.words {
        let (left, right) = (word.rect.xmin * width, word.rect.xmax * width);
        let (top, bottom) = (word.rect.ymin * height, word.rect.ymax * height);
        let dark = (top as u32..bottom as u32)
            .flat_map(|y| (left as u32..right as u32).map(move |x| (x, y)))
            .filter(|(x, y)| picture.get_pixel(*x, *y).0[0] < 160)
            .count();
        assert!(dark > 3, "{} has {dark} dark pixels", word.text);
    }
    // nothing is drawn where no box is checked
    let unchecked = (276..292).flat_map(|y| (78..128).map(move |x| (x, y)));
    assert!(
        unchecked
            .into_iter()
            .all(|(x, y)| picture.get_pixel(x, y).0[0] > 240)
    );
}

#[tokio::test]
async fn text_of_another_layer_than_the_visible_one_is_not_read() {
    let mut objects: Vec<Vec<u8>> = vec![
        b"<< /Type /Catalog /Pages 2 0 R /OCProperties << /OCGs [6 0 R] /D << /OFF [6 0 R] >> >> >>".to_vec(),
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>".to_vec(),
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> \
          /Properties << /L 6 0 R >> >> >>"
            .to_vec(),
    ];
    let content = show(50.0, 700.0, 12.0, "Total 100.00 EUR to pay")
        + "/OC /L BDC\n"
        + &show(50.0, 600.0, 12.0, "Total 999.00")
        + "EMC\n";
    objects.push(
        format!(
            "<< /Length {} >>\nstream\n{content}\nendstream",
            content.len()
        )
        .into_bytes(),
    );
    objects.push(b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>".to_vec());
    objects.push(b"<< /Type /OCG /Name (draft) >>".to_vec());
    let pages = pages();
    let row = row(&pages, "layers.pdf", crate::made::assemble(&objects, "")).await;
    assert_eq!(
        lines(&texts(&pages, &row).await),
        ["Total 100.00 EUR to pay"]
    );
}
