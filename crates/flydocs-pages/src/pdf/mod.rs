//! PDF: opening, pages, words of the text layer, drawing and slicing.
//!
//! hayro parses and draws (it repairs damaged files and opens empty passwords), lopdf slices. Words are ours:
//! [`glyphs`] listens to the drawing, [`words`] groups, [`order`] reads.

use std::sync::Arc;

use bytes::Bytes;
use flydocs_contract::ErrorCode;
use hayro_syntax::{
    DecryptionError, LoadPdfError, Pdf,
    object::{Array, Dict, Number},
    page::Page,
};

use crate::{
    error::{Error, Result},
    options::{Limit, Options},
};

mod collections;
mod completed;
mod fields;
mod glyphs;
mod installed;
mod order;
mod render;
mod rulings;
mod slice;
mod text;
mod weight;
mod words;

pub(crate) use render::{ocr_size, render};
pub(crate) use slice::slice;
pub(crate) use text::{PageText, TextLayer, read_text};

/// Opens a PDF; an empty user password is tried, damage is repaired.
pub(crate) fn open(filename: &str, content: &Bytes) -> Result<Pdf> {
    Pdf::new(Arc::new(content.clone())).map_err(|why| match why {
        LoadPdfError::Decryption(DecryptionError::PasswordProtected) => Error::refused(
            ErrorCode::EncryptedPdf,
            filename,
            format!("{filename} opens only with a password: send it without one"),
        ),
        LoadPdfError::Decryption(_) => Error::refused(
            ErrorCode::EncryptedPdf,
            filename,
            format!("{filename} is encrypted in a way that cannot be opened: send it unencrypted"),
        ),
        LoadPdfError::Invalid => corrupt(filename, "it cannot be read, nor repaired"),
    })
}

/// Opens a PDF and holds it against the limits; the number of its pages.
pub(crate) fn count_pages(filename: &str, content: &Bytes, options: &Options) -> Result<u32> {
    let pdf = open(filename, content)?;
    let pages = pdf.pages();
    let count = u32::try_from(pages.len()).unwrap_or(u32::MAX);
    if count == 0 {
        if names_no_page(&pdf) {
            return Err(Error::refused(
                ErrorCode::EmptyFile,
                filename,
                format!("{filename} has no pages: export or print it again"),
            ));
        }
        return Err(corrupt(filename, "none of its pages can be found"));
    }
    if count > options.max_pages {
        return Err(Error::limit(
            filename,
            Limit::Pages,
            u64::from(options.max_pages),
            u64::from(count),
        ));
    }
    for page in pages.iter() {
        let (width, height) = size(page);
        let pixels = pixels(width, height);
        if pixels > options.max_page_pixels {
            return Err(Error::limit(
                filename,
                Limit::PagePixels,
                options.max_page_pixels,
                pixels,
            ));
        }
    }
    Ok(count)
}

/// An intact page tree that says itself that there is nothing in it.
fn names_no_page(pdf: &Pdf) -> bool {
    let xref = pdf.xref();
    let tree = xref
        .get::<Dict<'_>>(xref.root_id())
        .and_then(|root| root.get::<Dict<'_>>("Pages"));
    tree.and_then(|tree| tree.get::<Array<'_>>("Kids"))
        .is_some_and(|kids| kids.raw_iter().next().is_none())
}

/// Width and height of the upright page in points, user unit applied.
pub(crate) fn size(page: &Page<'_>) -> (f64, f64) {
    let (width, height) = page.render_dimensions();
    let unit = user_unit(page);
    (f64::from(width) * unit, f64::from(height) * unit)
}

fn user_unit(page: &Page<'_>) -> f64 {
    page.raw()
        .get::<Number>("UserUnit")
        .map_or(1.0, |n| n.as_f64())
        .clamp(0.01, 10_000.0)
}

fn pixels(width: f64, height: f64) -> u64 {
    (width.ceil() * height.ceil()) as u64
}

pub(crate) fn corrupt(filename: &str, why: &str) -> Error {
    Error::refused(
        ErrorCode::CorruptPdf,
        filename,
        format!(
            "{filename} is no readable PDF: {why}; fetch it again, or print it from a viewer that opens it to a new PDF"
        ),
    )
}

/// The page, counted from 1.
pub(crate) fn page<'a>(filename: &str, pdf: &'a Pdf, number: u32) -> Result<&'a Page<'a>> {
    let pages = pdf.pages();
    (number as usize)
        .checked_sub(1)
        .and_then(|at| pages.get(at))
        .ok_or_else(|| Error::NoSuchPage {
            filename: filename.to_owned(),
            pages: u32::try_from(pages.len()).unwrap_or(u32::MAX),
            page: number,
        })
}
