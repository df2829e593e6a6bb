//! Documents that are text get pages: blocks are set in a fixed-width face and written as a PDF, so that
//! their words have boxes and their pages can be drawn like any other.

mod blocks;
mod csv;
mod html;
mod set;
mod write;

pub(crate) use write::{assemble, stream};

use bytes::Bytes;
use flydocs_contract::ErrorCode;

pub(crate) use blocks::{Block, Blocks};
pub(crate) use html::html_to_text;

use crate::{
    error::{Error, Result},
    options::Options,
    sniff::{Kind, decode_text},
};

/// A PDF of a text, Markdown, CSV or HTML.
pub(crate) fn text_to_pdf(
    filename: &str,
    kind: Kind,
    content: &Bytes,
    options: &Options,
) -> Result<(Bytes, u32)> {
    let text = decode_text(content).ok_or_else(|| {
        Error::unsupported(filename, "of an unknown binary kind", "which is not read")
    })?;
    let blocks = match kind {
        Kind::Csv => csv::blocks(&text),
        Kind::Html => Blocks::of_text(&html_to_text(text.as_bytes(), set::COLUMNS)),
        Kind::Markdown => Blocks::of_markdown(&text),
        _ => Blocks::of_text(&text),
    };
    to_pdf(filename, &blocks, options)
}

/// A PDF of blocks and the number of its pages.
pub(crate) fn to_pdf(filename: &str, blocks: &Blocks, options: &Options) -> Result<(Bytes, u32)> {
    if blocks.is_blank() {
        return Err(Error::refused(
            ErrorCode::EmptyFile,
            filename,
            format!("{filename} has no text"),
        ));
    }
    let pages = set::pages(filename, blocks, options)?;
    let count = pages.len() as u32;
    Ok((write::pdf(&pages).into(), count))
}
