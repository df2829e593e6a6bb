//! Many pages, and the rest of the process meanwhile.

use std::{
    path::Path,
    time::{Duration, Instant},
};

use flydocs_pages::{Error, Isolation, Options, Pages, Reader, Row};
use tokio::sync::watch;
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

/// Peak memory, in KiB, of the processes that run `program`.
fn peak(program: &Path) -> u64 {
    let processes = std::fs::read_dir("/proc").expect("there are processes");
    let peak = |process: std::path::PathBuf| {
        let runs = std::fs::read_link(process.join("exe")).ok()? == program;
        let status = std::fs::read_to_string(process.join("status")).ok()?;
        let line = status.lines().find(|l| l.starts_with("VmHWM:"))?;
        let peak: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
        runs.then_some(peak)
    };
    processes.flatten().filter_map(|p| peak(p.path())).sum()
}

/// Reads page after page, telling how many were read.
async fn read_on(
    pages: Pages,
    row: Row,
    cancel: CancellationToken,
    read: watch::Sender<u32>,
) -> Result<(), Error> {
    for page in 1..=row.page_count {
        pages.words(&row, page, None, &cancel).await?;
        read.send_replace(page);
    }
    Ok(())
}

#[tokio::test]
async fn a_book_takes_flat_memory_and_a_cancel_in_its_middle_a_small_part_of_its_time() {
    let folder = tempfile::tempdir().expect("a folder");
    // a program of its own name: other tests have children, too
    let program = folder.path().join("reads-a-book");
    std::fs::copy(env!("CARGO_BIN_EXE_flydocs-pages-child"), &program).expect("copied");
    let reader = || {
        Pages::new(Options {
            isolation: Isolation::Process,
            isolation_program: Some(program.clone()),
            concurrency: 1,
            cache_bytes: 1 << 20,
            ..Options::default()
        })
    };
    let pages = reader();
    let row = row(&pages, "book.pdf", book(300)).await;

    let (sender, mut read) = watch::channel(0);
    let began = Instant::now();
    let reading = tokio::spawn(read_on(
        pages.clone(),
        row.clone(),
        CancellationToken::new(),
        sender,
    ));
    read.wait_for(|pages| *pages >= 60)
        .await
        .expect("it goes on");
    let early = peak(&program);
    assert_eq!(reading.await.expect("no panic"), Ok(()));
    let (whole, late) = (began.elapsed(), peak(&program));
    assert!(early > 0, "the book is read in a child");
    assert!(
        late < early + early / 4,
        "{early} KiB after a fifth of the book, {late} KiB after all of it"
    );
    drop(pages);

    let (sender, mut read) = watch::channel(0);
    let cancel = CancellationToken::new();
    let reading = tokio::spawn(read_on(reader(), row, cancel.clone(), sender));
    read.wait_for(|pages| *pages >= 60)
        .await
        .expect("it goes on");
    let cancelled = Instant::now();
    cancel.cancel();
    assert_eq!(reading.await.expect("no panic"), Err(Error::Cancelled));
    let freed = cancelled.elapsed();
    assert!(*read.borrow() < 300, "it was not read to its end");
    assert!(
        freed < whole / 4,
        "{freed:?} after the cancel, {whole:?} without"
    );
}
