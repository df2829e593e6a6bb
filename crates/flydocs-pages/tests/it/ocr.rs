//! OCR. Whether tesseract is installed or not is told apart by what the reader itself says.

use std::{io::Write, os::unix::fs::PermissionsExt, path::PathBuf, sync::Arc};

use flydocs_contract::{ErrorCode, WordSource};
use flydocs_pages::{Error, ImageFormat, ImageSize, Options, Pages, Reader};
use tokio_util::sync::CancellationToken;

use crate::made::{Page, pages, pdf, png, row, show};

/// A program that stands in for tesseract: it says what it is told, and counts its runs.
fn stand_in(folder: &std::path::Path, body: &str) -> PathBuf {
    let path = folder.join("tesseract");
    let mut file = std::fs::File::create(&path).expect("a file");
    write!(
        file,
        "#!/bin/sh\nif [ \"$1\" = --list-langs ]; then echo list; echo eng; exit 0; fi\n{body}\n"
    )
    .expect("written");
    drop(file);
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("runnable");
    path
}

fn with(program: PathBuf) -> Pages {
    Pages::new(Options {
        tesseract_path: program,
        ocr_page_timeout_s: 20,
        ..Options::default()
    })
}

const TOKEN: &str = "5\\t1\\t1\\t1\\t1\\t1\\t10\\t10\\t20\\t10\\t90\\tscanned\\n";

#[tokio::test]
async fn only_the_page_without_words_goes_to_ocr_and_only_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let runs = folder.path().join("runs");
    let body = format!(
        "cat >/dev/null; echo \"$*\" >> {}; printf '{TOKEN}'",
        runs.display()
    );
    let pages = with(stand_in(folder.path(), &body));
    let file = pdf(&[
        Page::of(show(50.0, 700.0, 12.0, "a page with enough words on it")),
        Page::of("0.5 g 100 100 300 300 re f".to_owned()),
    ]);
    let row = Arc::new(row(&pages, "mixed.pdf", file).await);
    let mut readers = tokio::task::JoinSet::new();
    for _ in 0..4 {
        for page in 1..=2 {
            let (pages, row) = (pages.clone(), row.clone());
            readers.spawn(async move {
                let words = pages
                    .words(&row, page, None, &CancellationToken::new())
                    .await;
                (page, words.expect("it is read"))
            });
        }
    }
    while let Some(read) = readers.join_next().await {
        let (page, words) = read.expect("no panic");
        let (source, text) = if page == 1 {
            (WordSource::PdfText, "a")
        } else {
            (WordSource::Ocr, "scanned")
        };
        assert_eq!((words.source, words.words[0].text.as_str()), (source, text));
        assert_eq!(words.page, page);
    }
    // one word is little: the same page is read once more, the other way
    assert_eq!(layouts(&runs), ["3", "6"]);
}

/// What the stand-in, which wrote its arguments down, was told to take the pictures for, run by run.
fn layouts(runs: &std::path::Path) -> Vec<String> {
    let runs = std::fs::read_to_string(runs).expect("it ran");
    let psm = |run: &str| {
        run.split_once("--psm ")?
            .1
            .split(' ')
            .next()
            .map(str::to_owned)
    };
    runs.lines().filter_map(psm).collect()
}

/// A line of words of one confidence, as tesseract writes it.
fn tokens(words: &[&str], confidence: u32) -> String {
    let mut rows = String::new();
    for (n, word) in words.iter().enumerate() {
        let left = 10 * n;
        rows +=
            &format!("5\\t1\\t1\\t1\\t1\\t{n}\\t{left}\\t10\\t8\\t8\\t{confidence}\\t{word}\\n");
    }
    rows
}

#[tokio::test]
async fn a_page_read_surely_is_read_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let runs = folder.path().join("runs");
    let body = format!(
        "cat >/dev/null; echo \"$*\" >> {}; printf '{}'",
        runs.display(),
        tokens(&["word"; 20], 95)
    );
    let pages = with(stand_in(folder.path(), &body));
    let row = row(&pages, "p.png", png(250, 50, |_, _| 255)).await;
    let never = CancellationToken::new();
    let words = pages
        .words(&row, 1, None, &never)
        .await
        .expect("it is read");
    assert_eq!(words.words.len(), 20);
    assert_eq!(layouts(&runs), ["3"]);
}

