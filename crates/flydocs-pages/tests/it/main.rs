//! Reading real bytes: every document is made by the tests.
#![expect(
    clippy::expect_used,
    clippy::panic,
    reason = "a test says what it expected"
)]

mod anything;
mod containers;
mod images;
mod isolation;
mod limits;
mod made;
mod ocr;
mod pdf_pages;
mod pdf_words;
mod scripts;
mod texts;
mod together;
