//! Text, tables, HTML and office documents: laid out so that words have boxes.

use std::{
    io::{Cursor, Write},
    os::unix::fs::PermissionsExt,
};

use flydocs_contract::{ErrorCode, WordSource};
use flydocs_pages::{ImageFormat, ImageSize, OfficeConverter, Options, Pages, Reader, Row};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio_util::sync::CancellationToken;
use zip::{ZipWriter, write::SimpleFileOptions};

use crate::made::{Page, pages, pdf, row, show, source, texts};

async fn lines(pages: &Pages, row: &Row) -> Vec<String> {
    let words = pages
        .words(row, 1, None, &CancellationToken::new())
        .await
        .expect("it is read");
    assert_eq!(words.source, WordSource::PdfText);
    assert!(words.words.iter().all(|w| w.rect.area() > 0.0));
    words.text().lines().map(ToOwned::to_owned).collect()
}

fn zipped(parts: &[(&str, &str)]) -> Vec<u8> {
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    let stored = SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored);
    for (name, content) in parts {
        archive.start_file(*name, stored).expect("a part");
        archive.write_all(content.as_bytes()).expect("written");
    }
    archive.finish().expect("a document").into_inner()
}

fn docx() -> Vec<u8> {
    let w = "xmlns:w=\"http://schemas.openxmlformats.org/wordprocessingml/2006/main\"";
    zipped(&[
        ("[Content_Types].xml", "<Types/>"),
        (
            "word/document.xml",
            &format!(
                "<?xml version=\"1.0\"?><w:document {w}><w:body>\
                 <w:p><w:pPr><w:pStyle w:val=\"Heading1\"/></w:pPr><w:r><w:t>Invoice</w:t></w:r></w:p>\
                 <w:p><w:r><w:t xml:space=\"preserve\">Number </w:t></w:r><w:r><w:t>INV-7 &amp; more</w:t></w:r>\
                 <w:del><w:r><w:delText>gone</w:delText></w:r></w:del></w:p>\
                 <w:tbl><w:tr><w:tc><w:p><w:r><w:t>Pens</w:t></w:r></w:p></w:tc>\
                 <w:tc><w:p><w:r><w:t>12.50</w:t></w:r></w:p></w:tc></w:tr></w:tbl>\
                 </w:body></w:document>"
            ),
        ),
        (
            "word/header1.xml",
            &format!("<w:hdr {w}><w:p><w:r><w:t>ACME Ltd</w:t></w:r></w:p></w:hdr>"),
        ),
    ])
}

#[tokio::test]
async fn plain_text_in_any_encoding_has_boxes_and_can_be_drawn() {
    let pages = pages();
    let utf16: Vec<u8> = [0xff, 0xfe]
        .into_iter()
        .chain(
            "Käufer: Müller\nTotal: 5,00 €"
                .encode_utf16()
                .flat_map(u16::to_le_bytes),
        )
        .collect();
    for content in [
        "Käufer: Müller\nTotal: 5,00 €".as_bytes().to_vec(),
        b"K\xe4ufer: M\xfcller\nTotal: 5,00 \x80".to_vec(),
        utf16,
    ] {
        let row = row(&pages, "note.txt", content).await;
        assert_eq!((row.media_type.as_str(), row.page_count), ("text/plain", 1));
        assert_eq!(
            lines(&pages, &row).await,
            ["Käufer: Müller", "Total: 5,00 €"]
        );
        let image = pages
            .image(
                &row,
                1,
                ImageSize::Width(500),
                ImageFormat::Png,
                &CancellationToken::new(),
            )
            .await
            .expect("it is drawn");
        let image = image::load_from_memory(&image.bytes)
            .expect("a PNG")
            .into_luma8();
        assert!(
            image.pixels().filter(|p| p.0[0] < 180).count() > 50,
            "there is ink"
        );
    }
}

#[tokio::test]
async fn scripts_that_courier_lacks_come_back_as_they_were() {
    let pages = pages();
    let text = "Ελληνικά Русский 日本語\nשלום עולם 12.5\nالسلام عليكم\n𝒳 ok\n";
    let row = row(&pages, "note.txt", text.as_bytes().to_vec()).await;
    let words: Vec<String> = texts(&pages, &row).await.into_iter().map(|w| w.0).collect();
    assert_eq!(
        words,
        [
            "Ελληνικά",
            "Русский",
            "日本語",
            "שלום",
            "עולם",
            "12.5",
            "السلام",
            "عليكم",
            "𝒳",
            "ok"
        ]
    );
}

