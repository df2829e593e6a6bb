//! The CPU work of reading as plain data: a task and a file go in, a reply and blobs come out. It runs on
//! the pool of this process or in a child process; a panic of a parser is the file's fault.

use std::{
    ops::RangeInclusive,
    panic::{AssertUnwindSafe, catch_unwind},
    time::Duration,
};

use bytes::Bytes;
use flydocs_contract::ErrorCode;
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use crate::{
    error::{Error, Result},
    laid_out,
    load::{self, RowFacts},
    office,
    options::Options,
    pdf::{self, PageText},
    raster::{self, Picture, Pixels},
    reader::{ImageFormat, ImageSize},
    sniff::{Found, Group, Kind, sniff},
};

/// What is to be done with a file.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) enum Task {
    /// Turn it into rows.
    Load { declared: Option<String> },
    /// Lay its text out as a PDF.
    LayOut,
    /// Count the pages of a PDF a converter made.
    Count,
    /// Read the text layer from this page on, for about so many milliseconds.
    Text { first: u32, ahead_ms: u64 },
    /// Draw a page for OCR.
    OcrPicture { page: u32 },
    /// Draw a page for a caller.
    Image {
        page: u32,
        size: ImageSize,
        format: ImageFormat,
    },
    /// Cut pages out.
    Slice { pages: RangeInclusive<u32> },
}

/// What came of it; blobs stand beside it, in order.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Reply {
    /// One blob for each row that is not the source itself.
    Rows(Vec<RowFacts>),
    Text(Vec<PageText>),
    /// One blob: the pixels.
    Picture {
        width: u32,
        height: u32,
    },
    /// One blob: the encoded image.
    Image {
        width: u32,
        height: u32,
    },
    /// One blob: the PDF.
    Pdf,
    Count(u32),
}

/// A file to work on.
#[derive(Debug, Clone)]
pub(crate) struct File {
    pub(crate) filename: String,
    /// Known for rows, not for a source.
    pub(crate) kind: Option<Kind>,
    /// Under which a child keeps the content between tasks.
    pub(crate) key: Option<String>,
    pub(crate) content: Bytes,
}

/// Does the task.
pub(crate) fn run(
    task: &Task,
    file: &File,
    options: &Options,
    cancel: &CancellationToken,
) -> Result<(Reply, Vec<Bytes>)> {
    catch_unwind(AssertUnwindSafe(|| perform(task, file, options, cancel)))
        .unwrap_or_else(|_| Err(broke(file)))
}

fn perform(
    task: &Task,
    file: &File,
    options: &Options,
    cancel: &CancellationToken,
) -> Result<(Reply, Vec<Bytes>)> {
    crate::stop::check(cancel)?;
    let name = &file.filename;
    match task {
        Task::Load { declared } => {
            let (rows, blobs) =
                load::load(name, &file.content, declared.as_deref(), options, cancel)?;
            Ok((Reply::Rows(rows), blobs))
        }
        Task::LayOut => {
            let kind = kind(file)?;
            let (bytes, _) = match kind.group() {
                Group::Text => laid_out::text_to_pdf(name, kind, &file.content, options)?,
                _ => office::text_to_pdf(name, kind, &file.content, options)?,
            };
            Ok((Reply::Pdf, vec![bytes]))
        }
        Task::Count => {
            let count = pdf::count_pages(name, &file.content, options)?;
            Ok((Reply::Count(count), Vec::new()))
        }
        Task::Text { first, ahead_ms } => {
            let ahead = Duration::from_millis(*ahead_ms);
            let pages = pdf::read_text(name, &file.content, *first, ahead, options, cancel)?;
            Ok((Reply::Text(pages), Vec::new()))
        }
        Task::OcrPicture { page } => {
            let picture = ocr_picture(file, *page, options)?;
            let (width, height) = (picture.width, picture.height);
            let Pixels::Grey(grey) = picture.pixels else {
                return Err(Error::internal("a picture for OCR is grey"));
            };
            Ok((Reply::Picture { width, height }, vec![grey.into()]))
        }
        Task::Image { page, size, format } => {
            let picture = draw(file, *page, *size, options)?;
            let bytes = picture.encode(*format)?;
            let (width, height) = (picture.width, picture.height);
            Ok((Reply::Image { width, height }, vec![bytes]))
        }
        Task::Slice { pages } => {
            let bytes = pdf::slice(name, &file.content, pages.clone())?;
            Ok((Reply::Pdf, vec![bytes]))
        }
    }
}

