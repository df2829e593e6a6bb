//! Writing systems: right to left, Chinese, Japanese and Korean with and without a font in the file.

use flydocs_contract::WordSource;
use flydocs_pages::{ImageFormat, ImageSize, OcrEngine, Options, Pages, Reader};
use tokio_util::sync::CancellationToken;

use crate::made::{assemble, row, texts};

fn without_ocr() -> Pages {
    Pages::new(Options {
        ocr_engine: OcrEngine::None,
        ..Options::default()
    })
}

fn stream(content: &[u8]) -> Vec<u8> {
    let mut out = format!("<< /Length {} >>\nstream\n", content.len()).into_bytes();
    out.extend_from_slice(content);
    out.extend_from_slice(b"\nendstream");
    out
}

/// One page whose only font is object 5; what it refers to comes after it.
fn with_font(content: &str, font: &[Vec<u8>]) -> Vec<u8> {
    let mut objects = vec![
        b"<< /Type /Catalog /Pages 2 0 R >>".to_vec(),
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>".to_vec(),
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 400 300] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>"
            .to_vec(),
        stream(content.as_bytes()),
    ];
    objects.extend_from_slice(font);
    assemble(&objects, "")
}

/// Helvetica whose letters a to y are said to be the Hebrew letters from alef on, z a vowel sign, figures figures.
fn hebrew(content: &str) -> Vec<u8> {
    let to_unicode =
        b"/CIDInit /ProcSet findresource begin 12 dict begin begincmap /CMapName /H def \
        1 begincodespacerange <00> <ff> endcodespacerange \
        3 beginbfrange <20> <3f> <0020> <61> <79> <05d0> <7a> <7a> <05b7> endbfrange \
        endcmap CMapName currentdict /CMap defineresource pop end end";
    with_font(
        content,
        &[
            b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding /ToUnicode 6 0 R >>".to_vec(),
            stream(to_unicode),
        ],
    )
}

/// A font that numbers its glyphs as Adobe-Japan1 does; `embedded` is its program.
fn japanese(content: &str, encoding: &str, embedded: Option<&[u8]>) -> Vec<u8> {
    let kind = if embedded.is_some() {
        "CIDFontType2"
    } else {
        "CIDFontType0"
    };
    let file = if embedded.is_some() {
        "/FontFile2 8 0 R"
    } else {
        ""
    };
    let mut font = vec![
        format!(
            "<< /Type /Font /Subtype /Type0 /BaseFont /ABCDEF+Mincho /Encoding /{encoding} /DescendantFonts [6 0 R] >>"
        )
        .into_bytes(),
        format!(
            "<< /Type /Font /Subtype /{kind} /BaseFont /ABCDEF+Mincho /DW 1000 /FontDescriptor 7 0 R \
             /CIDSystemInfo << /Registry (Adobe) /Ordering (Japan1) /Supplement 2 >> >>"
        )
        .into_bytes(),
        format!(
            "<< /Type /FontDescriptor /FontName /ABCDEF+Mincho /Flags 4 /FontBBox [0 -120 1000 880] /ItalicAngle 0 \
             /Ascent 880 /Descent -120 /CapHeight 700 /StemV 80 {file} >>"
        )
        .into_bytes(),
    ];
    if let Some(program) = embedded {
        font.push(stream(program));
    }
    with_font(content, &font)
}

/// The smallest TrueType font: two empty glyphs, and nothing that says which characters they are.
fn silent_font() -> Vec<u8> {
    let words = |numbers: &[i32]| -> Vec<u8> {
        numbers
            .iter()
            .flat_map(|n| (*n as i16).to_be_bytes())
            .collect()
    };
    let mut head = words(&[1, 0, 1, 0, 0, 0, 0x5f0f, 0x3cf5, 0, 1000]);
    head.extend_from_slice(&[0; 16]);
    head.extend(words(&[0, 0, 1000, 1000, 0, 8, 2, 0, 0]));
    let hhea = words(&[
        1, 0, 880, -120, 0, 1000, 0, 0, 1000, 1, 0, 0, 0, 0, 0, 0, 0, 1,
    ]);
    let mut maxp = words(&[1, 0, 2]);
    maxp.extend_from_slice(&[0; 26]);
    let tables: [(&[u8; 4], Vec<u8>); 6] = [
        (b"glyf", vec![0; 4]),
        (b"head", head),
        (b"hhea", hhea),
        (b"hmtx", words(&[1000, 0, 0])),
        (b"loca", words(&[0, 0, 0])),
        (b"maxp", maxp),
    ];
    let mut font = words(&[1, 0, tables.len() as i32, 64, 2, 32]);
    let mut at = 12 + 16 * tables.len();
    for (tag, table) in &tables {
        font.extend_from_slice(*tag);
        font.extend_from_slice(&[0; 4]);
        font.extend_from_slice(&(at as u32).to_be_bytes());
        font.extend_from_slice(&(table.len() as u32).to_be_bytes());
        at += table.len().next_multiple_of(4);
    }
    for (_, mut table) in tables {
        table.resize(table.len().next_multiple_of(4), 0);
        font.extend(table);
    }
    font
}

