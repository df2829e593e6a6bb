//! Archives and mails: every member a row.

use std::io::{Cursor, Write};

use flydocs_contract::ErrorCode;
use flydocs_pages::{Error, Options, Pages, Reader, Row};
use tokio_util::sync::CancellationToken;
use zip::{ZipWriter, write::SimpleFileOptions};

use crate::made::{Page, pages, pdf, show, source, texts};

fn a_pdf(says: &str) -> Vec<u8> {
    pdf(&[Page::of(show(
        50.0,
        700.0,
        12.0,
        &format!("this document says {says} and more"),
    ))])
}

fn zip(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, content) in members {
        archive
            .start_file(*name, SimpleFileOptions::default())
            .expect("a member");
        archive.write_all(content).expect("written");
    }
    archive.finish().expect("an archive").into_inner()
}

fn tar(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut archive = tar::Builder::new(Vec::new());
    for (name, content) in members {
        let mut header = tar::Header::new_ustar();
        header.set_size(content.len() as u64);
        header.set_mode(0o644);
        archive
            .append_data(&mut header, name, *content)
            .expect("a member");
    }
    archive.into_inner().expect("an archive")
}

fn gzip(content: &[u8]) -> Vec<u8> {
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packer.write_all(content).expect("written");
    packer.finish().expect("packed")
}

async fn load(pages: &Pages, name: &str, content: Vec<u8>) -> Result<Vec<Row>, Error> {
    pages
        .load(source(name, content), &CancellationToken::new())
        .await
}

fn names(rows: &[Row]) -> Vec<&str> {
    rows.iter().map(|r| r.filename.as_str()).collect()
}

#[tokio::test]
async fn members_of_archives_become_rows_with_their_paths() {
    let pages = pages();
    let (one, two) = (a_pdf("one"), a_pdf("two"));
    let members: &[(&str, &[u8])] = &[
        ("a/one.pdf", &one),
        (".DS_Store", b"junk"),
        ("two.pdf", &two),
    ];
    for (name, archive) in [
        ("x.zip", zip(members)),
        ("x.tar", tar(members)),
        ("x.tgz", gzip(&tar(members))),
    ] {
        let rows = load(&pages, name, archive).await.expect("it is unpacked");
        let prefix = if name == "x.tgz" { "x.tgz/x.tar" } else { name };
        assert_eq!(
            names(&rows),
            [format!("{prefix}/a/one.pdf"), format!("{prefix}/two.pdf")]
        );
        assert_eq!(texts(&pages, &rows[1]).await[3].0, "two");
    }
}

#[tokio::test]
async fn equal_names_in_two_archives_keep_their_own_words() {
    let pages = pages();
    let inner_a = zip(&[("scan.pdf", &a_pdf("alpha"))]);
    let inner_b = zip(&[("scan.pdf", &a_pdf("beta"))]);
    let rows = load(
        &pages,
        "all.zip",
        zip(&[("a.zip", &inner_a), ("b.zip", &inner_b)]),
    )
    .await
    .expect("it is unpacked");
    assert_eq!(
        names(&rows),
        ["all.zip/a.zip/scan.pdf", "all.zip/b.zip/scan.pdf"]
    );
    assert_eq!(texts(&pages, &rows[0]).await[3].0, "alpha");
    assert_eq!(texts(&pages, &rows[1]).await[3].0, "beta");
}

#[tokio::test]
async fn what_is_not_read_is_left_out_with_a_warning_and_what_is_damaged_refuses_the_whole() {
    let pages = pages();
    let good = a_pdf("one");
    let rows = load(
        &pages,
        "x.zip",
        zip(&[("run.exe", b"MZ\x90\0\x03\0"), ("one.pdf", &good)]),
    )
    .await
    .expect("the document is read");
    assert_eq!(names(&rows), ["x.zip/one.pdf"]);
    assert!(
        rows[0].warnings[0].contains("run.exe"),
        "{:?}",
        rows[0].warnings
    );
    let error = load(
        &pages,
        "x.zip",
        zip(&[("one.pdf", &good), ("bad.pdf", b"%PDF-1.4 no more")]),
    )
    .await
    .expect_err("a document would be missing");
    assert_eq!(error.code(), ErrorCode::CorruptPdf);
    assert!(error.to_string().contains("x.zip/bad.pdf"), "{error}");
    let only = load(&pages, "x.zip", zip(&[("run.exe", b"MZ\x90\0\x03\0")])).await;
    assert_eq!(
        only.expect_err("nothing to read").code(),
        ErrorCode::UnsupportedFile
    );
}

#[tokio::test]
async fn archives_that_reach_out_are_refused() {
    let pages = pages();
    for name in [
        "../../evil.txt",
        "/etc/evil",
        "a/../../b",
        "C:\\evil.txt",
        "..\\evil",
    ] {
        let error = load(&pages, "x.zip", zip(&[(name, b"words")]))
            .await
            .expect_err(name);
        assert_eq!(error.code(), ErrorCode::UnsafeArchive, "{name}");
    }
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    archive
        .add_symlink("link.pdf", "/etc/passwd", SimpleFileOptions::default())
        .expect("a link");
    let bytes = archive.finish().expect("an archive").into_inner();
    let error = load(&pages, "x.zip", bytes).await.expect_err("a link");
    assert_eq!(error.code(), ErrorCode::UnsafeArchive);
}

