//! The blob store: content-addressed, streamed, in the database (`db:`) or in a directory (`file:///dir`).
//!
//! The row in `blobs` exists in both cases and counts its references; only where the bytes lie differs.

pub(crate) mod database;
pub(crate) mod files;

use bytes::{Bytes, BytesMut};
use futures::StreamExt as _;
use sha2::{Digest as _, Sha256};

use crate::{
    blob::{BlobId, BlobInfo, Download, Upload},
    dialect::{Dialect, Sql},
    error::{During as _, Error, Result},
    sql_store::SqlStore,
};

/// How much is written at a time.
pub(crate) const CHUNK: usize = 1 << 20;

/// How much is hashed before other tasks get a turn: a fraction of a millisecond.
const HASHED_AT_ONCE: usize = 128 << 10;

pub(crate) const FIND: Sql = sql!("SELECT blob_id, bytes FROM blobs WHERE sha256 = $1");

impl<D: Dialect> SqlStore<D> {
    pub(crate) async fn put_blob(&self, upload: Upload<'_>) -> Result<BlobInfo> {
        let chunks = Chunks::new(upload);
        match &self.files {
            Some(files) => self.put_file(files, chunks).await,
            None => self.put_chunks(chunks).await,
        }
    }

    pub(crate) async fn get_blob(&self, id: &BlobId) -> Result<Option<Download>> {
        let args = args![id.to_string()];
        let found = self
            .db
            .read::<(i64, i64)>(&FIND, args)
            .await
            .during("look for a blob")?;
        let Some((blob_id, bytes)) = found.into_iter().next() else {
            return Ok(None);
        };
        let chunks = match &self.files {
            Some(files) => files.open(id).await?,
            None => Some(database::chunks(
                self.db.clone(),
                *id,
                blob_id,
                bytes as u64,
            )),
        };
        Ok(chunks.map(|chunks| Download {
            bytes: bytes as u64,
            chunks,
        }))
    }
}

/// An upload cut into chunks of one size and hashed on the way.
pub(crate) struct Chunks<'u> {
    upload: Upload<'u>,
    waiting: BytesMut,
    hash: Sha256,
    bytes: u64,
    ended: bool,
}

impl<'u> Chunks<'u> {
    fn new(upload: Upload<'u>) -> Self {
        Self {
            upload,
            waiting: BytesMut::new(),
            hash: Sha256::new(),
            bytes: 0,
            ended: false,
        }
    }

    /// The next chunk; shorter than [`CHUNK`] only at the end.
    pub(crate) async fn next(&mut self) -> Result<Option<Bytes>> {
        while self.waiting.len() < CHUNK && !self.ended {
            match self.upload.next().await {
                None => self.ended = true,
                Some(piece) => {
                    let piece = piece.map_err(|source| Error::Upload { source })?;
                    for part in piece.chunks(HASHED_AT_ONCE) {
                        self.hash.update(part);
                        if part.len() == HASHED_AT_ONCE {
                            tokio::task::yield_now().await;
                        }
                    }
                    self.bytes += piece.len() as u64;
                    self.waiting.extend_from_slice(&piece);
                }
            }
        }
        if self.waiting.is_empty() {
            return Ok(None);
        }
        let length = self.waiting.len().min(CHUNK);
        Ok(Some(self.waiting.split_to(length).freeze()))
    }

    /// True when every chunk was taken.
    pub(crate) fn is_over(&self) -> bool {
        self.ended && self.waiting.is_empty()
    }

    /// What it all came to, once [`Chunks::is_over`].
    pub(crate) fn info(self) -> BlobInfo {
        BlobInfo {
            id: BlobId::from_digest(self.hash.finalize().into()),
            bytes: self.bytes,
        }
    }
}