async fn read(content: Vec<u8>) -> Vec<String> {
    let pages = without_ocr();
    let row = row(&pages, "f.pdf", content).await;
    texts(&pages, &row)
        .await
        .into_iter()
        .map(|(text, _)| text)
        .collect()
}

#[tokio::test]
async fn hebrew_drawn_from_left_to_right_is_read_from_right_to_left() {
    // on paper from the left: DCBA as it is seen, a number, then the first word
    let seen = read(hebrew("BT /F1 20 Tf 50 200 Td (dcba 1,250.00 gfe) Tj ET")).await;
    assert_eq!(
        seen,
        [
            "\u{5d4}\u{5d5}\u{5d6}",
            "1,250.00",
            "\u{5d0}\u{5d1}\u{5d2}\u{5d3}"
        ]
    );
}

#[tokio::test]
async fn hebrew_drawn_letter_by_letter_to_the_left_is_one_word() {
    // each letter is placed left of the one before it
    let letters = "BT /F1 20 Tf 200 200 Td (a) Tj -11 0 Td (b) Tj -11 0 Td (c) Tj ET";
    assert_eq!(read(hebrew(letters)).await, ["\u{5d0}\u{5d1}\u{5d2}"]);
}

#[tokio::test]
async fn hebrew_on_a_page_lying_on_its_side_is_read_from_right_to_left() {
    // the pen goes down the page, and a vowel sign (z is one here) is set over the middle of the last letter
    let content = "0 -1 1 0 100 250 cm BT /F1 20 Tf (dcb) Tj /F1 8 Tf 38 0 Td (z) Tj /F1 20 Tf -5.8 0 Td (a) Tj ET";
    assert_eq!(
        read(hebrew(content)).await,
        ["\u{5d0}\u{5b7}\u{5d1}\u{5d2}\u{5d3}"]
    );
}

#[tokio::test]
async fn japanese_without_a_font_in_the_file_is_read() {
    let file = japanese(
        "BT /F1 20 Tf 50 200 Td <8acb6c4266f8> Tj ET",
        "UniJIS-UCS2-H",
        None,
    );
    assert_eq!(read(file).await, ["\u{8acb}\u{6c42}\u{66f8}"]);
}

#[tokio::test]
async fn a_font_that_does_not_say_its_characters_is_read_by_its_collection() {
    let font = silent_font();
    let content = "BT /F1 20 Tf 50 200 Td <034b034d034f> Tj ET";
    let file = japanese(content, "Identity-H", Some(&font));
    assert_eq!(read(file).await, ["\u{3042}\u{3044}\u{3046}"]);
    let file = japanese(
        "BT /F1 20 Tf 50 200 Td <82a082a282a4> Tj ET",
        "90ms-RKSJ-H",
        Some(&font),
    );
    assert_eq!(read(file).await, ["\u{3042}\u{3044}\u{3046}"]);
}

#[tokio::test]
async fn a_font_nobody_can_read_sends_the_page_to_ocr() {
    let content = "BT /F1 20 Tf 50 200 Td <0001000200030004> Tj ET 0 0 10 10 re f";
    let file = String::from_utf8_lossy(&japanese(content, "Identity-H", None))
        .replace("Japan1", "Unknown");
    let pages = Pages::new(Options {
        tesseract_path: "/nowhere/tesseract".into(),
        ..Options::default()
    });
    let row = row(&pages, "f.pdf", file.into_bytes()).await;
    let error = pages
        .words(&row, 1, None, &CancellationToken::new())
        .await
        .expect_err("it goes to OCR, which is not there");
    assert_eq!(error.code(), flydocs_contract::ErrorCode::OcrUnavailable);
}

/// A font with Chinese characters among those of this machine.
fn has_cjk_font() -> bool {
    let mut folders = vec![std::path::PathBuf::from("/usr/share/fonts")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            if entry.path().is_dir() {
                folders.push(entry.path());
            } else if name.contains("CJK")
                || name.contains("wqy-")
                || name.contains("DroidSansFallback")
            {
                return true;
            }
        }
    }
    false
}