#[tokio::test]
async fn a_long_text_has_many_pages_and_a_blank_one_is_empty() {
    let pages = pages();
    let long = row(
        &pages,
        "long.txt",
        "line of words\n".repeat(200).into_bytes(),
    )
    .await;
    assert_eq!(long.page_count, 4);
    let error = pages
        .load(
            source("blank.txt", b" \n \n".to_vec()),
            &CancellationToken::new(),
        )
        .await
        .expect_err("nothing in it");
    assert_eq!(error.code(), ErrorCode::EmptyFile);
}

#[tokio::test]
async fn tables_and_headings_of_every_text_kind_keep_their_shape() {
    let pages = pages();
    let csv = row(
        &pages,
        "x.csv",
        b"Item;Price\n\"Pens; blue\";12,50\n".to_vec(),
    )
    .await;
    assert_eq!(csv.media_type, "text/csv");
    assert_eq!(
        lines(&pages, &csv).await,
        ["Item Price", "Pens; blue 12,50"]
    );
    let markdown = b"# Title\n\n| Item | Price |\n|---|---|\n| **Pens** | 12.50 |\n".to_vec();
    let markdown = row(&pages, "x.md", markdown).await;
    assert_eq!(
        lines(&pages, &markdown).await,
        ["Title", "Item Price", "Pens 12.50"]
    );
    let html =
        b"<!doctype html><html><head><style>p{color:red}</style></head><body><h1>Invoice 7</h1>\
        <script>alert(1)</script><img src='http://tracker.example/x.png'>\
        <table><tr><td>Pens</td><td>12.50</td></tr></table></body></html>"
            .to_vec();
    let html = row(&pages, "x.html", html).await;
    assert_eq!(lines(&pages, &html).await, ["Invoice 7", "Pens 12.50"]);
}

#[tokio::test]
async fn office_documents_are_read_without_a_converter_and_say_so() {
    let pages = pages();
    let word = row(&pages, "x.docx", docx()).await;
    assert!(word.warnings[0].contains("FLYDOCS_OFFICE_CONVERTER"));
    assert_eq!(
        lines(&pages, &word).await,
        ["ACME Ltd", "Invoice", "Number INV-7 & more", "Pens 12.50"]
    );
    let t = "xmlns:text=\"t\" xmlns:table=\"b\" xmlns:office=\"o\"";
    let odt = zipped(&[
        ("mimetype", "application/vnd.oasis.opendocument.text"),
        (
            "content.xml",
            &format!(
                "<office:document-content {t}><office:body><office:text><text:h>Bill</text:h>\
                 <text:p>To<text:s text:c=\"2\"/>pay</text:p><table:table><table:table-row>\
                 <table:table-cell><text:p>Pens</text:p></table:table-cell>\
                 <table:table-cell><text:p>3.00</text:p></table:table-cell></table:table-row></table:table>\
                 </office:text></office:body></office:document-content>"
            ),
        ),
    ]);
    let odt = row(&pages, "x.odt", odt).await;
    assert_eq!(lines(&pages, &odt).await, ["Bill", "To pay", "Pens 3.00"]);
    let rtf = row(
        &pages,
        "x.rtf",
        br"{\rtf1\ansi Gr\'f6\'dfe\par Total 5\par}".to_vec(),
    )
    .await;
    assert_eq!(lines(&pages, &rtf).await, ["Größe", "Total 5"]);
    let a = "xmlns:a=\"a\" xmlns:p=\"p\"";
    let slide = |text: &str| format!("<p:sld {a}><a:p><a:r><a:t>{text}</a:t></a:r></a:p></p:sld>");
    let pptx = zipped(&[
        ("[Content_Types].xml", "<Types/>"),
        ("ppt/slides/slide10.xml", &slide("third")),
        ("ppt/slides/slide1.xml", &slide("first")),
        ("ppt/slides/slide2.xml", &slide("second")),
    ]);
    let pptx = row(&pages, "x.pptx", pptx).await;
    assert_eq!(pptx.page_count, 3);
    assert_eq!(lines(&pages, &pptx).await, ["first"]);
}

#[tokio::test]
async fn entities_of_a_document_are_not_expanded() {
    let pages = pages();
    let w = "xmlns:w=\"w\"";
    let body = format!(
        "<!DOCTYPE d [<!ENTITY x SYSTEM \"file:///etc/passwd\">]><w:document {w}><w:body>\
         <w:p><w:r><w:t>before &x; after</w:t></w:r></w:p></w:body></w:document>"
    );
    let file = zipped(&[
        ("[Content_Types].xml", "<Types/>"),
        ("word/document.xml", &body),
    ]);
    let row = row(&pages, "x.docx", file).await;
    assert_eq!(lines(&pages, &row).await, ["before after"]);
}

