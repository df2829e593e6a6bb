//! From bytes to rows, pages, words and images.
//!
//! [`Reader`] is the port the rooms above use: load a file into rows, read the words of a page, draw a page,
//! slice pages. Every limit is a setting and every refusal an [`Error`] with a code.

mod error;
mod reader;

pub use error::{Error, Result};
pub use reader::{ImageFormat, ImageSize, PageImage, Reader, Row, Source};
