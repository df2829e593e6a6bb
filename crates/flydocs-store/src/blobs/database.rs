//! `db:`: bytes as rows of `blob_chunks`. An upload is known by its number until its hash is; a transaction lasts one
//! chunk, so a slow caller holds up nobody.

use bytes::Bytes;
use futures::stream::{self, BoxStream, StreamExt as _};

use super::Chunks;
use crate::{
    blob::{BlobId, BlobInfo},
    dialect::{Dialect, Sql},
    error::{During as _, Error, Result},
    sql_store::SqlStore,
};

pub(crate) const BEGIN: Sql = sql!(
    "INSERT INTO blobs (bytes, touched_at) VALUES (0, " now ") RETURNING blob_id"
);

pub(crate) const CHUNK: Sql =
    sql!("INSERT INTO blob_chunks (blob_id, position, content) VALUES ($1, $2, $3)");

/// Keeps a long upload from being taken for an abandoned one.
pub(crate) const ALIVE: Sql = sql!("UPDATE blobs SET touched_at = " now " WHERE blob_id = $1");

pub(crate) const TOUCH: Sql = sql!(
    "UPDATE blobs SET touched_at = " now " WHERE sha256 = $1 RETURNING blob_id"
);

pub(crate) const NAME: Sql = sql!(
    "UPDATE blobs SET sha256 = $2, bytes = $3, touched_at = " now " WHERE blob_id = $1"
);

pub(crate) const DROP: Sql = sql!("DELETE FROM blobs WHERE blob_id = $1 AND sha256 IS NULL");

pub(crate) const READ: Sql =
    sql!("SELECT content FROM blob_chunks WHERE blob_id = $1 AND position = $2");

impl<D: Dialect> SqlStore<D> {
    pub(super) async fn put_chunks(&self, mut chunks: Chunks<'_>) -> Result<BlobInfo> {
        let first = chunks.next().await?.unwrap_or_default();
        let mut blob_id = None;
        let mut pending = first;
        let mut position = 0_u32;
        while !chunks.is_over() {
            let stored = self.put_chunk(&mut blob_id, position, &pending).await;
            let next = match stored {
                Ok(()) => chunks.next().await,
                Err(error) => Err(error),
            };
            match next {
                Ok(next) => pending = next.unwrap_or_default(),
                Err(error) => {
                    self.drop_upload(blob_id).await;
                    return Err(error);
                }
            }
            position += 1;
        }
        let info = chunks.info();
        loop {
            match self
                .name_upload(&mut blob_id, position, &pending, info)
                .await
            {
                // The same bytes arrived by another way at the same moment: the next try finds them.
                Err(Error::Database { source, .. }) if is_unique_violation(&source) => {}
                Err(error) => {
                    self.drop_upload(blob_id).await;
                    return Err(error);
                }
                Ok(()) => return Ok(info),
            }
        }
    }

    async fn put_chunk(
        &self,
        blob_id: &mut Option<i64>,
        position: u32,
        content: &Bytes,
    ) -> Result<()> {
        let mut transition = self.transition().await?;
        let id = match *blob_id {
            Some(id) => {
                transition
                    .execute("store a chunk", &ALIVE, args![id])
                    .await?;
                id
            }
            None => begin(&mut transition).await?,
        };
        let args = args![id, position, content.to_vec()];
        transition.execute("store a chunk", &CHUNK, args).await?;
        transition.commit_quietly().await?;
        *blob_id = Some(id);
        Ok(())
    }

    /// Gives the upload its name, with its last chunk; when the name is taken, the bytes are there
    /// already and the upload is dropped.
    async fn name_upload(
        &self,
        blob_id: &mut Option<i64>,
        position: u32,
        last: &Bytes,
        info: BlobInfo,
    ) -> Result<()> {
        let sha256 = info.id.to_string();
        let mut transition = self.transition().await?;
        let known: Option<(i64,)> = transition
            .row("store a blob", &TOUCH, args![sha256.as_str()])
            .await?;
        if known.is_some() {
            if let Some(id) = *blob_id {
                transition
                    .execute("drop an upload", &DROP, args![id])
                    .await?;
            }
            return transition.commit_quietly().await;
        }
        let id = match *blob_id {
            Some(id) => id,
            None => begin(&mut transition).await?,
        };
        if !last.is_empty() {
            let args = args![id, position, last.to_vec()];
            transition.execute("store a chunk", &CHUNK, args).await?;
        }
        transition
            .execute("store a blob", &NAME, args![id, sha256, info.bytes])
            .await?;
        transition.commit_quietly().await
    }

    /// What is left of a failed upload; the retention finds what cannot be dropped now.
    async fn drop_upload(&self, blob_id: Option<i64>) {
        let Some(id) = blob_id else { return };
        let dropped = async {
            let mut transition = self.transition().await?;
            transition
                .execute("drop an upload", &DROP, args![id])
                .await?;
            transition.commit_quietly().await
        };
        if let Err(error) = dropped.await {
            tracing::warn!(
                error = &error as &dyn std::error::Error,
                "an upload is left behind"
            );
        }
    }
}

async fn begin<D: Dialect>(transition: &mut crate::transition::Transition<'_, D>) -> Result<i64> {
    let begun: Option<(i64,)> = transition
        .row("begin an upload", &BEGIN, Vec::new())
        .await?;
    begun.map(|(id,)| id).ok_or(Error::Database {
        operation: "begin an upload",
        source: sqlx::Error::RowNotFound,
    })
}

/// The chunks of a stored blob, read one by one.
pub(super) fn chunks<D: Dialect>(
    db: D,
    id: BlobId,
    blob_id: i64,
    bytes: u64,
) -> BoxStream<'static, Result<Bytes>> {
    stream::try_unfold((db, 0_u32, bytes), move |(db, position, left)| async move {
        if left == 0 {
            return Ok(None);
        }
        let args = args![blob_id, position];
        let rows = db
            .read::<(Vec<u8>,)>(&READ, args)
            .await
            .during("read a blob")?;
        // Deleted while it was being read.
        let (content,) = rows.into_iter().next().ok_or(Error::BlobMissing(id))?;
        let left = left.saturating_sub(content.len() as u64);
        Ok(Some((Bytes::from(content), (db, position + 1, left))))
    })
    .boxed()
}

fn is_unique_violation(error: &sqlx::Error) -> bool {
    error
        .as_database_error()
        .is_some_and(sqlx::error::DatabaseError::is_unique_violation)
}