#[tokio::test]
async fn a_page_read_unsurely_is_read_a_second_way_and_the_surer_words_stand() {
    let folder = tempfile::tempdir().expect("a folder");
    let runs = folder.path().join("runs");
    let mut first = ["word"; 20];
    first[3] = "T0tal";
    let mut second = ["w0rd"; 20];
    second[3] = "Total";
    let body = format!(
        "cat >/dev/null; echo \"$*\" >> {}; case \"$*\" in *'--psm 6'*) printf '{}';; *) printf '{}';; esac",
        runs.display(),
        tokens(&second[..4], 85),
        tokens(&first, 80),
    );
    let pages = with(stand_in(folder.path(), &body));
    let row = row(&pages, "p.png", png(250, 50, |_, _| 255)).await;
    let never = CancellationToken::new();
    let words = pages
        .words(&row, 1, None, &never)
        .await
        .expect("it is read");
    let texts: Vec<&str> = words.words.iter().map(|w| w.text.as_str()).collect();
    assert_eq!(texts[..5], ["w0rd", "w0rd", "w0rd", "Total", "word"]);
    assert_eq!(texts.len(), 20);
    assert_eq!(layouts(&runs), ["3", "6"]);
}

#[tokio::test]
async fn a_missing_program_is_one_clear_error() {
    let pages = with(PathBuf::from("/nowhere/tesseract"));
    let row = row(&pages, "p.png", png(50, 50, |_, _| 255)).await;
    let error = pages
        .words(&row, 1, None, &CancellationToken::new())
        .await
        .expect_err("there is no tesseract");
    assert_eq!(error.code(), ErrorCode::OcrUnavailable);
    assert!(error.to_string().contains("/nowhere/tesseract"), "{error}");
    assert!(pages.check_ocr().await.is_err());
}

#[tokio::test]
async fn a_missing_language_is_named_with_its_package() {
    let folder = tempfile::tempdir().expect("a folder");
    let pages = with(stand_in(folder.path(), "cat >/dev/null"));
    let row = row(&pages, "p.png", png(50, 50, |_, _| 255)).await;
    let error = pages
        .words(&row, 1, Some("zh"), &CancellationToken::new())
        .await
        .expect_err("no Chinese here");
    assert!(
        matches!(&error, Error::OcrUnavailable { detail }
        if detail.contains("chi_sim") && detail.contains("tesseract-ocr-chi-sim")),
        "{error}"
    );
}

#[tokio::test]
async fn a_failing_run_says_why_and_on_which_page() {
    let folder = tempfile::tempdir().expect("a folder");
    let pages = with(stand_in(
        folder.path(),
        "cat >/dev/null; echo 'out of ink' >&2; exit 3",
    ));
    let row = row(&pages, "p.png", png(50, 50, |_, _| 255)).await;
    let error = pages
        .words(&row, 1, None, &CancellationToken::new())
        .await
        .expect_err("it fails");
    assert!(
        matches!(&error, Error::OcrFailed { page: 1, detail, .. }
        if detail.contains("out of ink")),
        "{error}"
    );
}

