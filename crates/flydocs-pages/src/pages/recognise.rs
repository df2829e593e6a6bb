//! Pages without a text layer: drawn, read by tesseract, and read again only where that went badly.

use std::{sync::Arc, time::Instant};

use flydocs_contract::{PageWords, WordSource};
use tokio_util::sync::CancellationToken;

use super::{Pages, Patience, unexpected, weight};
use crate::{
    error::{Error, Result},
    ocr::{Fault, Layout, Reading, Turn, back, cleaned, languages, merged, skew, turned},
    pdf::PageText,
    raster::{Picture, Pixels},
    reader::Row,
    work::{Reply, Task},
};

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
        let patience = self.patience(&row.sha256);
        let reading = self
            .read_picture(picture, &key.2, &patience, cancel)
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

    fn patience(&self, sha256: &str) -> Arc<Patience> {
        let key = sha256.to_owned();
        self.inner.patience.get(&key).unwrap_or_else(|| {
            let new = Arc::new(Patience::default());
            self.inner.patience.put(key, new.clone(), 1);
            new
        })
    }

    /// Reads a picture. When that went badly it is turned, then straightened, and read again; when much of it
    /// is unsure it is cleaned and read a second way, and the surer words are kept. All readings together keep to the
    /// ceiling of a page, and all pages of a file to its patience.
    async fn read_picture(
        &self,
        picture: Picture,
        names: &str,
        patience: &Patience,
        cancel: &CancellationToken,
    ) -> std::result::Result<Reading, Fault> {
        let (tesseract, how) = (&self.inner.tesseract, (names, self.inner.options.ocr_dpi));
        let ceiling = self.inner.options.ocr_page_timeout();
        let began = Instant::now();
        let mut best = tesseract
            .read(&picture, Layout::Blocks, how, ceiling, cancel)
            .await?;
        let first = began.elapsed();
        let further = patience.after(first);
        if !best.is_unsure() || further.is_zero() {
            return Ok(best);
        }
        let _spending = patience.spend();
        let until = (first + further).min(ceiling);
        let left = || until.saturating_sub(began.elapsed());
        let (width, height) = (picture.width, picture.height);
        let picture = Arc::new(picture);
        let mut upright = (picture.clone(), None);
        // a page on its side is lost, a slanting one is only read worse
        for attempt in [Attempt::Turn, Attempt::Straighten] {
            if !best.is_poor() || left().is_zero() {
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
            let again = tesseract.read(&changed, Layout::Blocks, how, left(), cancel);
            let Some(mut again) = given_up(again.await)? else {
                return Ok(best);
            };
            again.words = back(again.words, turn, width, height);
            if again.score() > best.score() * 1.1 {
                best = again;
                upright = (Arc::new(changed), Some(turn));
            }
        }
        if left().is_zero() {
            return Ok(best);
        }
        let original = upright.0;
        let clean = off_runtime(move || cleaned(&original)).await?;
        let again = tesseract.read(&clean, Layout::Lines, how, left(), cancel);
        let Some(mut again) = given_up(again.await)? else {
            return Ok(best);
        };
        if let Some(turn) = upright.1 {
            again.words = back(again.words, turn, width, height);
        }
        Ok(merged(best, again))
    }
}

/// A further reading that failed or took too long is none: there is one already.
fn given_up(outcome: std::result::Result<Reading, Fault>) -> Result<Option<Reading>> {
    match outcome {
        Ok(reading) => Ok(Some(reading)),
        Err(Fault::Failed(why)) => {
            tracing::debug!(%why, "a further reading of a page was given up");
            Ok(None)
        }
        Err(Fault::Other(error)) => Err(error),
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
