//! From words with boxes to rows and runs: the page as a reader's eye takes it in.

mod cell;
mod document;
mod rows;
mod span;
mod widths;

pub(crate) use cell::CheckBox;
pub(crate) use document::{Document, Token};
pub(crate) use span::Span;
