//! The words and images of a document's pages, as questions to engines need them.

use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use flydocs_contract::{PageWords, page::WordSource};
use flydocs_engines::PageImages;
use flydocs_pages::{ImageFormat, ImageSize, Reader, Row};
use futures::{StreamExt, TryStreamExt, stream};
use tokio_util::sync::CancellationToken;

use crate::{failure::Failure, ports::Progress, scope::Scope};

/// How many pages of one document are asked for at once.
const PAGES_AHEAD: usize = 4;

/// The pages of one document, to be read when its unit runs.
#[derive(Clone)]
pub(crate) struct Sheets {
    node: &'static str,
    reader: Arc<dyn Reader>,
    progress: Arc<dyn Progress>,
    stop: CancellationToken,
    image_width: u32,
    row: Arc<Row>,
    pages: Vec<u32>,
    language: Option<String>,
}

/// What was read, and what was not.
pub(crate) struct Words {
    pub(crate) pages: Vec<Arc<PageWords>>,
    pub(crate) failures: Vec<Failure>,
}

impl Sheets {
    pub(crate) fn new(
        scope: &Scope,
        row: &Arc<Row>,
        pages: Vec<u32>,
        language: Option<&str>,
    ) -> Self {
        Self {
            node: scope.node,
            reader: Arc::clone(&scope.services.reader),
            progress: Arc::clone(&scope.progress),
            stop: scope.stop(),
            image_width: scope.services.options.engine_image_width,
            row: Arc::clone(row),
            pages,
            language: language.map(str::to_owned),
        }
    }

    pub(crate) fn stop(&self) -> &CancellationToken {
        &self.stop
    }

    /// The numbers of the pages, in the file.
    pub(crate) fn numbers(&self) -> &[u32] {
        &self.pages
    }

    /// Reads one page.
    pub(crate) async fn one(&self, page: u32) -> Result<Arc<PageWords>, Failure> {
        let language = self.language.as_deref();
        let read = self.reader.words(&self.row, page, language, &self.stop);
        read.await.map_err(|error| Failure::of_reader(&error))
    }

    /// Says how many of the document's pages are read.
    pub(crate) fn tell(&self, done: usize) {
        let total = self.pages.len();
        self.progress
            .pages_read(self.node, done.min(total) as u32, total as u32);
    }

    pub(crate) fn images(&self) -> Arc<dyn PageImages> {
        Arc::new(RowImages {
            reader: Arc::clone(&self.reader),
            row: Arc::clone(&self.row),
            width: self.image_width,
        })
    }

    /// Reads every page. A page that cannot be read stays without words (an engine may look at its image) and
    /// is a failure; when the file refuses all of them, so does this.
    pub(crate) async fn words(&self) -> Result<Words, Failure> {
        let total = self.pages.len() as u32;
        let mut read = stream::iter(self.pages.iter().copied())
            .map(|page| self.page(page))
            .buffered(PAGES_AHEAD);
        let mut words = Words {
            pages: Vec::new(),
            failures: Vec::new(),
        };
        let mut refused = 0;
        while let Some((page, failure, is_refusal)) = read.try_next().await? {
            words.pages.push(page);
            words.failures.extend(failure);
            refused += u32::from(is_refusal);
            self.tell(words.pages.len());
        }
        if refused == total
            && let Some(failure) = words.failures.first()
        {
            return Err(failure.clone());
        }
        Ok(words)
    }

    async fn page(&self, page: u32) -> Result<(Arc<PageWords>, Option<Failure>, bool), Failure> {
        let read = self
            .reader
            .words(&self.row, page, self.language.as_deref(), &self.stop)
            .await;
        match read {
            Ok(words) => Ok((words, None, false)),
            Err(error @ flydocs_pages::Error::Cancelled) => Err(Failure::of_reader(&error)),
            Err(error) => {
                let is_refusal = !matches!(
                    error,
                    flydocs_pages::Error::OcrUnavailable { .. }
                        | flydocs_pages::Error::OcrFailed { .. }
                );
                Ok((blank(page), Some(Failure::of_reader(&error)), is_refusal))
            }
        }
    }
}

/// A page without words, the size of A4.
fn blank(page: u32) -> Arc<PageWords> {
    Arc::new(PageWords {
        page,
        width: 595.0,
        height: 842.0,
        source: WordSource::Ocr,
        words: Vec::new(),
        rulings: Vec::new(),
    })
}

#[derive(Debug)]
struct RowImages {
    reader: Arc<dyn Reader>,
    row: Arc<Row>,
    width: u32,
}

#[async_trait]
impl PageImages for RowImages {
    async fn jpeg(&self, page: u32, cancel: &CancellationToken) -> flydocs_engines::Result<Bytes> {
        let size = ImageSize::Width(self.width);
        let drawn = self
            .reader
            .image(&self.row, page, size, ImageFormat::Jpeg, cancel);
        match drawn.await {
            Ok(image) => Ok(image.bytes),
            Err(flydocs_pages::Error::Cancelled) => Err(flydocs_engines::Error::Cancelled),
            Err(error) => Err(flydocs_engines::Error::Permanent {
                model: "the drawing of the page".to_owned(),
                detail: error.to_string(),
            }),
        }
    }
}
