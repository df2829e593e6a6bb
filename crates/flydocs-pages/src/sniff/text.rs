//! Which text a text is, and its characters.

use std::borrow::Cow;

use super::{Found, Kind, Unread};

/// Text, one of its sub-kinds, or something that is no text.
pub(crate) fn text_kind(bytes: &[u8], name: &str, declared: Option<&str>) -> Found {
    let head = bytes.get(..8192).unwrap_or(bytes);
    let Some(text) = decode_text(head) else {
        return Found::Other(Unread::Known("of an unknown binary kind"));
    };
    let extension = name
        .rsplit_once('.')
        .map(|(_, e)| e.trim().to_ascii_lowercase())
        .unwrap_or_default();
    let start = text
        .trim_start()
        .get(..512)
        .unwrap_or(text.trim_start())
        .to_ascii_lowercase();
    let is_html = start.starts_with("<!doctype html")
        || start.starts_with("<html")
        || (start.starts_with('<')
            && ["<html", "<body", "<head", "<table"]
                .iter()
                .any(|t| start.contains(t)));
    // only the head was looked at: the root element may come after a long preamble
    if start.starts_with("<svg")
        || (start.starts_with("<?xml") || start.starts_with("<!doctype svg"))
            && text.contains("<svg")
    {
        return Found::Kind(Kind::Svg);
    }
    if poses(&extension, declared) {
        return Found::Other(if is_html {
            Unread::PosingHtml
        } else {
            Unread::PosingText
        });
    }
    if is_html {
        return Found::Kind(Kind::Html);
    }
    if start.starts_with("<?xml") || extension == "xml" {
        return Found::Other(Unread::Known("an XML file"));
    }
    if extension == "json" || looks_like_json(&start) {
        return Found::Other(Unread::Known("a JSON file"));
    }
    let is_named = matches!(
        extension.as_str(),
        "txt" | "csv" | "tsv" | "md" | "markdown"
    );
    if (is_mail(&text) && !is_named) || extension == "eml" {
        return Found::Kind(Kind::Eml);
    }
    let declared = declared.unwrap_or_default();
    Found::Kind(match extension.as_str() {
        "csv" | "tsv" => Kind::Csv,
        "md" | "markdown" => Kind::Markdown,
        "html" | "htm" => Kind::Html,
        _ if declared.starts_with("text/csv") => Kind::Csv,
        _ if declared.starts_with("text/markdown") => Kind::Markdown,
        _ if declared.starts_with("text/html") => Kind::Html,
        _ => Kind::Text,
    })
}

/// A name or type that promises something that is never text.
fn poses(extension: &str, declared: Option<&str>) -> bool {
    const BINARY: &[&str] = &[
        "pdf", "png", "jpg", "jpeg", "gif", "webp", "bmp", "tif", "tiff", "heic", "heif", "avif",
        "docx", "xlsx", "pptx", "odt", "ods", "odp", "doc", "xls", "ppt", "zip", "7z", "gz", "tar",
        "msg",
    ];
    BINARY.contains(&extension)
        || (extension.is_empty()
            && declared.is_some_and(|d| d == "application/pdf" || d.starts_with("image/")))
}

fn looks_like_json(start: &str) -> bool {
    let mut chars = start.chars().filter(|c| !c.is_whitespace());
    match (chars.next(), chars.next()) {
        (Some('{'), Some('"' | '}')) => true,
        (Some('['), Some(next)) => matches!(next, '[' | '{' | '"'),
        _ => false,
    }
}

/// Two header lines, one of which only mails have.
fn is_mail(text: &str) -> bool {
    const MAIL: &[&str] = &[
        "from:",
        "received:",
        "return-path:",
        "mime-version:",
        "message-id:",
        "delivered-to:",
        "subject:",
        "date:",
        "to:",
        "content-type:",
        "x-",
    ];
    let mut known = 0;
    for line in text.lines().take(30) {
        if line.is_empty() {
            break;
        }
        if line.starts_with([' ', '\t']) {
            continue;
        }
        let Some((name, _)) = line.split_once(':') else {
            // the mbox separator
            if known == 0 && line.starts_with("From ") {
                continue;
            }
            return false;
        };
        if name.is_empty() || !name.bytes().all(|b| b.is_ascii_graphic()) {
            return false;
        }
        let name = format!("{}:", name.to_ascii_lowercase());
        known += usize::from(
            MAIL.iter()
                .any(|m| name == *m || (*m == "x-" && name.starts_with(m))),
        );
    }
    let lower = text.get(..2048).unwrap_or(text).to_ascii_lowercase();
    known >= 2
        && ["from:", "received:", "mime-version:", "message-id:"]
            .iter()
            .any(|m| lower.starts_with(m) || lower.contains(&format!("\n{m}")))
}

/// The characters of a text: UTF-8, UTF-16 with a mark, else Windows-1252. `None` when it is no text.
pub(crate) fn decode_text(bytes: &[u8]) -> Option<Cow<'_, str>> {
    if let Some((encoding, mark)) = encoding_rs::Encoding::for_bom(bytes) {
        let (text, _) = encoding.decode_without_bom_handling(bytes.get(mark..)?);
        return is_text(&text).then_some(text);
    }
    if bytes.contains(&0) {
        return None;
    }
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => Cow::Borrowed(text),
        // cut in the middle of a character
        Err(e) if e.error_len().is_none() && e.valid_up_to() + 4 > bytes.len() => {
            String::from_utf8_lossy(bytes.get(..e.valid_up_to())?)
        }
        Err(_) => {
            encoding_rs::WINDOWS_1252
                .decode_without_bom_handling(bytes)
                .0
        }
    };
    is_text(&text).then_some(text)
}

fn is_text(text: &str) -> bool {
    let odd = text
        .chars()
        .filter(|c| {
            c.is_control()
                && !matches!(
                    c,
                    '\n' | '\r' | '\t' | '\u{c}' | '\u{b}' | '\u{1b}' | '\u{85}'
                )
        })
        .count();
    odd * 200 <= text.chars().count()
}
