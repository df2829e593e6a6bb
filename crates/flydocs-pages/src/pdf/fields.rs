//! Values of form fields that have no appearance of their own: the field's rectangle is where they stand.

use hayro_syntax::{
    object::{Array, Dict, Name, Object, Rect as PdfRect, Stream},
    page::Page,
};
use kurbo::{Affine, Rect};

use super::words::{Heading, Piece};

/// Fields inherit from their parents; more levels are a loop.
const MAX_PARENTS: usize = 16;
/// Width of an average character, in sizes of the type.
const CHARACTER: f64 = 0.5;

/// The words of such values on the page.
pub(super) fn values(page: &Page<'_>, to_page: Affine) -> Vec<Piece> {
    let Some(annotations) = page.raw().get::<Array<'_>>("Annots") else {
        return Vec::new();
    };
    let mut pieces = Vec::new();
    for widget in annotations.iter::<Dict<'_>>().take(5_000) {
        let is_widget = widget
            .get::<Name<'_>>("Subtype")
            .is_some_and(|n| n.as_str() == "Widget");
        if !is_widget || is_hidden(&widget) || has_appearance(&widget) {
            continue;
        }
        let Some(rect) = widget.get::<PdfRect>("Rect") else {
            continue;
        };
        let rect = Rect::new(rect.x0, rect.y0, rect.x1, rect.y1);
        if let Some(text) = value(&widget) {
            pieces.extend(set(&text, to_page.transform_rect_bbox(rect.abs())));
        }
    }
    pieces
}

fn is_hidden(widget: &Dict<'_>) -> bool {
    // hidden, or not to be viewed
    widget.get::<i32>("F").unwrap_or(0) & 0b10_0010 != 0
}

fn has_appearance(widget: &Dict<'_>) -> bool {
    let Some(appearance) = widget.get::<Dict<'_>>("AP") else {
        return false;
    };
    appearance.get::<Stream<'_>>("N").is_some() || appearance.get::<Dict<'_>>("N").is_some()
}

/// The value of a text or choice field, its own or its parent's.
fn value(widget: &Dict<'_>) -> Option<String> {
    let mut node = widget.clone();
    let (mut kind, mut text) = (None, None);
    for _ in 0..MAX_PARENTS {
        kind = kind.or_else(|| node.get::<Name<'_>>("FT").map(|n| n.as_str().to_owned()));
        text = text.or_else(|| match node.get::<Object<'_>>("V")? {
            Object::String(string) => Some(text_string(string.as_bytes())),
            _ => None,
        });
        match node.get::<Dict<'_>>("Parent") {
            Some(parent) => node = parent,
            None => break,
        }
    }
    let kind = kind?;
    let text = text.filter(|t| !t.trim().is_empty())?;
    matches!(kind.as_str(), "Tx" | "Ch").then_some(text)
}

/// UTF-16 or UTF-8 with a mark, else PDFDocEncoding, which is Latin-1 where it matters.
fn text_string(bytes: &[u8]) -> String {
    if let Some(rest) = bytes.strip_prefix(b"\xef\xbb\xbf") {
        return String::from_utf8_lossy(rest).into_owned();
    }
    if bytes.starts_with(b"\xfe\xff") || bytes.starts_with(b"\xff\xfe") {
        return encoding_rs::UTF_16BE.decode(bytes).0.into_owned();
    }
    encoding_rs::WINDOWS_1252
        .decode_without_bom_handling(bytes)
        .0
        .into_owned()
}

/// Lines from the top of the rectangle, words from its left.
fn set(text: &str, rect: Rect) -> Vec<Piece> {
    let lines: Vec<&str> = text.lines().filter(|l| !l.trim().is_empty()).collect();
    let height = rect.height() / lines.len().max(1) as f64;
    let mut pieces = Vec::new();
    for (number, line) in lines.iter().enumerate() {
        let count = line.chars().count().max(1) as f64;
        let step = (height.min(14.0) * 0.8 * CHARACTER).min(rect.width() / count);
        let top = rect.y0 + number as f64 * height;
        let mut at = 0.0;
        for word in line.split(' ') {
            let length = word.chars().count() as f64;
            if !word.trim().is_empty() {
                pieces.push(Piece {
                    text: word.trim().to_owned(),
                    rect: Rect::new(
                        rect.x0 + at * step,
                        top,
                        rect.x0 + (at + length) * step,
                        top + height,
                    ),
                    heading: Heading::Right,
                    bold: false,
                    rtl: word.contains(crate::script::is_rtl),
                });
            }
            at += length + 1.0;
        }
    }
    pieces
}
