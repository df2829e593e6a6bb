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
use sha2::{Digest, Sha256};
use tokio_util::sync::CancellationToken;

use crate::{
    error::{Error, Result},
    options::Options,
    pdf::{self, PageText},
    raster::{self, Picture, Pixels},
    reader::{ImageFormat, ImageSize},
    sniff::{Kind, sniff},
};

/// What is to be done with a file.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) enum Task {
    /// Turn it into rows.
    Load,
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
    /// One blob a row.
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
    Slice,
}

/// A row before its content is put to it.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct RowFacts {
    pub(crate) filename: String,
    pub(crate) kind: Kind,
    pub(crate) page_count: u32,
    pub(crate) sha256: String,
    pub(crate) warnings: Vec<String>,
}

/// A file to work on.
#[derive(Debug, Clone)]
pub(crate) struct File {
    pub(crate) filename: String,
    /// Known for rows, not for a source.
    pub(crate) kind: Option<Kind>,
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
        Task::Load => load(file, options),
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
            Ok((Reply::Slice, vec![bytes]))
        }
    }
}

fn load(file: &File, options: &Options) -> Result<(Reply, Vec<Bytes>)> {
    let name = &file.filename;
    let size = file.content.len() as u64;
    if size == 0 {
        return Err(Error::refused(
            ErrorCode::EmptyFile,
            name,
            format!("{name} has no bytes"),
        ));
    }
    if size > options.max_bytes {
        return Err(Error::too_large(name, options.max_bytes, size));
    }
    let Some(kind) = sniff(&file.content) else {
        return Err(Error::unsupported(
            name,
            "of an unknown kind",
            "which is not read",
        ));
    };
    let page_count = match kind {
        Kind::Pdf => pdf::count_pages(name, &file.content, options)?,
        image => {
            raster::dimensions(name, &file.content, image, options)?;
            1
        }
    };
    let facts = RowFacts {
        filename: name.clone(),
        kind,
        page_count,
        sha256: hex::encode(Sha256::digest(&file.content)),
        warnings: Vec::new(),
    };
    Ok((Reply::Rows(vec![facts]), vec![file.content.clone()]))
}

/// Widest picture given to OCR: more pixels cost time and read no better.
const OCR_MAX_SIDE: u32 = 5000;
/// Narrower images (a small photo of a receipt) are enlarged before OCR.
const OCR_MIN_WIDTH: u32 = 1000;

fn ocr_picture(file: &File, page: u32, options: &Options) -> Result<Picture> {
    let picture = match kind(file)? {
        Kind::Pdf => {
            let dpi = f64::from(options.ocr_dpi);
            let size = pdf::ocr_size(&file.filename, &file.content, page, dpi, OCR_MAX_SIDE)?;
            pdf::render(&file.filename, &file.content, page, size, options)?
        }
        image => {
            only_page(file, page)?;
            let picture = raster::decode(&file.filename, &file.content, image, options)?;
            let longest = picture.width.max(picture.height);
            let width = if longest > OCR_MAX_SIDE {
                (u64::from(picture.width) * u64::from(OCR_MAX_SIDE) / u64::from(longest)) as u32
            } else if picture.width < OCR_MIN_WIDTH && longest < 2 * OCR_MIN_WIDTH && longest > 64 {
                picture.width * 2
            } else {
                picture.width
            };
            return Ok(picture.into_grey().scaled_to_width(width.max(1)));
        }
    };
    Ok(picture.into_grey())
}

fn draw(file: &File, page: u32, size: ImageSize, options: &Options) -> Result<Picture> {
    match kind(file)? {
        Kind::Pdf => pdf::render(&file.filename, &file.content, page, size, options),
        image => {
            only_page(file, page)?;
            let picture = raster::decode(&file.filename, &file.content, image, options)?;
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

fn only_page(file: &File, page: u32) -> Result<()> {
    if page == 1 {
        return Ok(());
    }
    Err(Error::NoSuchPage {
        filename: file.filename.clone(),
        pages: 1,
        page,
    })
}

/// A parser gave up in a way it should not: the file is not readable here.
fn broke(file: &File) -> Error {
    let kind = file.kind.or_else(|| sniff(&file.content));
    let code = match kind {
        None | Some(Kind::Pdf) => ErrorCode::CorruptPdf,
        Some(_) => ErrorCode::ImageConversionFailed,
    };
    let name = &file.filename;
    Error::refused(
        code,
        name,
        format!("{name} is damaged in a way its reader cannot cope with"),
    )
}
