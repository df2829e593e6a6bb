//! Office documents to PDF by a converter outside: LibreOffice as a process, or a Gotenberg server.

mod gotenberg;
mod libreoffice;

use bytes::Bytes;
use flydocs_contract::ErrorCode;
use tokio_util::sync::CancellationToken;

use crate::{
    error::{Error, Result},
    options::{OfficeConverter, Options},
    sniff::Kind,
};

/// The document as a PDF.
pub(crate) async fn to_pdf(
    filename: &str,
    kind: Kind,
    content: &Bytes,
    options: &Options,
    cancel: &CancellationToken,
) -> Result<Bytes> {
    let convert = async {
        match options.office_converter {
            OfficeConverter::Libreoffice => libreoffice::convert(kind, content, options).await,
            OfficeConverter::Gotenberg => gotenberg::convert(kind, content, options).await,
            OfficeConverter::None => Err("no converter is configured".to_owned()),
        }
    };
    let allowed = std::time::Duration::from_secs(options.office_timeout_s);
    let outcome = tokio::select! {
        biased;
        () = cancel.cancelled() => return Err(Error::Cancelled),
        outcome = tokio::time::timeout(allowed, convert) => outcome,
    };
    let outcome = outcome.unwrap_or_else(|_| {
        Err(format!(
            "the converter took longer than {} s (FLYDOCS_OFFICE_TIMEOUT_S)",
            options.office_timeout_s
        ))
    });
    outcome.map_err(|why| {
        Error::refused(
            ErrorCode::OfficeConversionFailed,
            filename,
            format!("{filename} cannot be converted: {why}"),
        )
    })
}
