//! The port of this room: what the pipeline, the bbox worker and the API ask of a reader.

use std::{fmt::Debug, ops::RangeInclusive, sync::Arc};

use async_trait::async_trait;
use bytes::Bytes;
use flydocs_contract::PageWords;
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use crate::error::Result;

/// A file as a caller sent it.
#[derive(Debug, Clone)]
pub struct Source {
    /// Its name.
    pub filename: String,
    /// Its bytes.
    pub content: Bytes,
    /// What the caller takes it for: a hint only, the content decides.
    pub declared_media_type: Option<String>,
}

/// One readable file: the source itself, or a member of an archive or mail.
#[derive(Debug, Clone)]
pub struct Row {
    /// Its name, or its path inside its container (`a.zip/b.pdf`).
    pub filename: String,
    /// What it was sniffed to be.
    pub media_type: String,
    /// How many pages it has, at least 1.
    pub page_count: u32,
    /// Size of its own content.
    pub bytes: u64,
    /// SHA-256 of its own content, lower-case hex.
    pub sha256: String,
    /// Its content, as sent (not as converted).
    pub content: Bytes,
    /// What is worth saying although it was read (a font missing, no converter configured, ...).
    pub warnings: Vec<String>,
}

/// How large a page is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub enum ImageSize {
    /// Dots per inch of a PDF page; an image keeps its own pixels.
    Dpi(f64),
    /// Pixels across; height follows.
    Width(u32),
}

/// The encoding of a drawn page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum ImageFormat {
    /// Lossless.
    Png,
    /// Smaller, for models.
    Jpeg,
}

/// A drawn page.
#[derive(Debug, Clone)]
pub struct PageImage {
    /// The encoded image.
    pub bytes: Bytes,
    /// Pixels across.
    pub width: u32,
    /// Pixels down.
    pub height: u32,
}

/// Reads files. Cheap to share; heavy work runs on its own bounded pool, never on the async runtime, and
/// stops between pages when `cancel` fires.
#[async_trait]
pub trait Reader: Debug + Send + Sync {
    /// Sniffs a file and turns it into rows: itself, or the members of a container in their order.
    async fn load(&self, source: Source, cancel: &CancellationToken) -> Result<Vec<Row>>;

    /// The words of a page (from 1) in reading order, from the text layer or from OCR; cached by content and page.
    async fn words(
        &self,
        row: &Row,
        page: u32,
        language_hint: Option<&str>,
        cancel: &CancellationToken,
    ) -> Result<Arc<PageWords>>;

    /// Draws a page (from 1), upright.
    async fn image(
        &self,
        row: &Row,
        page: u32,
        size: ImageSize,
        format: ImageFormat,
        cancel: &CancellationToken,
    ) -> Result<PageImage>;

    /// A PDF of some pages (from 1, inclusive) of a PDF row.
    async fn slice(
        &self,
        row: &Row,
        pages: RangeInclusive<u32>,
        cancel: &CancellationToken,
    ) -> Result<Bytes>;
}
