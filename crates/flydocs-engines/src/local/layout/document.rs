//! The document the reader works on: tokens in reading order, rows, and runs of words that belong together.

use std::{ops::Range, sync::Arc};

use flydocs_contract::{PageWords, Rect, WordSource};

use super::rows::build_page;
use crate::local::{
    recognise::put_right,
    text::{Piece, pieces_of},
};

/// A word. Its box is in the unit of the page, so that distances mean the same in both directions.
#[derive(Debug, Clone)]
pub(crate) struct Token {
    /// As printed.
    pub text: String,
    /// Its letters and digits.
    pub pieces: Vec<Piece>,
    /// Its box in page units.
    pub rect: Rect,
    /// Index of its page.
    pub page: usize,
    /// Index of its row.
    pub row: usize,
    /// Index of its run.
    pub run: usize,
    /// A bold face.
    pub bold: bool,
    /// The recogniser's confidence.
    pub confidence: Option<f32>,
}

/// Words on one base line, across the whole page.
#[derive(Debug, Clone)]
pub(crate) struct Row {
    /// Index of its page.
    pub page: usize,
    /// Its tokens.
    pub tokens: Range<usize>,
    /// Its runs.
    pub runs: Range<usize>,
    /// Around its tokens.
    pub rect: Rect,
}

/// Words of a row with ordinary gaps between them: a cell, a label with its value, a line of prose.
#[derive(Debug, Clone)]
pub(crate) struct Run {
    /// Index of its row.
    pub row: usize,
    /// Its tokens.
    pub tokens: Range<usize>,
    /// Around its tokens.
    pub rect: Rect,
}

/// One page.
#[derive(Debug, Clone)]
pub(crate) struct Page {
    /// The number in the file, from 1.
    pub number: u32,
    /// Width in page units.
    pub width: f64,
    /// Height in page units.
    pub height: f64,
    /// Where the words come from.
    pub source: WordSource,
    /// The usual height of a word: the unit of every distance.
    pub em: f64,
    /// Its rows.
    pub rows: Range<usize>,
    /// Drawn lines and outlines, in page units.
    pub rulings: Vec<Rect>,
}

/// All pages of one document.
#[derive(Debug, Clone, Default)]
pub(crate) struct Document {
    pub pages: Vec<Page>,
    pub tokens: Vec<Token>,
    pub rows: Vec<Row>,
    pub runs: Vec<Run>,
}

impl Document {
    /// Lays out the pages.
    pub(crate) fn new(pages: &[Arc<PageWords>]) -> Self {
        let mut document = Self::default();
        for page in pages {
            build_page(&mut document, page);
        }
        document
    }

    /// The page of a token.
    pub(crate) fn page_of(&self, token: usize) -> &Page {
        &self.pages[self.tokens[token].page]
    }

    /// The unit of distances around a token.
    pub(crate) fn em(&self, token: usize) -> f64 {
        self.page_of(token).em
    }

    /// The text of some tokens, one space between words.
    pub(crate) fn text(&self, tokens: Range<usize>) -> String {
        let mut text = String::new();
        for token in &self.tokens[tokens] {
            if !text.is_empty() {
                text.push(' ');
            }
            text.push_str(&token.text);
        }
        text
    }

    /// Around some tokens; empty for none.
    pub(crate) fn rect(&self, tokens: Range<usize>) -> Rect {
        Rect::around(self.tokens[tokens].iter().map(|t| &t.rect)).unwrap_or_default()
    }

    /// A box in page units as fractions of its page.
    pub(crate) fn fraction(&self, page: usize, rect: &Rect) -> Rect {
        let page = &self.pages[page];
        Rect::new(
            rect.xmin / page.width,
            rect.ymin / page.height,
            rect.xmax / page.width,
            rect.ymax / page.height,
        )
    }

    /// The runs of the next rows of the page that stand under a box, nearest first.
    pub(crate) fn rows_below(&self, row: usize) -> impl Iterator<Item = usize> + '_ {
        let page = self.rows[row].page;
        (row + 1..self.pages[page].rows.end).filter(move |r| self.rows[*r].page == page)
    }

    /// Whether the words were recognised on an image.
    pub(crate) fn recognised(&self, page: usize) -> bool {
        self.pages[page].source == WordSource::Ocr
    }
}

/// A token from a word of a page; a word that a recogniser misread and that can mean one known word only is put
/// right.
pub(super) fn token(
    text: &str,
    rect: Rect,
    page: usize,
    bold: bool,
    confidence: Option<f32>,
) -> Token {
    let right = put_right(text, confidence);
    let text = right.as_deref().unwrap_or(text);
    Token {
        text: text.to_owned(),
        pieces: pieces_of(text),
        rect,
        page,
        row: 0,
        run: 0,
        bold,
        confidence,
    }
}
