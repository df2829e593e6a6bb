//! Every limit refuses with its name, its setting and its figures.

use flydocs_contract::ErrorCode;
use flydocs_pages::{Error, Options, Pages, Reader, Source};
use tokio_util::sync::CancellationToken;

use crate::made::{Page, pdf, png, source};

async fn facts(options: Options, source: Source) -> (ErrorCode, serde_json::Value, String) {
    let error = Pages::new(options)
        .load(source, &CancellationToken::new())
        .await
        .expect_err("it is over the limit");
    let Error::Refused {
        code,
        filename,
        detail,
        facts,
    } = error
    else {
        panic!("{error:?}");
    };
    assert!(detail.contains(&filename), "{detail}");
    (code, facts.into(), detail)
}

#[tokio::test]
async fn a_file_over_the_bytes_is_too_large() {
    let options = Options {
        max_bytes: 10,
        ..Options::default()
    };
    let (code, facts, _) = facts(options, source("big.pdf", vec![0; 11])).await;
    assert_eq!(code, ErrorCode::FileTooLarge);
    assert_eq!(facts["limit_bytes"], 10);
    assert_eq!(facts["seen"], 11);
}

#[tokio::test]
async fn a_pdf_over_the_pages_is_refused() {
    let options = Options {
        max_pages: 2,
        ..Options::default()
    };
    let file = pdf(&[Page::default(), Page::default(), Page::default()]);
    let (code, facts, detail) = facts(options, source("long.pdf", file)).await;
    assert_eq!(code, ErrorCode::LimitExceeded);
    assert_eq!(facts["limit"], "pages");
    assert_eq!(facts["setting"], "FLYDOCS_MAX_PAGES");
    assert_eq!((&facts["allowed"], &facts["seen"]), (&2.into(), &3.into()));
    assert!(detail.contains("FLYDOCS_MAX_PAGES"), "{detail}");
}

#[tokio::test]
async fn a_giant_page_is_refused_before_it_is_drawn() {
    let page = Page {
        extra: "/MediaBox [0 0 14400000 14400000]".to_owned(),
        ..Page::default()
    };
    // the later MediaBox is the one that counts
    let file = String::from_utf8_lossy(&pdf(&[page]))
        .replace("/MediaBox [0 0 595 842]", "")
        .into_bytes();
    let (code, facts, _) = facts(Options::default(), source("giant.pdf", file)).await;
    assert_eq!(code, ErrorCode::LimitExceeded);
    assert_eq!(facts["limit"], "page_pixels");
    assert_eq!(facts["setting"], "FLYDOCS_MAX_PAGE_PIXELS");
}

#[tokio::test]
async fn an_image_over_the_pixels_is_refused_by_its_header() {
    let options = Options {
        max_page_pixels: 99,
        ..Options::default()
    };
    let (code, facts, _) = facts(options, source("p.png", png(10, 10, |_, _| 255))).await;
    assert_eq!(code, ErrorCode::LimitExceeded);
    assert_eq!(facts["limit"], "image_pixels");
    assert_eq!(facts["seen"], 100);
}
