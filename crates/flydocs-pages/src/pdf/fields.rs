//! Values of form fields that have no appearance of their own: the field's rectangle is where they stand.
//! [`words`] are what is read there, [`drawn`] is what is to be seen.

use std::fmt::Write as _;

use hayro_syntax::{
    object::{Array, Dict, Name, Object, Rect as PdfRect, Stream, String as PdfString},
    page::Page,
};
use kurbo::{Affine, Rect};

use super::words::{Heading, Piece};

/// Fields inherit from their parents; more levels are a loop.
const MAX_PARENTS: usize = 16;
/// Width of an average character, in sizes of the type.
const CHARACTER: f64 = 0.5;
/// Width of a character of Courier, in which they are drawn.
const COURIER: f64 = 0.6;
/// Largest type of a value; smaller where the lines of the field leave less.
const LARGEST: f64 = 14.0 * 0.8;
/// What a checked box says.
const CHECKED: &str = "X";
/// Bit of a button that is pressed and holds no value.
const PUSH_BUTTON: i32 = 1 << 16;

/// The words of such values on the page.
pub(super) fn words(page: &Page<'_>, to_page: Affine) -> Vec<Piece> {
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

/// A PDF of one page of this size (in points) that shows the words in their boxes, in the characters of
/// Western languages.
pub(super) fn drawn(words: &[Piece], (width, height): (f64, f64)) -> Vec<u8> {
    let mut content = String::from("BT\n");
    for word in words {
        let (bytes, _, has_others) = encoding_rs::WINDOWS_1252.encode(&word.text);
        if has_others {
            continue;
        }
        let size = (word.rect.height() * 0.8).min(LARGEST);
        let step = word.rect.width() / bytes.len().max(1) as f64;
        let across = 100.0 * step / (size * COURIER).max(0.01);
        let base = height - word.rect.center().y - size * 0.3;
        // writing to a string cannot fail
        let _infallible = writeln!(
            content,
            "/F1 {size:.2} Tf {across:.2} Tz 1 0 0 1 {:.2} {base:.2} Tm <{}> Tj",
            word.rect.x0,
            hex::encode(&bytes)
        );
    }
    content += "ET";
    crate::laid_out::assemble(&[
        "<< /Type /Catalog /Pages 2 0 R >>".to_owned(),
        "<< /Type /Pages /Count 1 /Kids [3 0 R] >>".to_owned(),
        format!(
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 {width} {height}] /Contents 5 0 R \
             /Resources << /Font << /F1 4 0 R >> >> >>"
        ),
        "<< /Type /Font /Subtype /Type1 /BaseFont /Courier /Encoding /WinAnsiEncoding >>"
            .to_owned(),
        crate::laid_out::stream(&content),
    ])
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

/// What a text field, a choice or a checked box says, by its own entries or its parents'.
fn value(widget: &Dict<'_>) -> Option<String> {
    let kind = inherited(widget, |node| {
        node.get::<Name<'_>>("FT").map(|n| n.as_str().to_owned())
    })?;
    let text = match kind.as_str() {
        "Tx" => inherited(widget, |node| texts(&node.get::<Object<'_>>("V")?))?,
        "Ch" => {
            let chosen = inherited(widget, |node| texts(&node.get::<Object<'_>>("V")?))?;
            let lines = chosen.lines().map(|chosen| shown(widget, chosen));
            lines.collect::<Vec<_>>().join("\n")
        }
        "Btn" => {
            let flags = inherited(widget, |node| node.get::<i32>("Ff")).unwrap_or(0);
            let state = widget
                .get::<Name<'_>>("AS")
                .or_else(|| widget.get::<Name<'_>>("V"))?;
            let is_on = flags & PUSH_BUTTON == 0 && state.as_str() != "Off";
            is_on.then(|| CHECKED.to_owned())?
        }
        _ => return None,
    };
    Some(text).filter(|t| !t.trim().is_empty())
}

fn inherited<'a, T>(widget: &Dict<'a>, entry: impl Fn(&Dict<'a>) -> Option<T>) -> Option<T> {
    let mut node = widget.clone();
    for _ in 0..MAX_PARENTS {
        if let Some(found) = entry(&node) {
            return Some(found);
        }
        node = node.get::<Dict<'_>>("Parent")?;
    }
    None
}

/// A text, or several of them as lines.
fn texts(value: &Object<'_>) -> Option<String> {
    match value {
        Object::String(string) => Some(text_string(string.as_bytes())),
        Object::Array(all) => {
            let lines: Vec<String> = all
                .iter::<PdfString<'_>>()
                .map(|string| text_string(string.as_bytes()))
                .collect();
            Some(lines.join("\n"))
        }
        _ => None,
    }
}

/// What is shown for a choice: an option may be a pair, what is sent and what is shown.
fn shown(widget: &Dict<'_>, chosen: &str) -> String {
    let options = inherited(widget, |node| node.get::<Array<'_>>("Opt"));
    let pairs = options.iter().flat_map(Array::iter::<Array<'_>>);
    for pair in pairs {
        let mut both = pair.iter::<PdfString<'_>>();
        if let (Some(sent), Some(shown)) = (both.next(), both.next())
            && text_string(sent.as_bytes()) == chosen
        {
            return text_string(shown.as_bytes());
        }
    }
    chosen.to_owned()
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
        let step = ((height * 0.8).min(LARGEST) * CHARACTER).min(rect.width() / count);
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
