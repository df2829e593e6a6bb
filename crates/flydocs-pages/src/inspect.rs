//! What a file looks like to this room: rows, pages, words, sources, timings; and a page with its boxes drawn.

use std::time::Instant;

use flydocs_contract::{Rect, WordSource};
use serde::Serialize;
use tokio_util::sync::CancellationToken;

use crate::{
    error::{Error, Result},
    raster::{Picture, Pixels},
    reader::{ImageFormat, ImageSize, PageImage, Reader, Row, Source},
};

/// A file as it is read.
#[derive(Debug, Clone, Serialize)]
pub struct Inspection {
    /// Its name.
    pub filename: String,
    /// How long it took to load, in milliseconds.
    pub load_ms: f64,
    /// Its rows.
    pub rows: Vec<InspectedRow>,
}

/// A row and its pages.
#[derive(Debug, Clone, Serialize)]
pub struct InspectedRow {
    /// Its name, or its path in its container.
    pub filename: String,
    /// What it was sniffed to be.
    pub media_type: String,
    /// How many pages it has.
    pub page_count: u32,
    /// Its size.
    pub bytes: u64,
    /// SHA-256 of its content.
    pub sha256: String,
    /// What is worth saying although it was read.
    pub warnings: Vec<String>,
    /// Its pages, those that were asked for.
    pub pages: Vec<InspectedPage>,
    /// The row itself, for [`boxes`].
    #[serde(skip)]
    pub row: Row,
}

/// A page.
#[derive(Debug, Clone, Serialize)]
pub struct InspectedPage {
    /// Its number, from 1.
    pub page: u32,
    /// Width of the upright page, in points or pixels.
    pub width: f64,
    /// Height of it.
    pub height: f64,
    /// Where the words come from; none when they could not be read.
    pub source: Option<WordSource>,
    /// How many words it has.
    pub words: usize,
    /// How many lines they stand on.
    pub lines: u32,
    /// How many rulings and boxes are drawn.
    pub rulings: usize,
    /// Its words as text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// How long reading it took, in milliseconds.
    pub read_ms: f64,
    /// Why it could not be read.
    pub error: Option<Error>,
}

/// What to look at.
#[derive(Debug, Clone, Default)]
pub struct Look {
    /// At most so many pages a row; none means all.
    pub max_pages: Option<u32>,
    /// A language hint for OCR.
    pub language: Option<String>,
    /// Report the words as text, too.
    pub with_text: bool,
}

/// Loads a file and reads its pages. A page that cannot be read says why; the others are read.
pub async fn inspect(
    reader: &dyn Reader,
    source: Source,
    look: &Look,
    cancel: &CancellationToken,
) -> Result<Inspection> {
    let filename = source.filename.clone();
    let began = Instant::now();
    let loaded = reader.load(source, cancel).await?;
    let load_ms = milliseconds(began);
    let mut rows = Vec::with_capacity(loaded.len());
    for row in loaded {
        let last = look
            .max_pages
            .map_or(row.page_count, |most| most.min(row.page_count));
        let mut pages = Vec::new();
        for page in 1..=last {
            pages.push(look_at(reader, &row, page, look, cancel).await?);
        }
        rows.push(InspectedRow {
            filename: row.filename.clone(),
            media_type: row.media_type.clone(),
            page_count: row.page_count,
            bytes: row.bytes,
            sha256: row.sha256.clone(),
            warnings: row.warnings.clone(),
            pages,
            row,
        });
    }
    Ok(Inspection {
        filename,
        load_ms,
        rows,
    })
}

async fn look_at(
    reader: &dyn Reader,
    row: &Row,
    page: u32,
    look: &Look,
    cancel: &CancellationToken,
) -> Result<InspectedPage> {
    let began = Instant::now();
    let outcome = reader
        .words(row, page, look.language.as_deref(), cancel)
        .await;
    let read_ms = milliseconds(began);
    match outcome {
        Err(Error::Cancelled) => Err(Error::Cancelled),
        Err(error) => Ok(InspectedPage {
            page,
            width: 0.0,
            height: 0.0,
            source: None,
            words: 0,
            lines: 0,
            rulings: 0,
            text: None,
            read_ms,
            error: Some(error),
        }),
        Ok(words) => Ok(InspectedPage {
            page,
            width: words.width,
            height: words.height,
            source: Some(words.source),
            words: words.words.len(),
            lines: words.words.last().map_or(0, |w| w.line + 1),
            rulings: words.rulings.len(),
            text: look.with_text.then(|| words.text()),
            read_ms,
            error: None,
        }),
    }
}

fn milliseconds(since: Instant) -> f64 {
    (since.elapsed().as_secs_f64() * 100_000.0).round() / 100.0
}

const TEXT: [u8; 3] = [0, 150, 60];
const BOLD: [u8; 3] = [200, 0, 120];
const OCR: [u8; 3] = [230, 90, 0];
const RULING: [u8; 3] = [40, 90, 255];

/// A page as PNG with the boxes of its words drawn: green from the text layer, magenta where bold, orange from
/// OCR; rulings blue.
pub async fn boxes(
    reader: &dyn Reader,
    row: &Row,
    page: u32,
    size: ImageSize,
    language: Option<&str>,
    cancel: &CancellationToken,
) -> Result<PageImage> {
    let words = reader.words(row, page, language, cancel).await?;
    let image = reader
        .image(row, page, size, ImageFormat::Png, cancel)
        .await?;
    let mut canvas = image::load_from_memory_with_format(&image.bytes, image::ImageFormat::Png)
        .map_err(|e| Error::internal(format!("a page image cannot be read back: {e}")))?
        .into_rgb8();
    for ruling in &words.rulings {
        outline(&mut canvas, ruling, RULING);
    }
    for word in &words.words {
        let color = match (words.source, word.bold) {
            (WordSource::Ocr, _) => OCR,
            (WordSource::PdfText, true) => BOLD,
            (WordSource::PdfText, false) => TEXT,
        };
        outline(&mut canvas, &word.rect, color);
    }
    let (width, height) = canvas.dimensions();
    let picture = Picture {
        width,
        height,
        pixels: Pixels::Rgb(canvas.into_raw()),
    };
    Ok(PageImage {
        bytes: picture.encode(ImageFormat::Png)?,
        width,
        height,
    })
}

fn outline(canvas: &mut image::RgbImage, rect: &Rect, color: [u8; 3]) {
    let (width, height) = canvas.dimensions();
    if width == 0 || height == 0 {
        return;
    }
    let x = |v: f64| ((v * f64::from(width)) as u32).min(width - 1);
    let y = |v: f64| ((v * f64::from(height)) as u32).min(height - 1);
    let (left, right, top, bottom) = (x(rect.xmin), x(rect.xmax), y(rect.ymin), y(rect.ymax));
    for at in left..=right {
        canvas.put_pixel(at, top, image::Rgb(color));
        canvas.put_pixel(at, bottom, image::Rgb(color));
    }
    for at in top..=bottom {
        canvas.put_pixel(left, at, image::Rgb(color));
        canvas.put_pixel(right, at, image::Rgb(color));
    }
}
