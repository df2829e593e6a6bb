//! Opening, drawing and slicing PDFs.

use flydocs_contract::ErrorCode;
use flydocs_pages::{Error, ImageFormat, ImageSize, Reader};
use tokio_util::sync::CancellationToken;

use crate::made::{Page, encrypted_pdf, pages, pdf, row, show, source};

fn never() -> CancellationToken {
    CancellationToken::new()
}

async fn refusal(filename: &str, content: Vec<u8>) -> Error {
    pages()
        .load(source(filename, content), &never())
        .await
        .expect_err("the file is refused")
}

fn numbered(count: u32) -> Vec<u8> {
    let all: Vec<Page> = (1..=count)
        .map(|n| Page::of(show(50.0, 700.0, 12.0, &format!("this is page number {n}"))))
        .collect();
    pdf(&all)
}

#[tokio::test]
async fn a_pdf_is_told_by_its_content() {
    let pages = pages();
    let row = row(&pages, "scan.jpg", numbered(3)).await;
    assert_eq!(row.media_type, "application/pdf");
    assert_eq!(row.page_count, 3);
    assert_eq!(row.sha256.len(), 64);
}

#[tokio::test]
async fn every_fault_of_a_pdf_has_its_code() {
    assert_eq!(
        refusal("e.pdf", encrypted_pdf()).await.code(),
        ErrorCode::EncryptedPdf
    );
    assert_eq!(
        refusal("c.pdf", b"%PDF-1.7\nnothing more".to_vec())
            .await
            .code(),
        ErrorCode::CorruptPdf
    );
    assert_eq!(
        refusal("0.pdf", pdf(&[])).await.code(),
        ErrorCode::EmptyFile
    );
    let lost = String::from_utf8_lossy(&pdf(&[])).replace("/Kids []", "/Kids [9 0 R]");
    assert_eq!(
        refusal("l.pdf", lost.into_bytes()).await.code(),
        ErrorCode::CorruptPdf
    );
    assert_eq!(
        refusal("n.pdf", Vec::new()).await.code(),
        ErrorCode::EmptyFile
    );
    let elf = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x03\0>\0".to_vec();
    assert_eq!(
        refusal("x.pdf", elf).await.code(),
        ErrorCode::UnsupportedFile
    );
}

#[tokio::test]
async fn a_pdf_without_its_cross_references_is_repaired() {
    let mut file = numbered(2);
    let cut = file
        .windows(5)
        .rposition(|w| w == b"xref\n")
        .expect("a table");
    file.truncate(cut);
    let pages = pages();
    let row = row(&pages, "cut.pdf", file).await;
    assert_eq!(row.page_count, 2);
}

#[tokio::test]
async fn a_page_is_drawn_at_the_size_asked_for() {
    let pages = pages();
    let row = row(&pages, "a.pdf", numbered(1)).await;
    for (size, width, height) in [
        (ImageSize::Width(400), 400, 566),
        (ImageSize::Dpi(72.0), 595, 842),
        (ImageSize::Dpi(144.0), 1190, 1684),
    ] {
        let image = pages
            .image(&row, 1, size, ImageFormat::Png, &never())
            .await
            .expect("it is drawn");
        assert_eq!((image.width, image.height), (width, height));
        let decoded = image::load_from_memory(&image.bytes)
            .expect("a PNG")
            .into_luma8();
        assert_eq!(decoded.dimensions(), (width, height));
        assert!(decoded.pixels().any(|p| p.0[0] < 60), "there is ink");
        assert_eq!(decoded.get_pixel(0, 0).0[0], 255, "on white");
    }
    let jpeg = pages
        .image(&row, 1, ImageSize::Width(200), ImageFormat::Jpeg, &never())
        .await
        .expect("it is drawn");
    assert!(jpeg.bytes.starts_with(b"\xff\xd8\xff"));
}

#[tokio::test]
async fn a_slice_holds_its_pages_and_no_others() {
    let pages = pages();
    let whole = row(&pages, "a.pdf", numbered(7)).await;
    let cut = pages
        .slice(&whole, 3..=5, &never())
        .await
        .expect("it is cut");
    let part = row(&pages, "part.pdf", cut.to_vec()).await;
    assert_eq!(part.page_count, 3);
    for (page, number) in [(1, "3"), (2, "4"), (3, "5")] {
        let words = pages
            .words(&part, page, None, &never())
            .await
            .expect("it is read");
        assert_eq!(words.words.last().expect("words").text, number);
    }
    assert!(pages.slice(&whole, 6..=8, &never()).await.is_err());
}

#[tokio::test]
async fn a_page_that_is_not_there_is_an_error() {
    let pages = pages();
    let row = row(&pages, "a.pdf", numbered(2)).await;
    for page in [0, 3] {
        let error = pages
            .words(&row, page, None, &never())
            .await
            .expect_err("no such page");
        assert!(
            matches!(error, Error::NoSuchPage { pages: 2, .. }),
            "{error:?}"
        );
        let cancel = never();
        let image = pages.image(&row, page, ImageSize::Width(10), ImageFormat::Png, &cancel);
        assert!(image.await.is_err());
    }
}

#[tokio::test]
async fn a_page_without_anything_has_no_words_and_needs_no_ocr() {
    let pages = pages();
    let row = row(&pages, "blank.pdf", pdf(&[Page::default()])).await;
    let words = pages
        .words(&row, 1, None, &never())
        .await
        .expect("it is read");
    assert!(words.words.is_empty());
}