#[tokio::test]
async fn damaged_and_unreadable_office_documents_have_their_codes() {
    let pages = pages();
    let never = CancellationToken::new();
    let mut cut = docx();
    cut.truncate(cut.len() / 2);
    let error = pages
        .load(source("x.docx", cut), &never)
        .await
        .expect_err("cut");
    assert_eq!(error.code(), ErrorCode::OfficeConversionFailed);
    let compound = |stream: &str| {
        let mut file = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1".to_vec();
        file.resize(512, 0);
        file.extend(stream.encode_utf16().flat_map(u16::to_le_bytes));
        file
    };
    let error = pages
        .load(source("x.docx", compound("EncryptedPackage")), &never)
        .await;
    assert_eq!(error.expect_err("locked").code(), ErrorCode::EncryptedFile);
    let error = pages
        .load(source("x.doc", compound("WordDocument")), &never)
        .await;
    let error = error.expect_err("only with a converter");
    assert_eq!(error.code(), ErrorCode::UnsupportedFile);
    assert!(
        error.to_string().contains("FLYDOCS_OFFICE_CONVERTER"),
        "{error}"
    );
}

#[tokio::test]
async fn libreoffice_makes_the_pages_where_it_is_configured() {
    let folder = tempfile::tempdir().expect("a folder");
    let made = folder.path().join("made.pdf");
    std::fs::write(
        &made,
        pdf(&[Page::of(show(
            50.0,
            700.0,
            12.0,
            "converted by an office program",
        ))]),
    )
    .expect("written");
    let program = folder.path().join("soffice");
    // finds the output folder as LibreOffice does, and leaves document.pdf there
    let script = format!(
        "#!/bin/sh\nwhile [ $# -gt 0 ]; do if [ \"$1\" = --outdir ]; then cp {} \"$2/document.pdf\"; fi; shift; done\n",
        made.display()
    );
    std::fs::write(&program, script).expect("written");
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).expect("runnable");
    let with = |program: std::path::PathBuf| {
        Pages::new(Options {
            office_converter: OfficeConverter::Libreoffice,
            libreoffice_path: program,
            ..Options::default()
        })
    };
    let pages = with(program);
    let row = row(&pages, "x.docx", docx()).await;
    assert!(row.warnings.is_empty());
    assert_eq!(
        lines(&pages, &row).await,
        ["converted by an office program"]
    );
    let error = with("/nowhere/soffice".into())
        .load(source("x.docx", docx()), &CancellationToken::new())
        .await
        .expect_err("no program");
    assert_eq!(error.code(), ErrorCode::OfficeConversionFailed);
    assert!(error.to_string().contains("/nowhere/soffice"), "{error}");
}

/// Answers one request with `status` and `body`.
async fn gotenberg(status: &'static str, body: Vec<u8>) -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0")
        .await
        .expect("a port");
    let address = listener.local_addr().expect("an address");
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.expect("a caller");
        let mut request = Vec::new();
        let mut piece = [0; 4096];
        while !request.windows(4).any(|w| w == b"--\r\n") {
            let got = stream.read(&mut piece).await.expect("bytes");
            request.extend_from_slice(&piece[..got]);
        }
        let text = String::from_utf8_lossy(&request).into_owned();
        assert!(
            text.starts_with("POST /forms/libreoffice/convert "),
            "{text}"
        );
        assert!(text.contains("filename=\"document.docx\""), "{text}");
        let head = format!(
            "HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
            body.len()
        );
        stream.write_all(head.as_bytes()).await.expect("sent");
        stream.write_all(&body).await.expect("sent");
    });
    format!("http://{address}")
}

#[tokio::test]
async fn gotenberg_makes_the_pages_where_it_is_configured() {
    let with = |url: String| {
        Pages::new(Options {
            office_converter: OfficeConverter::Gotenberg,
            gotenberg_url: url,
            ..Options::default()
        })
    };
    let made = pdf(&[Page::of(show(
        50.0,
        700.0,
        12.0,
        "converted by a server far away",
    ))]);
    let pages = with(gotenberg("200 OK", made).await);
    let row = row(&pages, "x.docx", docx()).await;
    assert_eq!(
        lines(&pages, &row).await,
        ["converted by a server far away"]
    );
    let pages = with(gotenberg("503 Service Unavailable", b"busy".to_vec()).await);
    let error = pages
        .load(source("x.docx", docx()), &CancellationToken::new())
        .await;
    let error = error.expect_err("it is busy");
    assert_eq!(error.code(), ErrorCode::OfficeConversionFailed);
    assert!(error.to_string().contains("busy"), "{error}");
}
