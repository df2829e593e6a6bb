//! Small pages laid out from text: one line of text a line, columns at two or more spaces.

use std::sync::Arc;

use flydocs_contract::{
    BoundingBox, BoxSource, ExtractedField, FieldValue, PageWords, Rect, Word, WordSource,
    result::ExtractedFieldGroup,
};

const CHARACTER: f64 = 0.01;
const LINE: f64 = 0.025;
const HEIGHT: f64 = 0.015;

/// A page in a fixed pitch: the column of a word is its column in the text.
pub(crate) fn page(number: u32, text: &str) -> PageWords {
    let mut words = Vec::new();
    for (line, content) in text.lines().enumerate() {
        let mut start = None;
        let mut columns = content.chars().chain([' ']).enumerate();
        let mut word = String::new();
        for (column, c) in columns.by_ref() {
            if c.is_whitespace() {
                if let Some(from) = start.take() {
                    words.push(put(&std::mem::take(&mut word), line, from, column));
                }
            } else {
                start.get_or_insert(column);
                word.push(c);
            }
        }
    }
    PageWords {
        page: number,
        width: 600.0,
        height: 800.0,
        source: WordSource::PdfText,
        words,
        rulings: Vec::new(),
    }
}

fn put(text: &str, line: usize, from: usize, to: usize) -> Word {
    let top = 0.02 + line as f64 * LINE;
    Word {
        text: text.to_owned(),
        rect: Rect::new(
            0.02 + from as f64 * CHARACTER,
            top,
            0.02 + to as f64 * CHARACTER,
            top + HEIGHT,
        ),
        line: line as u32,
        confidence: None,
        bold: false,
    }
}

/// The words of a page by themselves.
pub(crate) fn texts(page: &PageWords, words: &std::ops::RangeInclusive<usize>) -> Vec<String> {
    page.words[words.clone()]
        .iter()
        .map(|word| word.text.clone())
        .collect()
}

pub(crate) fn shared(pages: Vec<PageWords>) -> Vec<Arc<PageWords>> {
    pages.into_iter().map(Arc::new).collect()
}

pub(crate) fn text(value: &str) -> FieldValue {
    FieldValue::String(value.to_owned())
}

/// A leaf as an engine gives it: a rough box of its own.
pub(crate) fn leaf(name: &str, value: FieldValue, pages: &[u32]) -> ExtractedField {
    ExtractedField {
        value: Some(value),
        pages: pages.to_vec(),
        confidence: 0.9,
        bbox: Some(BoundingBox::unjudged(
            Rect::new(0.4, 0.4, 0.6, 0.6),
            BoxSource::Llm,
            None,
        )),
        ..ExtractedField::empty(name)
    }
}

pub(crate) fn container(name: &str, members: Vec<ExtractedField>) -> ExtractedField {
    ExtractedField {
        value: Some(FieldValue::Fields(members)),
        ..ExtractedField::empty(name)
    }
}

pub(crate) fn group(fields: Vec<ExtractedField>) -> Vec<ExtractedFieldGroup> {
    vec![ExtractedFieldGroup {
        name: "main".to_owned(),
        fields,
    }]
}