#[tokio::test]
async fn cancelling_kills_the_run() {
    let folder = tempfile::tempdir().expect("a folder");
    let (started, pid) = (folder.path().join("fifo"), folder.path().join("pid"));
    rustix_mkfifo(&started);
    // says that it runs by opening the pipe, then waits for ever on its own input
    let body = format!(
        "echo $$ > {}; echo up > {}; exec tail -f /dev/null",
        pid.display(),
        started.display()
    );
    let pages = with(stand_in(folder.path(), &body));
    let row = row(&pages, "p.png", png(50, 50, |_, _| 255)).await;
    let cancel = CancellationToken::new();
    let reading = {
        let (pages, cancel) = (pages.clone(), cancel.clone());
        tokio::spawn(async move { pages.words(&row, 1, None, &cancel).await })
    };
    tokio::task::spawn_blocking(move || std::fs::read_to_string(started))
        .await
        .expect("no panic")
        .expect("it started");
    cancel.cancel();
    let error = reading
        .await
        .expect("no panic")
        .expect_err("it was cancelled");
    assert_eq!(error, Error::Cancelled);
    let pid = std::fs::read_to_string(pid).expect("a pid");
    let alive = || {
        std::fs::read_to_string(format!("/proc/{}/stat", pid.trim()))
            .is_ok_and(|stat| !stat.contains(") Z"))
    };
    let end = tokio::time::Instant::now() + std::time::Duration::from_secs(10);
    while alive() {
        assert!(
            tokio::time::Instant::now() < end,
            "the process was left running"
        );
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_second_reading_that_hangs_costs_its_time_and_not_the_page() {
    let folder = tempfile::tempdir().expect("a folder");
    let runs = folder.path().join("runs");
    // the first reading is poor, so the slanting lines are straightened; the second never ends
    let body = format!(
        "cat >/dev/null; if [ -e {0} ]; then echo again >> {0}; exec tail -f /dev/null; fi; \
         echo once > {0}; printf '{TOKEN}'",
        runs.display()
    );
    let pages = Pages::new(Options {
        tesseract_path: stand_in(folder.path(), &body),
        ocr_page_timeout_s: 6,
        ..Options::default()
    });
    let slanting = png(300, 200, |x, y| {
        let level = f64::from(y) - f64::from(x) * 0.07;
        let inside = (30..170).contains(&y) && (30..270).contains(&x);
        if inside && level.rem_euclid(20.0) < 7.0 && x % 5 < 4 {
            0
        } else {
            255
        }
    });
    let row = row(&pages, "p.png", slanting).await;
    let words = pages
        .words(&row, 1, None, &CancellationToken::new())
        .await
        .expect("the first reading stands");
    assert_eq!(words.words[0].text, "scanned");
    let seen = std::fs::read_to_string(runs).expect("it ran");
    assert_eq!(seen.lines().collect::<Vec<_>>(), ["once", "again"]);
}

fn rustix_mkfifo(path: &std::path::Path) {
    let made = std::process::Command::new("mkfifo")
        .arg(path)
        .status()
        .expect("mkfifo");
    assert!(made.success());
}

#[tokio::test]
async fn tesseract_reads_a_scan_and_its_boxes_lie_on_the_words() {
    let pages = pages();
    if let Err(why) = pages.check_ocr().await {
        assert_eq!(why.code(), ErrorCode::OcrUnavailable);
        return;
    }
    // a page with text is drawn, and the drawing is what is read
    let content =
        show(70.0, 700.0, 20.0, "Invoice INV-2041") + &show(70.0, 600.0, 20.0, "Total 1234.50");
    let text = row(&pages, "a.pdf", pdf(&[Page::of(content)])).await;
    let never = CancellationToken::new();
    let layer = pages
        .words(&text, 1, None, &never)
        .await
        .expect("it is read");
    let image = pages
        .image(&text, 1, ImageSize::Dpi(150.0), ImageFormat::Png, &never)
        .await
        .expect("it is drawn");
    let scan = row(&pages, "scan.png", image.bytes.to_vec()).await;
    let read = pages
        .words(&scan, 1, None, &never)
        .await
        .expect("it is read");
    assert_eq!(read.source, WordSource::Ocr);
    let texts: Vec<&str> = read.words.iter().map(|w| w.text.as_str()).collect();
    assert_eq!(texts, ["Invoice", "INV-2041", "Total", "1234.50"]);
    for (seen, real) in read.words.iter().zip(&layer.words) {
        assert!(seen.rect.iou(&real.rect) > 0.4, "{seen:?} {real:?}");
        assert!(seen.confidence.is_some_and(|c| c > 0.5));
    }
}
