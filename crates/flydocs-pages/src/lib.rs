//! From bytes to rows, pages, words and images.
//!
//! [`Reader`] is the port the rooms above use: load a file into rows, read the words of a page, draw a page,
//! slice pages. [`Pages`] is the reader. Every limit is a setting and every refusal an [`Error`] with a code.

mod cache;
mod containers;
mod convert;
pub mod entries;
mod error;
pub mod inspect;
pub mod isolated;
mod laid_out;
mod load;
mod ocr;
mod office;
mod options;
mod pages;
mod pdf;
mod pool;
mod raster;
mod reader;
mod script;
mod sniff;
mod stop;
mod work;

pub use error::{Error, Result};
pub use options::{Isolation, Limit, OcrEngine, OfficeConverter, Options};
pub use pages::Pages;
pub use reader::{ImageFormat, ImageSize, PageImage, Reader, Row, Source};
