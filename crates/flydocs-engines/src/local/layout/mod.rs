//! From words with boxes to lines, runs and blocks: the page as a reader's eye takes it in.

mod blocks;
mod document;
mod rows;
mod span;

pub(crate) use blocks::{Block, blocks_of};
pub(crate) use document::{Document, Page, Row, Run, Token};
pub(crate) use span::Span;
