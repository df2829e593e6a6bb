//! Files read in child processes: the same results, and faults that cost only their file.

use std::{os::unix::fs::PermissionsExt, path::PathBuf};

use flydocs_contract::ErrorCode;
use flydocs_pages::{Error, ImageFormat, ImageSize, Isolation, Options, Pages, Reader, isolated};
use tokio_util::sync::CancellationToken;

use crate::made::{Page, assemble, pages, pdf, png, row, show, source, texts};

fn isolated_with(change: impl FnOnce(&mut Options)) -> Pages {
    let mut options = Options {
        isolation: Isolation::Process,
        isolation_program: Some(PathBuf::from(env!("CARGO_BIN_EXE_flydocs-pages-child"))),
        concurrency: 2,
        ..Options::default()
    };
    change(&mut options);
    Pages::new(options)
}

fn good() -> Vec<u8> {
    pdf(&[Page::of(show(
        50.0,
        700.0,
        12.0,
        "a good document with words",
    ))])
}

/// A page that draws a form that draws a form ...: 10^9 rectangles.
fn endless() -> Vec<u8> {
    let mut objects: Vec<Vec<u8>> = vec![
        b"<< /Type /Catalog /Pages 2 0 R >>".to_vec(),
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>".to_vec(),
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R /Resources << /XObject << /X 5 0 R >> >> >>"
            .to_vec(),
        b"<< /Length 5 >>\nstream\n/X Do\nendstream".to_vec(),
    ];
    for level in 0..9 {
        let draws = if level == 8 {
            "0 0 9 9 re f ".repeat(10)
        } else {
            "/X Do ".repeat(10)
        };
        let next = format!("{} 0 R", objects.len() + 2);
        let resources = if level == 8 {
            String::new()
        } else {
            format!("/XObject << /X {next} >>")
        };
        objects.push(
            format!(
                "<< /Type /XObject /Subtype /Form /BBox [0 0 100 100] /Resources << {resources} >> \
                 /Length {} >>\nstream\n{draws}\nendstream",
                draws.len()
            )
            .into_bytes(),
        );
    }
    assemble(&objects, "")
}

#[tokio::test]
async fn a_child_reads_what_this_process_reads() {
    let (inside, outside) = (pages(), isolated_with(|_| ()));
    let never = CancellationToken::new();
    for (name, content) in [
        ("a.pdf", good()),
        ("t.txt", b"plain words on two\nlines of a text".to_vec()),
        ("p.png", png(30, 20, |x, _| (x * 8) as u8)),
    ] {
        let (here, there) = (
            row(&inside, name, content.clone()).await,
            row(&outside, name, content).await,
        );
        assert_eq!(here.sha256, there.sha256);
        assert_eq!(here.page_count, there.page_count);
        if name != "p.png" {
            assert_eq!(texts(&inside, &here).await, texts(&outside, &there).await);
        }
        let draw = |pages: Pages, row: flydocs_pages::Row, never: CancellationToken| async move {
            pages
                .image(&row, 1, ImageSize::Width(120), ImageFormat::Png, &never)
                .await
                .expect("it is drawn")
                .bytes
        };
        assert_eq!(
            draw(inside.clone(), here, never.clone()).await,
            draw(outside.clone(), there, never.clone()).await
        );
    }
    let error = outside
        .load(source("x.pdf", b"%PDF-1.4".to_vec()), &never)
        .await;
    assert_eq!(error.expect_err("no PDF").code(), ErrorCode::CorruptPdf);
}

#[tokio::test]
async fn a_file_that_takes_for_ever_ends_at_the_limit_and_the_next_is_read() {
    let pages = isolated_with(|options| options.isolation_timeout_s = 1);
    let endless = row(&pages, "endless.pdf", endless()).await;
    let error = pages
        .words(&endless, 1, None, &CancellationToken::new())
        .await
        .expect_err("it never ends");
    let Error::Refused {
        code,
        facts,
        filename,
        ..
    } = error
    else {
        panic!("{error:?}");
    };
    assert_eq!(
        (code, filename.as_str()),
        (ErrorCode::LimitExceeded, "endless.pdf")
    );
    assert_eq!(facts["limit"], "time");
    let pages = isolated_with(|_| ());
    let good = row(&pages, "good.pdf", good()).await;
    assert_eq!(texts(&pages, &good).await.len(), 5);
}

