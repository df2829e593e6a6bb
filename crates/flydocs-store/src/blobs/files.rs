//! `file:///dir`: bytes as files named by their hash. The row in `blobs` is locked while a file is put in place or
//! removed, so the two cannot cross.

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use bytes::Bytes;
use futures::stream::{BoxStream, StreamExt as _};
use tokio::{
    fs::{self, File},
    io::AsyncWriteExt as _,
};
use tokio_util::io::ReaderStream;

use super::{CHUNK, Chunks};
use crate::{
    blob::{BlobId, BlobInfo},
    dialect::{Dialect, Sql},
    error::{Error, Result},
    sql_store::SqlStore,
};

const REGISTER: Sql = sql!(
    "INSERT INTO blobs (sha256, bytes, touched_at) VALUES ($1, $2, " now ")
     ON CONFLICT (sha256) DO UPDATE SET touched_at = excluded.touched_at"
);

/// A directory of blobs.
#[derive(Debug, Clone)]
pub(crate) struct BlobFiles {
    directory: PathBuf,
    uploads: Arc<AtomicU64>,
}

impl BlobFiles {
    /// `None` for `db:`.
    pub(crate) fn from_url(url: &str) -> Result<Option<Self>> {
        if url == "db:" {
            return Ok(None);
        }
        let Some(directory) = url
            .strip_prefix("file://")
            .filter(|path| path.starts_with('/'))
        else {
            return Err(Error::UnsupportedUrl {
                setting: "FLYDOCS_BLOB_URL",
                given: without_password(url),
                supported: "db: and file:///dir",
            });
        };
        Ok(Some(Self {
            directory: PathBuf::from(directory),
            uploads: Arc::default(),
        }))
    }

    fn path(&self, id: &BlobId) -> PathBuf {
        let name = id.to_string();
        let (shelf, _) = name.split_at(2);
        self.directory.join(shelf).join(&name)
    }

    /// A name no other upload has, in this process or another one.
    fn upload_path(&self) -> PathBuf {
        let n = self.uploads.fetch_add(1, Ordering::Relaxed);
        self.directory
            .join("uploads")
            .join(format!("{}-{n}", std::process::id()))
    }

    pub(super) async fn open(
        &self,
        id: &BlobId,
    ) -> Result<Option<BoxStream<'static, Result<Bytes>>>> {
        let path = self.path(id);
        match File::open(&path).await {
            Ok(file) => Ok(Some(
                ReaderStream::with_capacity(file, CHUNK)
                    .map(move |chunk| chunk.map_err(failed("read", &path)))
                    .boxed(),
            )),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(failed("open", &path)(error)),
        }
    }

    async fn write(&self, path: &Path, chunks: &mut Chunks<'_>) -> Result<()> {
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)
                .await
                .map_err(failed("create", parent))?;
        }
        let mut file = File::create(path).await.map_err(failed("create", path))?;
        while let Some(chunk) = chunks.next().await? {
            file.write_all(&chunk)
                .await
                .map_err(failed("write", path))?;
        }
        file.flush().await.map_err(failed("write", path))?;
        file.sync_all().await.map_err(failed("write", path))
    }

    async fn put_in_place(&self, upload: &Path, id: &BlobId) -> Result<()> {
        let path = self.path(id);
        let shelf = path.parent().unwrap_or(&self.directory).to_owned();
        fs::create_dir_all(&shelf)
            .await
            .map_err(failed("create", &shelf))?;
        fs::rename(upload, &path)
            .await
            .map_err(failed("put in place", &path))?;
        let directory = File::open(&shelf).await.map_err(failed("open", &shelf))?;
        directory.sync_all().await.map_err(failed("write", &shelf))
    }

    /// Removes the file of a blob, if it is there.
    pub(crate) async fn remove(&self, id: &BlobId) -> Result<()> {
        let path = self.path(id);
        match fs::remove_file(&path).await {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(failed("remove", &path)(error))
            }
            _ => Ok(()),
        }
    }
}

impl<D: Dialect> SqlStore<D> {
    pub(super) async fn put_file(
        &self,
        files: &BlobFiles,
        mut chunks: Chunks<'_>,
    ) -> Result<BlobInfo> {
        let upload = files.upload_path();
        let stored = async {
            files.write(&upload, &mut chunks).await?;
            let info = chunks.info();
            let mut transition = self.transition().await?;
            let args = args![info.id.to_string(), info.bytes];
            transition.execute("store a blob", &REGISTER, args).await?;
            // Under the row's lock: a removal under way is over, or waits for this commit.
            files.put_in_place(&upload, &info.id).await?;
            transition.commit_quietly().await?;
            Ok(info)
        };
        let stored = stored.await;
        if stored.is_err() && fs::remove_file(&upload).await.is_err() {
            tracing::debug!(path = %upload.display(), "no upload was left to remove");
        }
        stored
    }
}

fn failed(operation: &'static str, path: &Path) -> impl Fn(std::io::Error) -> Error + use<> {
    let path = path.to_owned();
    move |source| Error::File {
        operation,
        path: path.clone(),
        source,
    }
}

/// A URL that may be shown.
pub(crate) fn without_password(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else {
        return url.to_owned();
    };
    match rest.split_once('@') {
        Some((_, host)) => format!("{scheme}://...@{host}"),
        None => url.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_supported_is_taken_for_a_blob_url() {
        assert!(BlobFiles::from_url("db:").unwrap().is_none());
        assert!(BlobFiles::from_url("file:///var/blobs").unwrap().is_some());
        for bad in [
            "",
            "file://relative",
            "s3://bucket/prefix",
            "ftp://user:secret@host/dir",
        ] {
            let said = BlobFiles::from_url(bad).unwrap_err().to_string();
            assert!(
                said.contains("FLYDOCS_BLOB_URL") && !said.contains("secret"),
                "{said}"
            );
        }
    }
}
