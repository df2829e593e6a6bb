//! Many pages, and the rest of the process meanwhile.

use std::time::{Duration, Instant};

use flydocs_pages::{Error, Reader};
use tokio_util::sync::CancellationToken;

use crate::made::{Page, pages, pdf, row, show};

fn book(pages: u32) -> Vec<u8> {
    let all: Vec<Page> = (0..pages)
        .map(|page| {
            let content: String = (0..40)
                .map(|line| {
                    let y = 800.0 - f64::from(line) * 18.0;
                    show(
                        40.0,
                        y,
                        9.0,
                        &format!("page {page} line {line} says this and that once more"),
                    )
                })
                .collect();
            Page::of(content)
        })
        .collect();
    pdf(&all)
}

#[tokio::test]
async fn a_book_is_read_page_by_page_while_the_runtime_keeps_answering() {
    let pages = pages();
    let row = row(&pages, "book.pdf", book(300)).await;
    assert_eq!(row.page_count, 300);
    let done = CancellationToken::new();
    let reading = {
        let (pages, done) = (pages.clone(), done.clone());
        tokio::spawn(async move {
            let mut count = 0;
            for page in 1..=300 {
                let never = CancellationToken::new();
                let words = pages
                    .words(&row, page, None, &never)
                    .await
                    .expect("it is read");
                assert_eq!(words.page, page);
                count += words.words.len();
            }
            done.cancel();
            count
        })
    };
    // This runtime has one thread: it turns only if no page is read on it. A probe that comes at any moment
    // waits for one turn at most.
    let (mut turns, mut longest) = (0_u64, Duration::ZERO);
    let began = Instant::now();
    while !done.is_cancelled() {
        let turn = Instant::now();
        tokio::task::yield_now().await;
        longest = longest.max(turn.elapsed());
        turns += 1;
    }
    let whole = began.elapsed();
    assert_eq!(reading.await.expect("no panic"), 300 * 40 * 10);
    assert!(turns > 300, "the runtime turned {turns} times");
    assert!(
        longest < whole / 4,
        "the longest turn took {longest:?} of {whole:?}"
    );
}

#[tokio::test]
async fn cancelling_frees_the_caller_at_once_and_the_place_soon() {
    let pages = pages();
    let row = row(&pages, "book.pdf", book(40)).await;
    let cancel = CancellationToken::new();
    cancel.cancel();
    let error = pages
        .words(&row, 1, None, &cancel)
        .await
        .expect_err("it was cancelled");
    assert_eq!(error, Error::Cancelled);

    let cancel = CancellationToken::new();
    let mut readers = tokio::task::JoinSet::new();
    for page in 1..=40 {
        let (pages, row, cancel) = (pages.clone(), row.clone(), cancel.clone());
        readers.spawn(async move { pages.words(&row, page, None, &cancel).await.map(|_| ()) });
    }
    let began = Instant::now();
    cancel.cancel();
    while let Some(outcome) = readers.join_next().await {
        let outcome = outcome.expect("no panic");
        assert!(outcome.is_ok() || outcome == Err(Error::Cancelled));
    }
    assert!(began.elapsed() < Duration::from_secs(20));
    // the places are free again
    let words = pages
        .words(&row, 7, None, &CancellationToken::new())
        .await
        .expect("it is read");
    assert_eq!(words.page, 7);
}
