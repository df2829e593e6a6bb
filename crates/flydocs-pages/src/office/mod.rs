//! Office documents without a converter: their text and tables, laid out. Nothing is fetched, no macro runs.

mod ooxml;
mod opendocument;
mod rtf;
mod sheets;
mod unpack;
mod xml;

use bytes::Bytes;
use flydocs_contract::ErrorCode;

use crate::{
    containers::Budget,
    error::{Error, Result},
    laid_out::{self, Blocks},
    options::Options,
    sniff::Kind,
};

/// Said of every document read this way.
pub(crate) const WARNING: &str = "no office converter is configured: text and tables were read, the layout is not the document's own \
     (FLYDOCS_OFFICE_CONVERTER)";

/// A PDF of the text of an office document.
pub(crate) fn text_to_pdf(
    filename: &str,
    kind: Kind,
    content: &Bytes,
    options: &Options,
) -> Result<(Bytes, u32)> {
    let mut budget = Budget::new(options);
    let blocks = blocks(filename, kind, content, &mut budget)?;
    laid_out::to_pdf(filename, &blocks, options)
}

fn blocks(filename: &str, kind: Kind, content: &Bytes, budget: &mut Budget) -> Result<Blocks> {
    match kind {
        Kind::Docx => ooxml::docx(filename, content, budget),
        Kind::Pptx => ooxml::pptx(filename, content, budget),
        Kind::Odt | Kind::Odp | Kind::Ods => opendocument::read(filename, content, budget),
        Kind::Xlsx | Kind::Xls => sheets::read(filename, kind, content, budget),
        Kind::Rtf => rtf::read(filename, content),
        other => Err(Error::unsupported(
            filename,
            other.noun(),
            "which is only read through a converter (FLYDOCS_OFFICE_CONVERTER)",
        )),
    }
}

fn failed(filename: &str, why: impl std::fmt::Display) -> Error {
    Error::refused(
        ErrorCode::OfficeConversionFailed,
        filename,
        format!("{filename} cannot be read: {why}"),
    )
}
