//! What a file is, by its content. A name or a declared type is a hint at most.

/// A kind of file that is told apart here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) enum Kind {
    Pdf,
    Png,
    Jpeg,
    Gif,
    WebP,
    Bmp,
    Tiff,
}

impl Kind {
    pub(crate) const fn media_type(self) -> &'static str {
        match self {
            Self::Pdf => "application/pdf",
            Self::Png => "image/png",
            Self::Jpeg => "image/jpeg",
            Self::Gif => "image/gif",
            Self::WebP => "image/webp",
            Self::Bmp => "image/bmp",
            Self::Tiff => "image/tiff",
        }
    }

    pub(crate) fn of_media_type(media_type: &str) -> Option<Self> {
        [
            Self::Pdf,
            Self::Png,
            Self::Jpeg,
            Self::Gif,
            Self::WebP,
            Self::Bmp,
            Self::Tiff,
        ]
        .into_iter()
        .find(|kind| kind.media_type() == media_type)
    }
}

/// How far into a file a PDF header may stand.
const PDF_HEADER_WITHIN: usize = 2048;

/// What the bytes are; `None` when nothing that is read here.
pub(crate) fn sniff(bytes: &[u8]) -> Option<Kind> {
    let starts = |magic: &[u8]| bytes.starts_with(magic);
    if starts(b"\x89PNG\r\n\x1a\n") {
        return Some(Kind::Png);
    }
    if starts(b"\xff\xd8\xff") {
        return Some(Kind::Jpeg);
    }
    if starts(b"GIF87a") || starts(b"GIF89a") {
        return Some(Kind::Gif);
    }
    if starts(b"RIFF") && bytes.get(8..12) == Some(b"WEBP") {
        return Some(Kind::WebP);
    }
    if starts(b"II*\0") || starts(b"MM\0*") || starts(b"II+\0") || starts(b"MM\0+") {
        return Some(Kind::Tiff);
    }
    if starts(b"BM") && bytes.len() > 26 {
        return Some(Kind::Bmp);
    }
    let head = bytes.get(..PDF_HEADER_WITHIN).unwrap_or(bytes);
    if head.windows(5).any(|w| w == b"%PDF-") {
        return Some(Kind::Pdf);
    }
    None
}
