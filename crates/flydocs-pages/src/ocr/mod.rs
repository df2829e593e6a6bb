//! OCR: the words of a picture, by the tesseract program.

mod languages;
mod tesseract;
mod tsv;

pub(crate) use languages::languages;
pub(crate) use tesseract::{Fault, Tesseract};

use flydocs_contract::Word;

/// What OCR read on a picture; boxes are fractions of it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Reading {
    pub(crate) words: Vec<Word>,
}
