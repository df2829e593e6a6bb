//! OCR: the words of a picture, by the tesseract program.

mod cleaned;
mod languages;
mod merged;
mod tesseract;
mod tsv;
mod upright;

pub(crate) use cleaned::cleaned;
pub(crate) use languages::languages;
pub(crate) use merged::merged;
pub(crate) use tesseract::{Fault, Layout, Tesseract};

pub(crate) use upright::{Turn, back, skew, turned};

use flydocs_contract::Word;

/// What OCR read on a picture; boxes are fractions of it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Reading {
    pub(crate) words: Vec<Word>,
}

/// Fewer words than this on a page, or less confidence, and it may lie the wrong way.
const GOOD_WORDS: usize = 5;
const GOOD_CONFIDENCE: f32 = 0.6;

/// Fewer words than this, or characters less sure on average, and another reading may know better.
const MANY_WORDS: usize = 15;
const SURE: f32 = 0.87;

impl Reading {
    fn confidence(&self) -> f32 {
        let sum: f32 = self.words.iter().filter_map(|w| w.confidence).sum();
        sum / self.words.len().max(1) as f32
    }

    /// Worth another try with the picture turned.
    pub(crate) fn is_poor(&self) -> bool {
        self.words.len() < GOOD_WORDS || self.confidence() < GOOD_CONFIDENCE
    }

    /// Worth another reading with the page taken for one block of lines.
    pub(crate) fn is_unsure(&self) -> bool {
        let length = |w: &Word| w.text.chars().count() as f32;
        let sure: f32 = self
            .words
            .iter()
            .map(|w| length(w) * w.confidence.unwrap_or(0.0))
            .sum();
        self.words.len() < MANY_WORDS || sure < SURE * self.words.iter().map(length).sum::<f32>()
    }

    /// More characters read with more confidence is better.
    pub(crate) fn score(&self) -> f32 {
        self.words
            .iter()
            .map(|w| {
                w.text.chars().filter(|c| c.is_alphanumeric()).count() as f32
                    * w.confidence.unwrap_or(0.0).powi(2)
            })
            .sum()
    }
}
