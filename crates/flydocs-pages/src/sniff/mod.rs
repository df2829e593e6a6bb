//! What a file is, by its content. A name or a declared type only tells one kind of text from another, and
//! gives away text that poses as something else.

mod kind;
mod text;
mod zipped;

pub(crate) use kind::{Group, Kind};
pub(crate) use text::decode_text;
use text::text_kind;

/// How far into a file a PDF header may stand.
const PDF_HEADER_WITHIN: usize = 2048;

/// What a file was found to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Found {
    /// A kind that is read here.
    Kind(Kind),
    /// Something else.
    Other(Unread),
    /// Encrypted as a whole (an office document with a password).
    Encrypted,
}

/// A file of a kind that is not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unread {
    /// A text whose name promises a document.
    PosingText,
    /// The same of a web page.
    PosingHtml,
    /// Anything else, in a few words.
    Known(&'static str),
}

impl Unread {
    /// What it is.
    pub(crate) const fn what(self) -> &'static str {
        match self {
            Self::PosingText => "plain text under another name",
            Self::PosingHtml => "an HTML page under another name (often a failed download)",
            Self::Known(what) => what,
        }
    }

    /// How it can be read all the same.
    pub(crate) const fn advice(self) -> &'static str {
        match self {
            Self::PosingText => {
                "which is not read: end its name in .txt (or .csv, .md, .eml), or fetch the real document again"
            }
            Self::PosingHtml => {
                "which is not read: end its name in .html, or fetch the real document again"
            }
            Self::Known(_) => "which is not read: export it to PDF",
        }
    }
}

/// What the bytes are. `name` and `declared` are hints for text.
pub(crate) fn sniff(bytes: &[u8], name: &str, declared: Option<&str>) -> Found {
    if let Some(kind) = by_magic(bytes) {
        return Found::Kind(kind);
    }
    if bytes.starts_with(b"PK\x03\x04") || bytes.starts_with(b"PK\x05\x06") {
        return zipped::zip_kind(bytes);
    }
    if bytes.starts_with(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1") {
        return zipped::compound_kind(bytes);
    }
    if is_late_pdf(bytes) {
        return Found::Kind(Kind::Pdf);
    }
    if let Some(what) = known_other(bytes) {
        return Found::Other(Unread::Known(what));
    }
    text_kind(bytes, name, declared)
}

fn by_magic(bytes: &[u8]) -> Option<Kind> {
    let starts = |magic: &[u8]| bytes.starts_with(magic);
    let at = |offset: usize, magic: &[u8]| bytes.get(offset..offset + magic.len()) == Some(magic);
    if starts(b"\x89PNG\r\n\x1a\n") {
        return Some(Kind::Png);
    }
    if starts(b"\xff\xd8\xff") {
        return Some(Kind::Jpeg);
    }
    if starts(b"GIF87a") || starts(b"GIF89a") {
        return Some(Kind::Gif);
    }
    if starts(b"RIFF") && at(8, b"WEBP") {
        return Some(Kind::WebP);
    }
    if starts(b"II*\0") || starts(b"MM\0*") || starts(b"II+\0") || starts(b"MM\0+") {
        return Some(Kind::Tiff);
    }
    if starts(b"BM") && bytes.get(6..10) == Some(&[0; 4]) {
        return Some(Kind::Bmp);
    }
    if at(4, b"ftyp") {
        return brand(bytes);
    }
    if starts(b"%PDF-") {
        return Some(Kind::Pdf);
    }
    if starts(b"7z\xbc\xaf\x27\x1c") {
        return Some(Kind::SevenZip);
    }
    if starts(b"\x1f\x8b\x08") {
        return Some(Kind::Gzip);
    }
    if at(257, b"ustar") {
        return Some(Kind::Tar);
    }
    if starts(b"{\\rtf") {
        return Some(Kind::Rtf);
    }
    None
}

/// A PDF with something before its header; a text that only speaks of one has no objects.
fn is_late_pdf(bytes: &[u8]) -> bool {
    let head = bytes.get(..PDF_HEADER_WITHIN).unwrap_or(bytes);
    head.windows(5).any(|w| w == b"%PDF-") && bytes.windows(6).any(|w| w == b"endobj")
}

/// The ISO base media files that are still images.
fn brand(bytes: &[u8]) -> Option<Kind> {
    let length = u32::from_be_bytes(bytes.get(..4)?.try_into().ok()?) as usize;
    let brands = bytes.get(8..length.clamp(12, 256).min(bytes.len()))?;
    let names = |wanted: &[&[u8]]| brands.chunks_exact(4).any(|b| wanted.contains(&b));
    if names(&[b"avif", b"avis"]) {
        return Some(Kind::Avif);
    }
    names(&[
        b"heic", b"heix", b"hevc", b"heim", b"heis", b"mif1", b"msf1",
    ])
    .then_some(Kind::Heic)
}