/// Widest picture given to OCR: more pixels cost time and read no better.
const OCR_MAX_SIDE: u32 = 5000;
/// Smaller images (a small photo of a receipt) are enlarged to this before OCR, their long side.
const OCR_LONG_SIDE: u32 = 2600;
/// Never more than so many times: there is no more in the pixels.
const OCR_MOST_ENLARGED: f64 = 2.2;
/// Nobody writes on an image smaller than this.
const OCR_NO_TEXT: u32 = 64;

fn ocr_picture(file: &File, page: u32, options: &Options) -> Result<Picture> {
    let picture = match kind(file)? {
        Kind::Pdf => {
            let dpi = f64::from(options.ocr_dpi);
            let size = pdf::ocr_size(&file.filename, &file.content, page, dpi, OCR_MAX_SIDE)?;
            pdf::render(&file.filename, &file.content, page, size, options)?
        }
        image => {
            let picture = raster::decode(&file.filename, &file.content, image, page, options)?;
            let longest = picture.width.max(picture.height);
            let picture = picture.into_grey();
            if longest > OCR_MAX_SIDE {
                let width = u64::from(picture.width) * u64::from(OCR_MAX_SIDE) / u64::from(longest);
                return Ok(picture.scaled_to_width((width as u32).max(1)));
            }
            let larger = (f64::from(OCR_LONG_SIDE) / f64::from(longest)).min(OCR_MOST_ENLARGED);
            if larger < 1.1 || longest <= OCR_NO_TEXT {
                return Ok(picture);
            }
            let width = (f64::from(picture.width) * larger).round() as u32;
            return Ok(picture.enlarged_to_width(width.max(1)));
        }
    };
    Ok(picture.into_grey())
}

fn draw(file: &File, page: u32, size: ImageSize, options: &Options) -> Result<Picture> {
    match kind(file)? {
        Kind::Pdf => pdf::render(&file.filename, &file.content, page, size, options),
        image => {
            let picture = raster::decode(&file.filename, &file.content, image, page, options)?;
            let width = match size {
                ImageSize::Dpi(_) => return Ok(picture),
                ImageSize::Width(width) => width.max(1),
            };
            let height = u64::from(width) * u64::from(picture.height) / u64::from(picture.width);
            if u64::from(width) * height > options.max_page_pixels {
                return Err(Error::limit(
                    &file.filename,
                    crate::options::Limit::PagePixels,
                    options.max_page_pixels,
                    u64::from(width) * height,
                ));
            }
            Ok(picture.scaled_to_width(width))
        }
    }
}

fn kind(file: &File) -> Result<Kind> {
    file.kind
        .ok_or_else(|| Error::internal("a page of a file that was not loaded was asked for"))
}

/// A parser gave up in a way it should not: the file is not readable here.
pub(crate) fn broke(file: &File) -> Error {
    let kind = file
        .kind
        .or_else(|| match sniff(&file.content, &file.filename, None) {
            Found::Kind(kind) => Some(kind),
            Found::Other(_) | Found::Encrypted => None,
        });
    let code = match kind.map(Kind::group) {
        Some(Group::Pdf) => ErrorCode::CorruptPdf,
        Some(Group::Image) => ErrorCode::ImageConversionFailed,
        Some(Group::Office) => ErrorCode::OfficeConversionFailed,
        Some(Group::Container) => ErrorCode::ArchiveExtractionFailed,
        Some(Group::Text) | None => ErrorCode::UnsupportedFile,
    };
    let name = &file.filename;
    Error::refused(
        code,
        name,
        format!("{name} is damaged in a way its reader cannot cope with"),
    )
}
