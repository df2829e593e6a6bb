//! The text layer of pages: words in reading order, and whether they are enough.

use std::time::{Duration, Instant};

use bytes::Bytes;
use flydocs_contract::{PageWords, Rect, Word, WordSource};
use hayro_interpret::{Context, InterpreterCache, InterpreterSettings, interpret_page};
use hayro_syntax::{Pdf, page::Page};
use kurbo::Affine;
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use super::{
    glyphs::{Fonts, Hidden, Listener},
    order::reading_order,
    words::group,
};
use crate::{error::Result, options::Options};

/// A page whose largest image covers this share is a scan: invisible text is its text.
const SCAN_SHARE: f64 = 0.3;
/// Most pages read in one go.
const READ_AHEAD: u32 = 32;

/// What the text layer is worth.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum TextLayer {
    /// It says what the page says.
    Enough,
    /// Fewer words than the setting asks, and something else is drawn.
    TooFew,
    /// Most of it is no text anybody could read.
    Unreadable,
    /// Nothing is drawn.
    Blank,
}

/// The text layer of one page.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct PageText {
    pub(crate) words: PageWords,
    pub(crate) layer: TextLayer,
}

/// Reads page `first`, and those after it as long as `ahead` lasts: opening a file and its fonts costs more
/// than one page.
pub(crate) fn read_text(
    filename: &str,
    content: &Bytes,
    first: u32,
    ahead: Duration,
    options: &Options,
    cancel: &CancellationToken,
) -> Result<Vec<PageText>> {
    let began = Instant::now();
    let pdf = super::open(filename, content)?;
    let cache = InterpreterCache::new();
    let settings = InterpreterSettings::default();
    let mut fonts = Fonts::default();
    super::page(filename, &pdf, first)?;
    let mut found = Vec::new();
    for (index, page) in pdf.pages().iter().enumerate().skip(first as usize - 1) {
        crate::stop::check(cancel)?;
        let number = index as u32 + 1;
        found.push(read_page(
            &pdf, page, number, &cache, &settings, &mut fonts, options,
        ));
        if began.elapsed() >= ahead || number >= first.saturating_add(READ_AHEAD) {
            break;
        }
    }
    Ok(found)
}

fn read_page<'a>(
    pdf: &'a Pdf,
    page: &'a Page<'a>,
    number: u32,
    cache: &InterpreterCache<'a>,
    settings: &InterpreterSettings,
    fonts: &mut Fonts,
    options: &Options,
) -> PageText {
    let (width, height) = page.render_dimensions();
    let (width, height) = (f64::from(width), f64::from(height));
    let to_page = Affine::new(page.initial_transform(true).as_coeffs());
    let mut context = Context::new(
        Affine::IDENTITY,
        kurbo::Rect::new(0.0, 0.0, width, height),
        cache,
        pdf.xref(),
        settings.clone(),
    );
    let mut listener = Listener::new(page, to_page, (width, height), fonts);
    interpret_page(page, &mut context, &mut listener);

    let scanned = listener.image_share >= SCAN_SHARE;
    let glyphs = std::mem::take(&mut listener.glyphs);
    let mut pieces = group(glyphs, |hidden| match hidden {
        Hidden::No => true,
        Hidden::Mode => scanned,
        Hidden::Paint => false,
    });
    let values = super::fields::words(page, to_page);
    let has_values = !values.is_empty();
    pieces.extend(values);
    let normal = |rect: kurbo::Rect| {
        Rect::new(
            rect.x0 / width,
            rect.y0 / height,
            rect.x1 / width,
            rect.y1 / height,
        )
        .clipped()
    };
    let words: Vec<Word> = reading_order(&pieces)
        .into_iter()
        .filter_map(|(index, line)| {
            let piece = &pieces[index];
            Some(Word {
                text: piece.text.clone(),
                rect: normal(piece.rect)?,
                line,
                confidence: None,
                bold: piece.bold,
            })
        })
        .collect();
    let layer = if has_values {
        // what stands in the fields is drawn nowhere: OCR could not find it
        TextLayer::Enough
    } else {
        judge(&words, listener.drawings, options.min_text_words)
    };
    let rulings = listener
        .rulings
        .finish()
        .into_iter()
        .filter_map(normal)
        .collect();
    let (width, height) = super::size(page);
    PageText {
        words: PageWords {
            page: number,
            width,
            height,
            source: WordSource::PdfText,
            words,
            rulings,
        },
        layer,
    }
}

fn judge(words: &[Word], drawings: usize, min_text_words: u32) -> TextLayer {
    if words.is_empty() && drawings == 0 {
        return TextLayer::Blank;
    }
    if is_nonsense(words) {
        return TextLayer::Unreadable;
    }
    // where glyphs are all there is, OCR could only read them worse
    if words.len() < min_text_words as usize && drawings > 0 {
        return TextLayer::TooFew;
    }
    TextLayer::Enough
}

/// Mostly characters nobody can read, or one or two characters over and over.
fn is_nonsense(words: &[Word]) -> bool {
    let (mut all, mut unreadable) = (0_usize, 0_usize);
    let mut letters = std::collections::HashSet::new();
    let mut readable = 0_usize;
    for ch in words.iter().flat_map(|w| w.text.chars()) {
        all += 1;
        if is_unreadable(ch) {
            unreadable += 1;
        } else if ch.is_alphanumeric() {
            readable += 1;
            letters.insert(ch);
        }
    }
    all > 0 && (unreadable * 5 > all || (readable >= 24 && letters.len() <= 2))
}

fn is_unreadable(ch: char) -> bool {
    ch.is_control()
        || matches!(ch, '\u{fffd}' | '\u{e000}'..='\u{f8ff}' | '\u{f0000}'..='\u{10ffff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(texts: &[&str]) -> Vec<Word> {
        texts
            .iter()
            .map(|text| Word {
                text: (*text).to_owned(),
                rect: Rect::new(0.0, 0.0, 0.1, 0.1),
                line: 0,
                confidence: None,
                bold: false,
            })
            .collect()
    }

    #[test]
    fn a_page_says_whether_its_text_layer_is_enough() {
        let few = words(&["Page", "1"]);
        assert_eq!(judge(&few, 3, 5), TextLayer::TooFew);
        assert_eq!(judge(&few, 0, 5), TextLayer::Enough);
        assert_eq!(judge(&[], 0, 5), TextLayer::Blank);
        assert_eq!(judge(&[], 1, 5), TextLayer::TooFew);
        let many = words(&["a", "b", "c", "d", "e", "f"]);
        assert_eq!(judge(&many, 9, 5), TextLayer::Enough);
    }

    #[test]
    fn a_text_layer_of_replacement_characters_is_unreadable() {
        let bad = words(&["\u{fffd}\u{fffd}a", "\u{e001}\u{e002}", "ok", "x", "y", "z"]);
        assert_eq!(judge(&bad, 0, 5), TextLayer::Unreadable);
        let lies = words(&["XXXXXX", "XXXXXXXX", "XXXX", "XXXXXXXXXX", "XX", "X"]);
        assert_eq!(judge(&lies, 0, 5), TextLayer::Unreadable);
    }
}
