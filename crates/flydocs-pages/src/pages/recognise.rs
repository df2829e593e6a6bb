//! Pages without a text layer: drawn, read by tesseract, and read again only where that went badly.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use flydocs_contract::{PageWords, WordSource};
use tokio_util::sync::CancellationToken;

use super::{Pages, unexpected, weight};
use crate::{
    error::{Error, Result},
    ocr::{Fault, Reading, Turn, back, languages, skew, turned},
    pdf::PageText,
    raster::{Picture, Pixels},
    reader::Row,
    work::{Reply, Task},
};

/// All further readings of a page together may take so many times as long as the first one did.
const RETRIES: u32 = 3;
/// What they may take in any case: on a picture that is read in no time, so is everything else.
const RETRY_AT_LEAST: Duration = Duration::from_secs(20);

impl Pages {
    /// The words of a page by OCR, read at most once for these languages.
    pub(super) async fn recognised(
        &self,
        row: &Row,
        page: u32,
        hint: Option<&str>,
        text: Option<&PageText>,
        cancel: &CancellationToken,
    ) -> Result<Arc<PageWords>> {
        let names = languages(&self.inner.options.tesseract_lang, hint);
        let key = (row.sha256.clone(), page, names);
        if let Some(words) = self.inner.readings.get(&key) {
            return Ok(words);
        }
        self.inner.tesseract.check(&key.2).await?;
        let task = Task::OcrPicture { page };
        let (reply, blobs) = self
            .work(task, self.form(row, cancel).await?, cancel)
            .await?;
        let (Reply::Picture { width, height }, Some(pixels)) = (reply, blobs.into_iter().next())
        else {
            return Err(unexpected());
        };
        let picture = Picture {
            width,
            height,
            pixels: Pixels::Grey(pixels.into()),
        };
        let place = self.inner.pool.place(cancel).await?;
        let reading =
            self.read_picture(picture, &key.2, cancel)
                .await
                .map_err(|fault| match fault {
                    Fault::Other(error) => error,
                    Fault::Failed(detail) => Error::OcrFailed {
                        filename: row.filename.clone(),
                        page,
                        detail,
                    },
                })?;
        drop(place);
        let (width, height) = text.map_or((f64::from(width), f64::from(height)), |text| {
            (text.words.width, text.words.height)
        });
        let words = Arc::new(PageWords {
            page,
            width,
            height,
            source: WordSource::Ocr,
            words: reading.words,
            rulings: text.map_or_else(Vec::new, |text| text.words.rulings.clone()),
        });
        let bytes = weight(&words);
        self.inner.readings.put(key, words.clone(), bytes);
        Ok(words)
    }

    /// Reads a picture. When that went badly it is turned, then straightened, and read again; all readings
    /// together keep to the ceiling of a page.
    async fn read_picture(
        &self,
        picture: Picture,
        names: &str,
        cancel: &CancellationToken,
    ) -> std::result::Result<Reading, Fault> {
        let (tesseract, dpi) = (&self.inner.tesseract, self.inner.options.ocr_dpi);
        let ceiling = self.inner.options.ocr_page_timeout();
        let began = Instant::now();
        let mut best = tesseract
            .read(&picture, names, dpi, ceiling, cancel)
            .await?;
        if !best.is_poor() {
            return Ok(best);
        }
        let first = began.elapsed();
        let until = (first + (first * RETRIES).max(RETRY_AT_LEAST)).min(ceiling);
        let left = || until.saturating_sub(began.elapsed());
        let (width, height) = (picture.width, picture.height);
        let picture = Arc::new(picture);
        // a page on its side is lost, a slanting one is only read worse
        for attempt in [Attempt::Turn, Attempt::Straighten] {
            if left().is_zero() {
                break;
            }
            let turn = match attempt {
                Attempt::Straighten => {
                    let original = picture.clone();
                    off_runtime(move || skew(&original))
                        .await?
                        .map(Turn::Degrees)
                }
                Attempt::Turn => tesseract
                    .orientation(&picture, left(), cancel)
                    .await?
                    .map(Turn::Quarters),
            };
            let Some(turn) = turn else {
                continue;
            };
            let original = picture.clone();
            let changed = off_runtime(move || turned(&original, turn)).await?;
            let mut again = match tesseract.read(&changed, names, dpi, left(), cancel).await {
                Ok(again) => again,
                // there is a reading already
                Err(Fault::Failed(why)) => {
                    tracing::debug!(%why, "a second reading of a page was given up");
                    break;
                }
                Err(other) => return Err(other),
            };
            again.words = back(again.words, turn, width, height);
            if again.score() > best.score() * 1.1 {
                best = again;
            }
            if !best.is_poor() {
                break;
            }
        }
        Ok(best)
    }
}

/// What is tried when a page reads badly.
enum Attempt {
    Straighten,
    Turn,
}

/// Pixels are moved on a thread of their own; the caller holds a place of the pool already.
async fn off_runtime<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T> {
    tokio::task::spawn_blocking(work)
        .await
        .map_err(|_| Error::internal("a picture could not be turned"))
}