#[tokio::test]
async fn bombs_stop_at_their_limit() {
    let limit = |error: Error| match error {
        Error::Refused {
            code: ErrorCode::LimitExceeded,
            facts,
            ..
        } => facts["limit"].as_str().map(ToOwned::to_owned),
        other => panic!("{other:?}"),
    };
    let small = Pages::new(Options {
        max_expanded_files: 3,
        max_expanded_bytes: 100_000,
        ..Options::default()
    });
    let many: Vec<(String, Vec<u8>)> = (0..4)
        .map(|n| (format!("{n}.txt"), b"words".to_vec()))
        .collect();
    let many: Vec<(&str, &[u8])> = many
        .iter()
        .map(|(n, c)| (n.as_str(), c.as_slice()))
        .collect();
    let error = load(&small, "x.zip", zip(&many))
        .await
        .expect_err("too many");
    assert_eq!(limit(error).as_deref(), Some("expanded_files"));
    let error = load(&small, "x.zip", zip(&[("a.txt", &vec![b'a'; 200_000])])).await;
    assert_eq!(
        limit(error.expect_err("too much")).as_deref(),
        Some("expanded_bytes")
    );
    let error = load(&small, "x.gz", gzip(&vec![b'a'; 200_000])).await;
    assert_eq!(
        limit(error.expect_err("too much")).as_deref(),
        Some("expanded_bytes")
    );
    // five hundred times its size is no document, whatever the limit
    let error = load(&pages(), "x.zip", zip(&[("a.txt", &vec![0; 8 << 20])])).await;
    assert_eq!(
        limit(error.expect_err("a bomb")).as_deref(),
        Some("expanded_bytes")
    );
    let mut nested = zip(&[("a.txt", b"words in a text")]);
    for _ in 0..3 {
        nested = zip(&[("inner.zip", &nested)]);
    }
    let error = load(&pages(), "x.zip", nested).await.expect_err("too deep");
    assert_eq!(limit(error).as_deref(), Some("depth"));
}

#[tokio::test]
async fn a_mail_is_its_body_and_its_attachments() {
    use base64::Engine as _;
    let pages = pages();
    let attachment = base64::engine::general_purpose::STANDARD.encode(a_pdf("attached"));
    let mail = format!(
        "From: Ann <ann@example.com>\r\nTo: bob@example.com\r\nSubject: =?utf-8?q?Rechnung_f=C3=BCr_M=C3=A4rz?=\r\n\
         MIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n\
         --b\r\nContent-Type: text/plain\r\n\r\nPlease find the invoice attached.\r\n\
         --b\r\nContent-Type: application/octet-stream\r\nContent-Transfer-Encoding: base64\r\n\
         Content-Disposition: attachment; filename=\"../../bill.pdf\"\r\n\r\n{attachment}\r\n--b--\r\n"
    );
    let rows = load(&pages, "m.eml", mail.into_bytes())
        .await
        .expect("it is opened");
    assert_eq!(names(&rows), ["m.eml/body.txt", "m.eml/bill.pdf"]);
    let body: Vec<String> = texts(&pages, &rows[0])
        .await
        .into_iter()
        .map(|w| w.0)
        .collect();
    assert!(
        body.join(" ")
            .contains("Subject: Rechnung für März Please find"),
        "{body:?}"
    );
    assert_eq!(texts(&pages, &rows[1]).await[3].0, "attached");
}

#[tokio::test]
async fn broken_empty_and_locked_archives_have_their_codes() {
    let pages = pages();
    let whole = zip(&[("a.txt", &b"some words here ".repeat(100))]);
    let cut = whole[..whole.len() / 2].to_vec();
    let error = load(&pages, "x.zip", cut).await.expect_err("cut");
    assert_eq!(error.code(), ErrorCode::ArchiveExtractionFailed);
    let error = load(&pages, "x.zip", zip(&[])).await.expect_err("empty");
    assert_eq!(error.code(), ErrorCode::EmptyFile);
    let mut locked = whole;
    // the flag bits of both headers of the only member
    locked[6] |= 1;
    let central = locked
        .windows(4)
        .rposition(|w| w == b"PK\x01\x02")
        .expect("a directory");
    locked[central + 8] |= 1;
    let error = load(&pages, "x.zip", locked).await.expect_err("locked");
    assert_eq!(error.code(), ErrorCode::EncryptedFile);
    let error = load(&pages, "x.gz", gzip(b""))
        .await
        .expect_err("nothing in it");
    assert_eq!(error.code(), ErrorCode::EmptyFile);
    let error = load(&pages, "x.7z", b"7z\xbc\xaf\x27\x1c\0\x04garbage".to_vec()).await;
    assert_eq!(
        error.expect_err("broken").code(),
        ErrorCode::ArchiveExtractionFailed
    );
}
