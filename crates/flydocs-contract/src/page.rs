//! Pages as every room above sees them: words with boxes, in reading order.

use serde::{Deserialize, Serialize};

use crate::geometry::{BoxSource, Rect};

/// Where the words of a page come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WordSource {
    /// The text layer of a PDF, or the text of a document that is text.
    PdfText,
    /// Recognised on the image of the page.
    Ocr,
}

impl From<WordSource> for BoxSource {
    fn from(source: WordSource) -> Self {
        match source {
            WordSource::PdfText => Self::PdfText,
            WordSource::Ocr => Self::Ocr,
        }
    }
}

/// One word with the box that surrounds it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Word {
    /// The word as printed, no white space.
    pub text: String,
    /// Its box on the upright page.
    pub rect: Rect,
    /// The line of the page it stands on, counted from 0 in reading order.
    pub line: u32,
    /// The recogniser's confidence 0 to 1; `None` for a text layer.
    pub confidence: Option<f32>,
    /// True when the text layer names a bold face.
    pub bold: bool,
}

/// All words of one page, in reading order.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PageWords {
    /// The page in its file, from 1.
    pub page: u32,
    /// Width of the upright page in points (1/72 inch), or in pixels of an image.
    pub width: f64,
    /// Height of the upright page, same unit.
    pub height: f64,
    /// Where the words come from.
    pub source: WordSource,
    /// The words in reading order.
    pub words: Vec<Word>,
    /// Thin drawn lines and outlines of boxes (tables, forms, check boxes), when the page says so.
    pub rulings: Vec<Rect>,
}

impl PageWords {
    /// The words as text: one space between words, a line break between lines.
    pub fn text(&self) -> String {
        let mut text = String::new();
        let mut line = None;
        for word in &self.words {
            match line {
                None => {}
                Some(l) if l == word.line => text.push(' '),
                Some(_) => text.push('\n'),
            }
            text.push_str(&word.text);
            line = Some(word.line);
        }
        text
    }
}
