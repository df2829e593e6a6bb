//! [`Pages`]: the reader the service runs. Work goes to the pool, OCR to tesseract, words to the cache.

mod patience;
mod recognise;

use std::{collections::HashMap, ops::RangeInclusive, sync::Arc};

use async_trait::async_trait;
use bytes::Bytes;
use flydocs_contract::{PageWords, WordSource};
use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

use self::patience::Patience;
use crate::{
    cache::Cache,
    convert,
    error::{Error, Result},
    isolated::Children,
    ocr::{Tesseract, languages},
    options::{Isolation, OcrEngine, OfficeConverter, Options},
    pdf::{PageText, TextLayer},
    pool::Pool,
    reader::{ImageFormat, ImageSize, PageImage, Reader, Row, Source},
    sniff::{Group, Kind},
    work::{self, File, Reply, Task},
};

/// How long a reading of one page may go on with the pages after it.
const READ_AHEAD_MS: u64 = 60;
/// So many files are remembered by how long OCR took on them.
const FILES_IN_MIND: u64 = 1000;

/// Reads files as the settings say. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Pages {
    inner: Arc<Inner>,
}

/// Content hash and page.
type PageKey = (String, u32);

#[derive(Debug)]
struct Inner {
    options: Arc<Options>,
    pool: Pool,
    children: Option<Children>,
    tesseract: Tesseract,
    /// Text layers, good or not, by content and page.
    texts: Cache<PageKey, Arc<PageText>>,
    /// What OCR read, by content, page and languages.
    readings: Cache<(String, u32, String), Arc<PageWords>>,
    /// How much longer OCR may go on with the unsure pages of a file, by content.
    patience: Cache<String, Arc<Patience>>,
    /// PDFs made of documents that are none, by content.
    forms: Cache<String, Bytes>,
    /// Pages being read right now: whoever asks for one meanwhile waits for it.
    flights: Mutex<HashMap<PageKey, Arc<tokio::sync::Mutex<()>>>>,
}

impl Pages {
    /// A reader with these settings.
    pub fn new(options: Options) -> Self {
        let options = Arc::new(options);
        let share = options.cache_bytes / 4;
        let children =
            (options.isolation == Isolation::Process).then(|| Children::new(options.clone()));
        Self {
            inner: Arc::new(Inner {
                pool: Pool::new(options.concurrency),
                children,
                tesseract: Tesseract::new(options.tesseract_path.clone()),
                texts: Cache::new(share),
                readings: Cache::new(share),
                patience: Cache::new(FILES_IN_MIND),
                forms: Cache::new(share * 2),
                flights: Mutex::new(HashMap::new()),
                options,
            }),
        }
    }

    /// Fails, naming what is missing, when OCR is on and tesseract or a configured language is not installed.
    pub async fn check_ocr(&self) -> Result<()> {
        match self.inner.options.ocr_engine {
            OcrEngine::None => Ok(()),
            OcrEngine::Tesseract => {
                let names = languages(&self.inner.options.tesseract_lang, None);
                self.inner.tesseract.check(&names).await
            }
        }
    }

    async fn work(
        &self,
        task: Task,
        file: File,
        cancel: &CancellationToken,
    ) -> Result<(Reply, Vec<Bytes>)> {
        if let Some(children) = &self.inner.children {
            let _place = self.inner.pool.place(cancel).await?;
            return children.work(task, &file, cancel).await;
        }
        let options = self.inner.options.clone();
        self.inner
            .pool
            .run(cancel, move |cancel| {
                work::run(&task, &file, &options, cancel)
            })
            .await
    }

    /// What is really read and drawn for a row: itself, or the PDF made of it.
    async fn form(&self, row: &Row, cancel: &CancellationToken) -> Result<File> {
        let kind = kind(row)?;
        let mut file = File {
            filename: row.filename.clone(),
            kind: Some(kind),
            key: Some(row.sha256.clone()),
            content: row.content.clone(),
        };
        if matches!(kind.group(), Group::Pdf | Group::Image) {
            return Ok(file);
        }
        // the same bytes are laid out otherwise as CSV than as text
        let key = format!("{}:{}", row.sha256, kind.extension());
        let content = if let Some(made) = self.inner.forms.get(&key) {
            made
        } else {
            let made = self.made_pdf(file.clone(), cancel).await?;
            self.inner
                .forms
                .put(key.clone(), made.clone(), made.len() as u64);
            made
        };
        file.kind = Some(Kind::Pdf);
        file.key = Some(key);
        file.content = content;
        Ok(file)
    }

    async fn made_pdf(&self, file: File, cancel: &CancellationToken) -> Result<Bytes> {
        let options = &self.inner.options;
        if let Some(kind) = file.kind
            && kind.group() == Group::Office
            && options.office_converter != OfficeConverter::None
        {
            return convert::to_pdf(&file.filename, kind, &file.content, options, cancel).await;
        }
        let (_, blobs) = self.work(Task::LayOut, file, cancel).await?;
        blobs.into_iter().next().ok_or_else(unexpected)
    }

    /// The text layer of a page of a PDF, read at most once.
    async fn text(
        &self,
        row: &Row,
        page: u32,
        cancel: &CancellationToken,
    ) -> Result<Arc<PageText>> {
        let key = (row.sha256.clone(), page);
        if let Some(text) = self.inner.texts.get(&key) {
            return Ok(text);
        }
        let task = Task::Text {
            first: page,
            ahead_ms: READ_AHEAD_MS,
        };
        let (reply, _) = self
            .work(task, self.form(row, cancel).await?, cancel)
            .await?;
        let Reply::Text(pages) = reply else {
            return Err(unexpected());
        };
        let mut asked = None;
        for text in pages {
            let (number, text) = (text.words.page, Arc::new(text));
            let bytes = weight(&text.words);
            self.inner
                .texts
                .put((row.sha256.clone(), number), text.clone(), bytes);
            if number == page {
                asked = Some(text);
            }
        }
        asked.ok_or_else(unexpected)
    }