/// Kinds that come up and are not read: named, so that the refusal says what was sent.
fn known_other(bytes: &[u8]) -> Option<&'static str> {
    const OTHERS: &[(&[u8], &str)] = &[
        (b"MZ", "a Windows program"),
        (b"\x7fELF", "a program"),
        (b"\xca\xfe\xba\xbe", "a program"),
        (b"\xcf\xfa\xed\xfe", "a program"),
        (b"\0\0\0\x0cjP  \r\n\x87\n", "a JPEG 2000 image"),
        (b"\xff\x4f\xff\x51", "a JPEG 2000 image"),
        (b"\x78\x9f\x3e\x22", "a winmail.dat (TNEF)"),
        (b"Rar!", "a RAR archive"),
        (b"BZh", "a bzip2 archive"),
        (b"\xfd7zXZ\0", "an XZ archive"),
        (b"\x28\xb5\x2f\xfd", "a Zstandard archive"),
        (b"%!PS", "a PostScript file"),
        (b"AT&TFORM", "a DjVu document"),
        (b"SQLite format 3", "a database"),
        (b"ID3", "a sound"),
        (b"OggS", "a sound"),
        (b"RIFF", "a sound or film"),
        (b"8BPS", "a Photoshop image"),
        (b"\0\0\x01\0", "an icon"),
        (b"wOFF", "a font"),
        (b"wOF2", "a font"),
    ];
    if bytes.get(4..8) == Some(b"ftyp") {
        return Some("a film or sound");
    }
    OTHERS
        .iter()
        .find(|(magic, _)| bytes.starts_with(magic))
        .map(|(_, what)| *what)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_decides_and_not_the_name() {
        let found = |bytes: &[u8], name| sniff(bytes, name, None);
        assert_eq!(
            found(b"\x89PNG\r\n\x1a\n....", "a.pdf"),
            Found::Kind(Kind::Png)
        );
        let late = [vec![b'x'; 900], b"%PDF-1.4 1 0 obj null endobj".to_vec()].concat();
        assert_eq!(
            found(b"A %PDF-1.7 file is ...", "a.txt"),
            Found::Kind(Kind::Text)
        );
        assert_eq!(found(&late, "a.txt"), Found::Kind(Kind::Pdf));
        assert_eq!(
            found(b"MZ\x90\0\x03", "a.pdf"),
            Found::Other(Unread::Known("a Windows program"))
        );
        assert_eq!(
            found(b"\0\0\0\x18ftypheic\0\0\0\0mif1heic", "x"),
            Found::Kind(Kind::Heic)
        );
        assert_eq!(
            found(b"\0\0\0\x18ftypavif\0\0\0\0mif1miaf", "x"),
            Found::Kind(Kind::Avif)
        );
        assert_eq!(
            found(b"\0\0\0\x18ftypisom\0\0\0\0iso2mp41", "x"),
            Found::Other(Unread::Known("a film or sound"))
        );
    }

    #[test]
    fn the_name_tells_one_text_from_another() {
        let found = |bytes: &[u8], name| sniff(bytes, name, None);
        assert_eq!(found(b"a;b\n1;2\n", "x.csv"), Found::Kind(Kind::Csv));
        assert_eq!(
            found(b"# Title\n", "README.md"),
            Found::Kind(Kind::Markdown)
        );
        assert_eq!(found(b"plain words", "x"), Found::Kind(Kind::Text));
        assert_eq!(found(b"<!DOCTYPE html><p>x", "x"), Found::Kind(Kind::Html));
        assert_eq!(
            found(b"From: a@b.c\r\nSubject: x\r\n\r\nhi", "m"),
            Found::Kind(Kind::Eml)
        );
        assert_eq!(
            sniff(b"a,b\n", "x", Some("text/csv")),
            Found::Kind(Kind::Csv)
        );
    }

    #[test]
    fn text_that_poses_as_a_pdf_is_refused() {
        let found = |bytes: &[u8], name| sniff(bytes, name, None);
        assert_eq!(
            found(b"<html><h1>404</h1>", "bill.pdf"),
            Found::Other(Unread::PosingHtml)
        );
        assert_eq!(
            found(b"Not found", "bill.jpg"),
            Found::Other(Unread::PosingText)
        );
        assert!(matches!(found(b"{\"a\": 1}", "x.json"), Found::Other(_)));
        assert!(matches!(found(b"[[[[[[", "x.json"), Found::Other(_)));
        assert!(matches!(
            found(b"<?xml version='1.0'?><r/>", "x.xml"),
            Found::Other(_)
        ));
        assert!(matches!(
            found(b"\x01\x02\x03\x04\0\0", "x.txt"),
            Found::Other(_)
        ));
    }
}