#[tokio::test]
async fn japanese_without_a_font_in_the_file_is_drawn_where_the_machine_has_one() {
    if !has_cjk_font() {
        return;
    }
    let pages = without_ocr();
    let file = japanese(
        "BT /F1 40 Tf 50 200 Td <8acb6c4266f8> Tj ET",
        "UniJIS-UCS2-H",
        None,
    );
    let row = row(&pages, "f.pdf", file).await;
    let never = CancellationToken::new();
    let words = pages
        .words(&row, 1, None, &never)
        .await
        .expect("it is read");
    assert_eq!(words.source, WordSource::PdfText);
    let image = pages
        .image(&row, 1, ImageSize::Width(400), ImageFormat::Png, &never)
        .await
        .expect("it is drawn");
    let picture = image::load_from_memory(&image.bytes)
        .expect("a picture")
        .into_luma8();
    // three characters of 40 pixels, each with strokes of its own
    let ink = |from: u32| -> Vec<bool> {
        (62..100)
            .flat_map(|y| (from..from + 40).map(move |x| (x, y)))
            .map(|(x, y)| picture.get_pixel(x, y).0[0] < 128)
            .collect()
    };
    let characters = [ink(50), ink(90), ink(130)];
    for character in &characters {
        assert!(character.iter().filter(|dark| **dark).count() > 60);
    }
    assert!(characters[0] != characters[1] && characters[1] != characters[2]);
}

/// A PDF whose font is only named, with the encoding it is written in.
fn named(content: &str, font: &str, encoding: &str, ordering: &str) -> Vec<u8> {
    let font = [
        format!(
            "<< /Type /Font /Subtype /Type0 /BaseFont /{font} /Encoding /{encoding} /DescendantFonts [6 0 R] >>"
        )
        .into_bytes(),
        format!(
            "<< /Type /Font /Subtype /CIDFontType0 /BaseFont /{font} /DW 1000 /W [1 95 500 814 939 500] /FontDescriptor 7 0 R \
             /CIDSystemInfo << /Registry (Adobe) /Ordering ({ordering}) /Supplement 2 >> >>"
        )
        .into_bytes(),
        format!(
            "<< /Type /FontDescriptor /FontName /{font} /Flags 4 /FontBBox [0 -120 1000 880] /ItalicAngle 0 \
             /Ascent 880 /Descent -120 /CapHeight 700 /StemV 80 >>"
        )
        .into_bytes(),
    ];
    with_font(content, &font)
}

#[tokio::test]
async fn fonts_that_are_only_named_are_read_by_their_encoding() {
    for (font, encoding, ordering, shown, text) in [
        ("STSong-Light", "GBK-EUC-H", "GB1", "d6d0b9fa", "中国"),
        ("STSong-Light", "UniGB-UCS2-H", "GB1", "4e2d56fd", "中国"),
        ("HeiseiMin-W3", "90ms-RKSJ-H", "Japan1", "93fa967b", "日本"),
        (
            "HeiseiMin-W3",
            "UniJIS-UTF16-H",
            "Japan1",
            "65e5672c",
            "日本",
        ),
        (
            "HYSMyeongJo-Medium",
            "KSCms-UHC-H",
            "Korea1",
            "c7d1b1db",
            "한글",
        ),
        ("MSung-Light", "ETen-B5-H", "CNS1", "a4a4a4e5", "中文"),
    ] {
        let content = format!("BT /F1 40 Tf 50 200 Td <{shown}> Tj ET");
        let words = read(named(&content, font, encoding, ordering)).await;
        assert_eq!(words, [text], "{encoding}");
    }
}

#[tokio::test]
async fn latin_characters_of_a_font_that_is_only_named_are_drawn_as_themselves() {
    if !has_cjk_font() {
        return;
    }
    let pages = without_ocr();
    // "HOH": the same letter left and right, and all three upright strokes where they belong
    let file = named(
        "BT /F1 80 Tf 50 200 Td <484f48> Tj ET",
        "STSong-Light",
        "GBK-EUC-H",
        "GB1",
    );
    let row = row(&pages, "f.pdf", file).await;
    let never = CancellationToken::new();
    let image = pages
        .image(&row, 1, ImageSize::Width(400), ImageFormat::Png, &never)
        .await
        .expect("it is drawn");
    let picture = image::load_from_memory(&image.bytes)
        .expect("a picture")
        .into_luma8();
    let ink = |from: u32| -> Vec<(u32, u32)> {
        (0..picture.height())
            .flat_map(|y| (0..40).map(move |x| (x, y)))
            .filter(|(x, y)| picture.get_pixel(from + x, *y).0[0] < 128)
            .collect()
    };
    let (first, second, third) = (ink(50), ink(90), ink(130));
    assert!(first.len() > 100, "{} dark pixels", first.len());
    assert!(first == third, "the two letters are the same");
    assert!(first != second, "the letter between is another");
    // an H has its bar in the middle: the column there is nearly empty
    let middle = first.iter().filter(|(x, _)| (19..=20).contains(x)).count();
    let bar = second.iter().filter(|(x, _)| (19..=20).contains(x)).count();
    assert!(middle > 0 && middle < 30 && bar > 0, "{middle} {bar}");
}
