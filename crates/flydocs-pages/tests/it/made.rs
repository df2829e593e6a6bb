//! Small documents made by the tests themselves.

use std::io::Cursor;

use flydocs_pages::{Options, Pages, Reader, Row, Source};
use image::{GrayImage, Luma};
use tokio_util::sync::CancellationToken;

/// One page of a made PDF.
#[derive(Default, Clone)]
pub(crate) struct Page {
    pub(crate) content: String,
    /// More entries of the page dictionary (`/Rotate 90`).
    pub(crate) extra: String,
}

impl Page {
    pub(crate) fn of(content: impl Into<String>) -> Self {
        Self {
            content: content.into(),
            extra: String::new(),
        }
    }
}

/// `text` in Helvetica at x, y (from the bottom left).
pub(crate) fn show(x: f64, y: f64, size: f64, text: &str) -> String {
    format!("BT /F1 {size} Tf {x} {y} Td ({text}) Tj ET\n")
}

/// The same in Helvetica-Bold.
pub(crate) fn show_bold(x: f64, y: f64, size: f64, text: &str) -> String {
    show(x, y, size, text).replace("/F1", "/F2")
}

/// A PDF of A4 pages with a correct cross-reference table.
pub(crate) fn pdf(pages: &[Page]) -> Vec<u8> {
    let mut objects: Vec<Vec<u8>> = vec![
        b"<< /Type /Catalog /Pages 2 0 R >>".to_vec(),
        Vec::new(),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>"
            .to_vec(),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica-Bold /Encoding /WinAnsiEncoding >>"
            .to_vec(),
    ];
    let mut kids = String::new();
    for page in pages {
        let number = objects.len() + 1;
        kids += &format!("{number} 0 R ");
        objects.push(
            format!(
                "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents {} 0 R \
                 /Resources << /Font << /F1 3 0 R /F2 4 0 R >> >> {} >>",
                number + 1,
                page.extra
            )
            .into_bytes(),
        );
        let mut stream = format!("<< /Length {} >>\nstream\n", page.content.len()).into_bytes();
        stream.extend_from_slice(page.content.as_bytes());
        stream.extend_from_slice(b"\nendstream");
        objects.push(stream);
    }
    objects[1] = format!("<< /Type /Pages /Kids [{kids}] /Count {} >>", pages.len()).into_bytes();
    assemble(&objects, "")
}

/// Objects 1.. put together; object 1 is the catalogue.
pub(crate) fn assemble(objects: &[Vec<u8>], trailer: &str) -> Vec<u8> {
    let mut file = b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n".to_vec();
    let mut offsets = Vec::new();
    for (index, object) in objects.iter().enumerate() {
        offsets.push(file.len());
        file.extend_from_slice(format!("{} 0 obj\n", index + 1).as_bytes());
        file.extend_from_slice(object);
        file.extend_from_slice(b"\nendobj\n");
    }
    let start = file.len();
    let mut table = format!("xref\n0 {}\n0000000000 65535 f \n", objects.len() + 1);
    for offset in offsets {
        table += &format!("{offset:010} 00000 n \n");
    }
    table += &format!(
        "trailer\n<< /Size {} /Root 1 0 R {trailer} >>\nstartxref\n{start}\n%%EOF\n",
        objects.len() + 1
    );
    file.extend_from_slice(table.as_bytes());
    file
}

/// A PDF that opens only with the password `secret` (RC4, 40 bit: the oldest there is).
pub(crate) fn encrypted_pdf() -> Vec<u8> {
    let mut document =
        lopdf::Document::load_mem(&pdf(&[Page::of(show(50.0, 700.0, 12.0, "hush"))]))
            .expect("a made PDF loads");
    document.trailer.set(
        "ID",
        lopdf::Object::Array(vec![
            lopdf::Object::string_literal("0123456789abcdef"),
            lopdf::Object::string_literal("0123456789abcdef"),
        ]),
    );
    let state = lopdf::EncryptionState::try_from(lopdf::EncryptionVersion::V1 {
        document: &document,
        owner_password: "owner",
        user_password: "secret",
        permissions: lopdf::Permissions::all(),
    })
    .expect("a password can be set");
    document.encrypt(&state).expect("it can be encrypted");
    let mut out = Vec::new();
    document.save_to(&mut out).expect("it can be written");
    out
}

/// A grey PNG drawn by a closure.
pub(crate) fn png(width: u32, height: u32, value: impl Fn(u32, u32) -> u8) -> Vec<u8> {
    let picture = GrayImage::from_fn(width, height, |x, y| Luma([value(x, y)]));
    let mut out = Cursor::new(Vec::new());
    picture
        .write_to(&mut out, image::ImageFormat::Png)
        .expect("a PNG can be written");
    out.into_inner()
}

pub(crate) fn source(filename: &str, content: Vec<u8>) -> Source {
    Source {
        filename: filename.to_owned(),
        content: content.into(),
        declared_media_type: None,
    }
}

pub(crate) fn pages() -> Pages {
    Pages::new(Options {
        concurrency: 2,
        ..Options::default()
    })
}

/// Loads a file that becomes one row.
pub(crate) async fn row(pages: &Pages, filename: &str, content: Vec<u8>) -> Row {
    let rows = pages
        .load(source(filename, content), &CancellationToken::new())
        .await
        .expect("the file loads");
    assert_eq!(rows.len(), 1);
    rows.into_iter().next().expect("one row")
}

/// The words of page 1 as `(text, line)`.
pub(crate) async fn texts(pages: &Pages, row: &Row) -> Vec<(String, u32)> {
    let words = pages
        .words(row, 1, None, &CancellationToken::new())
        .await
        .expect("the page is read");
    words
        .words
        .iter()
        .map(|w| (w.text.clone(), w.line))
        .collect()
}
