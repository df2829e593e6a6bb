//! OCR: the words of a picture, by the tesseract program.

mod languages;
mod tesseract;
mod tsv;
mod upright;

pub(crate) use languages::languages;
pub(crate) use tesseract::{Fault, Tesseract};

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

impl Reading {
    fn confidence(&self) -> f32 {
        let sum: f32 = self.words.iter().filter_map(|w| w.confidence).sum();
        sum / self.words.len().max(1) as f32
    }

    /// Worth another try with the picture turned.
    pub(crate) fn is_poor(&self) -> bool {
        self.words.len() < GOOD_WORDS || self.confidence() < GOOD_CONFIDENCE
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