#[tokio::test]
async fn a_file_that_wants_too_much_memory_ends_at_the_limit() {
    let pages = isolated_with(|options| options.isolation_memory_bytes = 256 << 20);
    let good = row(&pages, "good.pdf", good()).await;
    let error = pages
        .image(
            &good,
            1,
            ImageSize::Width(7000),
            ImageFormat::Png,
            &CancellationToken::new(),
        )
        .await
        .expect_err("the picture alone is larger than that");
    let Error::Refused { code, facts, .. } = error else {
        panic!("{error:?}");
    };
    assert_eq!(code, ErrorCode::LimitExceeded);
    assert_eq!(facts["limit"], "memory");
    assert_eq!(facts["setting"], "FLYDOCS_ISOLATION_MEMORY_BYTES");
    assert_eq!(texts(&pages, &good).await.len(), 5);
}

#[tokio::test]
async fn cancelling_ends_the_child_and_frees_the_caller() {
    let pages = isolated_with(|_| ());
    let endless = row(&pages, "endless.pdf", endless()).await;
    let cancel = CancellationToken::new();
    let reading = {
        let (pages, cancel) = (pages.clone(), cancel.clone());
        tokio::spawn(async move { pages.words(&endless, 1, None, &cancel).await })
    };
    tokio::task::yield_now().await;
    cancel.cancel();
    let outcome = reading.await.expect("no panic");
    assert_eq!(outcome.expect_err("it was cancelled"), Error::Cancelled);
    let good = row(&pages, "good.pdf", good()).await;
    assert_eq!(texts(&pages, &good).await.len(), 5);
}

/// A program that does not know the argument, or dies of it.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn the_memory_of_a_child_stays_flat_over_a_long_document() {
    let folder = tempfile::tempdir().expect("a folder");
    let pid = folder.path().join("pid");
    let child = env!("CARGO_BIN_EXE_flydocs-pages-child");
    let body = format!("echo $$ >> {}; exec {child} \"$@\"", pid.display());
    let pages = isolated_with(|options| {
        options.isolation_program = Some(program(folder.path(), &body));
    });
    let book: Vec<Page> = (0..300)
        .map(|page| {
            let lines: String = (0..30)
                .map(|line| {
                    let text = format!("page {page} line {line} of a long document");
                    show(40.0, 800.0 - f64::from(line) * 20.0, 9.0, &text)
                })
                .collect();
            Page::of(lines)
        })
        .collect();
    let row = row(&pages, "book.pdf", pdf(&book)).await;
    let never = CancellationToken::new();
    let mut peaks = Vec::new();
    for page in 1..=300 {
        let words = pages.words(&row, page, None, &never).await;
        assert_eq!(words.expect("it is read").words.len(), 30 * 8);
        if page == 60 || page == 300 {
            let pid = std::fs::read_to_string(&pid).expect("it started");
            assert_eq!(pid.lines().count(), 1, "one child reads all of it");
            let status = std::fs::read_to_string(format!("/proc/{}/status", pid.trim()))
                .expect("it is alive");
            let peak = status
                .lines()
                .find_map(|line| line.strip_prefix("VmHWM:"))
                .and_then(|value| value.split_whitespace().next())
                .and_then(|kilobytes| kilobytes.parse::<u64>().ok());
            peaks.push(peak.expect("a peak"));
        }
    }
    assert!(peaks[1] < peaks[0] + 16 * 1024, "{peaks:?} kB");
}

fn program(folder: &std::path::Path, body: &str) -> PathBuf {
    let path = folder.join("program");
    std::fs::write(&path, format!("#!/bin/sh\n{body}\n")).expect("written");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("runnable");
    path
}

#[tokio::test]
async fn a_crash_is_the_fault_of_the_file_and_a_wrong_program_is_not() {
    let never = CancellationToken::new();
    let folder = tempfile::tempdir().expect("a folder");
    let crashing = program(folder.path(), "kill -SEGV $$");
    let pages = isolated_with(|options| options.isolation_program = Some(crashing));
    let error = pages
        .load(source("x.pdf", good()), &never)
        .await
        .expect_err("it crashed");
    assert_eq!(error.code(), ErrorCode::CorruptPdf);
    let folder = tempfile::tempdir().expect("a folder");
    let other = program(folder.path(), "exit 2");
    let pages = isolated_with(|options| options.isolation_program = Some(other));
    let error = pages
        .load(source("x.pdf", good()), &never)
        .await
        .expect_err("no child");
    assert_eq!(error.code(), ErrorCode::Internal);
    assert!(
        error.to_string().contains(isolated::CHILD_ARGUMENT),
        "{error}"
    );
}
