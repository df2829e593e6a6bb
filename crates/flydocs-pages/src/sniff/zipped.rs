//! Which office document a ZIP or compound file is, or that it is just an archive.

use std::io::Cursor;

use super::{Found, Kind, Unread};

const OPEN: &[u8] = b"application/vnd.oasis.opendocument.";

/// A look at the names inside; nothing is unpacked but the short `mimetype` of OpenDocument.
pub(super) fn zip_kind(bytes: &[u8]) -> Found {
    let Ok(archive) = zip::ZipArchive::new(Cursor::new(bytes)) else {
        // cut off: the first name is all there is to go by
        let office = bytes.get(30..49) == Some(b"[Content_Types].xml");
        return Found::Kind(if office { Kind::Docx } else { Kind::Zip });
    };
    let has = |prefix: &str| {
        archive
            .file_names()
            .flatten()
            .any(|name| name.starts_with(prefix))
    };
    if has("[Content_Types].xml") {
        for (folder, kind) in [
            ("word/", Kind::Docx),
            ("xl/", Kind::Xlsx),
            ("ppt/", Kind::Pptx),
        ] {
            if has(folder) {
                return Found::Kind(kind);
            }
        }
    }
    // stored, first, and without an extra field, so that it stands at a fixed place
    if bytes.get(30..38) == Some(b"mimetype") && bytes.get(38..38 + OPEN.len()) == Some(OPEN) {
        let rest = bytes.get(38 + OPEN.len()..).unwrap_or_default();
        for (name, kind) in [
            (b"text".as_slice(), Kind::Odt),
            (b"spreadsheet", Kind::Ods),
            (b"presentation", Kind::Odp),
        ] {
            if rest.starts_with(name) {
                return Found::Kind(kind);
            }
        }
    }
    Found::Kind(Kind::Zip)
}

/// Told by the names of its streams, which stand in it as UTF-16.
pub(super) fn compound_kind(bytes: &[u8]) -> Found {
    let has = |name: &str| {
        let wide: Vec<u8> = name.encode_utf16().flat_map(u16::to_le_bytes).collect();
        bytes.windows(wide.len()).step_by(2).any(|w| w == wide)
    };
    if has("EncryptedPackage") || has("EncryptionInfo") {
        return Found::Encrypted;
    }
    if has("__properties_version1.0") || has("__nameid_version1.0") {
        return Found::Kind(Kind::Msg);
    }
    for (stream, kind) in [
        ("WordDocument", Kind::Doc),
        ("PowerPoint Document", Kind::Ppt),
        ("Workbook", Kind::Xls),
        ("Book", Kind::Xls),
    ] {
        if has(stream) {
            return Found::Kind(kind);
        }
    }
    Found::Other(Unread::Known("a compound file of an unknown kind"))
}
