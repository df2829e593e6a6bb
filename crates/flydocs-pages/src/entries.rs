//! The doors through which bytes of strangers come in, each on its own, for fuzzing: no pool, no child process
//! and nobody who catches a panic. An answer of any kind is fine; a panic or no end is a fault.

use bytes::Bytes;
use tokio_util::sync::CancellationToken;

use crate::{
    containers::{self, Budget},
    error::Result,
    load,
    options::{OcrEngine, Options},
    pdf,
    reader::ImageSize,
    sniff::{Group, Kind, sniff},
};

/// The names of the doors, for [`enter`].
pub const DOORS: [&str; 4] = ["sniff", "archives", "mail", "pdf"];

/// Pages of a PDF that are read and drawn.
const PAGES: u32 = 2;

/// Small limits: what is looked for is a fault, not the end of a long piece of work.
fn options() -> Options {
    Options {
        ocr_engine: OcrEngine::None,
        max_bytes: 4 << 20,
        max_pages: 50,
        max_page_pixels: 2_000_000,
        max_expanded_bytes: 16 << 20,
        ..Options::default()
    }
}

/// Sends bytes through a door; false when there is none of that name.
pub fn enter(door: &str, bytes: &[u8]) -> bool {
    let content = Bytes::copy_from_slice(bytes);
    match door {
        "sniff" => any_file(&content),
        "archives" => {
            for kind in [Kind::Zip, Kind::Tar, Kind::Gzip, Kind::SevenZip] {
                container(kind, &content);
            }
        }
        "mail" => {
            for kind in [Kind::Eml, Kind::Msg] {
                container(kind, &content);
            }
        }
        "pdf" => any_pdf(&content),
        _ => return false,
    }
    true
}

/// Told by its content, then loaded as what it is; PDFs have a door of their own.
fn any_file(content: &Bytes) {
    let found = sniff(content, "file", None);
    if matches!(found, crate::sniff::Found::Kind(kind) if kind.group() == Group::Pdf) {
        return;
    }
    answered(load::load(
        "file",
        content,
        None,
        &options(),
        &CancellationToken::new(),
    ));
}

fn container(kind: Kind, content: &Bytes) {
    let options = options();
    let mut budget = Budget::new(&options);
    if budget.enter("file", 1).is_ok() {
        answered(containers::members("file", kind, content, &mut budget));
    }
}

fn any_pdf(content: &Bytes) {
    let options = options();
    let Ok(count) = pdf::count_pages("file", content, &options) else {
        return;
    };
    let never = CancellationToken::new();
    for page in 1..=count.min(PAGES) {
        let ahead = std::time::Duration::ZERO;
        answered(pdf::read_text(
            "file", content, page, ahead, &options, &never,
        ));
        answered(pdf::render(
            "file",
            content,
            page,
            ImageSize::Width(200),
            &options,
        ));
    }
    answered(pdf::slice("file", content, 1..=1));
}

fn answered<T>(answer: Result<T>) {
    drop(answer);
}
