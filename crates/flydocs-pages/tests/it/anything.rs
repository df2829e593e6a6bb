//! Whatever the bytes: an answer, never a panic and never a fault that is not the file's.

use std::io::Write;

use flydocs_pages::{Error, OcrEngine, Options, Pages, Reader, entries};
use proptest::prelude::*;
use tokio_util::sync::CancellationToken;

use crate::made::{Page, pdf, png, show, source};

/// The beginnings by which kinds are told, and whole small files.
fn beginnings() -> Vec<Vec<u8>> {
    let text = b"From: a@example.com\r\nSubject: x\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n";
    let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gz.write_all(b"some words").expect("written");
    vec![
        Vec::new(),
        pdf(&[Page::of(show(50.0, 700.0, 12.0, "a page with some words"))]),
        png(8, 8, |x, y| (x * y) as u8),
        b"PK\x03\x04".to_vec(),
        b"GIF89a\x08\0\x08\0\0\0\0,".to_vec(),
        b"\xff\xd8\xff\xe0\0\x10JFIF".to_vec(),
        b"II*\0\x08\0\0\0".to_vec(),
        b"{\\rtf1\\ansi ".to_vec(),
        b"<!doctype html><table>".to_vec(),
        b"<svg xmlns=\"http://www.w3.org/2000/svg\">".to_vec(),
        b"\0\0\0\x18ftypheic\0\0\0\0mif1heic".to_vec(),
        b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1".to_vec(),
        b"7z\xbc\xaf\x27\x1c\0\x04".to_vec(),
        gz.finish().expect("packed"),
        text.to_vec(),
    ]
}

/// Cuts, flips and adds.
fn changed(mut file: Vec<u8>, cut: usize, flips: &[(usize, u8)], tail: &[u8]) -> Vec<u8> {
    if !file.is_empty() {
        let length = file.len();
        file.truncate(length - cut % length);
        for (at, bits) in flips {
            let length = file.len();
            file[at % length] ^= bits;
        }
    }
    file.extend_from_slice(tail);
    file
}

/// A compound file whose list of tables goes on where it should not: found by `cargo xtask fuzz mail`.
#[test]
fn a_message_with_damaged_tables_gets_an_answer() {
    let mut file = vec![0_u8; 1024];
    file[..8].copy_from_slice(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1");
    file[24..34].copy_from_slice(&[0x3e, 0, 3, 0, 0xfe, 0xff, 9, 0, 6, 0]);
    for at in [44, 48, 58, 62, 72, 76] {
        file[at] = 1;
    }
    file[772..1020].fill(0xff);
    assert!(entries::enter("mail", &file));
    assert!(!entries::enter("no such door", &file));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_file_gets_an_answer(
        kind in 0_usize..15,
        cut in 0_usize..2000,
        flips in prop::collection::vec((0_usize..4000, 1_u8..), 0..6),
        tail in prop::collection::vec(any::<u8>(), 0..200),
    ) {
        let file = changed(beginnings().swap_remove(kind), cut, &flips, &tail);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(async {
            let pages = Pages::new(Options {
                ocr_engine: OcrEngine::None,
                max_page_pixels: 4_000_000,
                ..Options::default()
            });
            let never = CancellationToken::new();
            let rows = match pages.load(source("any", file), &never).await {
                Ok(rows) => rows,
                Err(error) => {
                    assert!(matches!(error, Error::Refused { .. }), "{error:?}");
                    return;
                }
            };
            for row in rows {
                assert!(row.page_count >= 1);
                let words = pages.words(&row, 1, None, &never).await.expect("a loaded page is read");
                for word in &words.words {
                    assert!(!word.text.is_empty() && !word.text.contains(char::is_whitespace), "{word:?}");
                    assert!(word.rect.clipped() == Some(word.rect), "{word:?}");
                }
            }
        });
    }
}