    async fn read(
        &self,
        row: &Row,
        page: u32,
        hint: Option<&str>,
        cancel: &CancellationToken,
    ) -> Result<Arc<PageWords>> {
        let ocr = self.inner.options.ocr_engine;
        if kind(row)?.group() == Group::Image {
            return match ocr {
                OcrEngine::Tesseract => self.recognised(row, page, hint, None, cancel).await,
                OcrEngine::None => Ok(Arc::new(no_words(page))),
            };
        }
        let text = self.text(row, page, cancel).await?;
        let from_layer = || Arc::new(text.words.clone());
        if ocr == OcrEngine::None || matches!(text.layer, TextLayer::Enough | TextLayer::Blank) {
            return Ok(from_layer());
        }
        let words = self
            .recognised(row, page, hint, Some(&text), cancel)
            .await?;
        // the few words of the layer are better than none
        if words.words.is_empty() && text.layer == TextLayer::TooFew {
            return Ok(from_layer());
        }
        Ok(words)
    }
}

#[async_trait]
impl Reader for Pages {
    async fn load(&self, source: Source, cancel: &CancellationToken) -> Result<Vec<Row>> {
        let file = File {
            filename: source.filename,
            kind: None,
            key: None,
            content: source.content.clone(),
        };
        let task = Task::Load {
            declared: source.declared_media_type,
        };
        let (reply, blobs) = self.work(task, file, cancel).await?;
        let Reply::Rows(facts) = reply else {
            return Err(unexpected());
        };
        let mut blobs = blobs.into_iter();
        let mut rows = Vec::with_capacity(facts.len());
        for facts in facts {
            let content = if facts.whole {
                source.content.clone()
            } else {
                blobs.next().ok_or_else(unexpected)?
            };
            let mut row = Row {
                filename: facts.filename,
                media_type: facts.kind.media_type().to_owned(),
                page_count: facts.page_count,
                bytes: content.len() as u64,
                sha256: facts.sha256,
                content,
                warnings: facts.warnings,
            };
            if row.page_count == 0 {
                let made = self.form(&row, cancel).await?;
                let (Reply::Count(pages), _) = self.work(Task::Count, made, cancel).await? else {
                    return Err(unexpected());
                };
                row.page_count = pages;
            }
            rows.push(row);
        }
        Ok(rows)
    }

    async fn words(
        &self,
        row: &Row,
        page: u32,
        language_hint: Option<&str>,
        cancel: &CancellationToken,
    ) -> Result<Arc<PageWords>> {
        let key = (row.sha256.clone(), page);
        let flight = self
            .inner
            .flights
            .lock()
            .entry(key.clone())
            .or_default()
            .clone();
        let turn = tokio::select! {
            biased;
            () = cancel.cancelled() => return Err(Error::Cancelled),
            turn = flight.lock() => turn,
        };
        let outcome = self.read(row, page, language_hint, cancel).await;
        drop(turn);
        let mut flights = self.inner.flights.lock();
        // ours and the map's: nobody else waits
        if Arc::strong_count(&flight) <= 2 {
            flights.remove(&key);
        }
        outcome
    }

    async fn image(
        &self,
        row: &Row,
        page: u32,
        size: ImageSize,
        format: ImageFormat,
        cancel: &CancellationToken,
    ) -> Result<PageImage> {
        let task = Task::Image { page, size, format };
        match self
            .work(task, self.form(row, cancel).await?, cancel)
            .await?
        {
            (Reply::Image { width, height }, blobs) => Ok(PageImage {
                bytes: blobs.into_iter().next().ok_or_else(unexpected)?,
                width,
                height,
            }),
            _ => Err(unexpected()),
        }
    }

    async fn slice(
        &self,
        row: &Row,
        pages: RangeInclusive<u32>,
        cancel: &CancellationToken,
    ) -> Result<Bytes> {
        let file = self.form(row, cancel).await?;
        if file.kind != Some(Kind::Pdf) {
            return Err(Error::internal(format!(
                "{} has no pages to cut",
                row.filename
            )));
        }
        let (_, blobs) = self.work(Task::Slice { pages }, file, cancel).await?;
        blobs.into_iter().next().ok_or_else(unexpected)
    }
}

fn kind(row: &Row) -> Result<Kind> {
    Kind::of_media_type(&row.media_type).ok_or_else(|| {
        Error::internal(format!(
            "a row of type {} was not made here",
            row.media_type
        ))
    })
}

fn unexpected() -> Error {
    Error::internal("a reading thread answered another question")
}

fn no_words(page: u32) -> PageWords {
    PageWords {
        page,
        width: 1.0,
        height: 1.0,
        source: WordSource::Ocr,
        words: Vec::new(),
        rulings: Vec::new(),
    }
}

/// What a page of words takes in memory, about.
fn weight(words: &PageWords) -> u64 {
    let text: usize = words.words.iter().map(|w| w.text.capacity()).sum();
    let own = words.words.len() * size_of::<flydocs_contract::Word>();
    let rulings = words.rulings.len() * size_of::<flydocs_contract::Rect>();
    (text + own + rulings + 256) as u64
}
