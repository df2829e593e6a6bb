//! A PDF of some pages of a PDF.

use std::ops::RangeInclusive;

use bytes::Bytes;
use lopdf::Document;

use crate::error::{Error, Result};

/// Keeps pages `pages` (from 1); what is left is decrypted and packed.
pub(crate) fn slice(filename: &str, content: &Bytes, pages: RangeInclusive<u32>) -> Result<Bytes> {
    // hayro decides first whether the file can be read and how many pages it has
    let pdf = super::open(filename, content)?;
    super::page(filename, &pdf, *pages.start())?;
    super::page(filename, &pdf, *pages.end())?;
    if pages.is_empty() {
        return Err(Error::NoSuchPage {
            filename: filename.to_owned(),
            pages: pdf.pages().len() as u32,
            page: *pages.start(),
        });
    }
    drop(pdf);
    let failed = |why: lopdf::Error| super::corrupt(filename, &format!("it cannot be cut: {why}"));
    let mut document = Document::load_mem(content).map_err(failed)?;
    if document.is_encrypted() {
        document.decrypt("").map_err(failed)?;
    }
    let unwanted: Vec<u32> = document
        .get_pages()
        .into_keys()
        .filter(|page| !pages.contains(page))
        .collect();
    document.delete_pages(&unwanted);
    let kept = document.get_pages().len() as u32;
    if kept != pages.end() - pages.start() + 1 {
        return Err(super::corrupt(filename, "its pages cannot be told apart"));
    }
    document.prune_objects();
    document.renumber_objects();
    document.compress();
    let mut out = Vec::new();
    document
        .save_to(&mut out)
        .map_err(|e| Error::internal(format!("a slice cannot be written: {e}")))?;
    Ok(out.into())
}
