//! One file while it arrives: counted, limited, hashed, and handed on.

use std::fmt::Debug;

use async_trait::async_trait;
use bytes::{Bytes, BytesMut};
use flydocs_contract::ErrorCode;
use sha2::{Digest, Sha256};

use crate::{
    options::Limits,
    problem::{Answer, Refusal},
};

/// Where the bytes of files go.
#[async_trait]
pub(crate) trait Landing: Debug + Send + Sync {
    /// A place for one more file.
    async fn open(&self) -> Answer<Box<dyn Upload>>;
}

/// One place.
#[async_trait]
pub(crate) trait Upload: Send {
    /// The next bytes.
    async fn write(&mut self, chunk: Bytes) -> Answer<()>;

    /// All bytes came. Gives them back when they were kept in memory.
    async fn finish(self: Box<Self>, sha256: &str, bytes: u64) -> Answer<Option<Bytes>>;
}

/// A file that arrived.
#[derive(Debug, Clone)]
pub(crate) struct Landed {
    /// Its name.
    pub filename: String,
    /// What the caller takes it for.
    pub declared_media_type: Option<String>,
    /// The declared type it is pinned to.
    pub expected_type: Option<String>,
    /// SHA-256, lower-case hex.
    pub sha256: String,
    /// Its size.
    pub bytes: u64,
    /// Its content, when it was kept in memory.
    pub content: Option<Bytes>,
}

/// What is known of an arrived file by itself.
#[derive(Debug, Clone)]
pub(crate) struct Arrived {
    pub sha256: String,
    pub bytes: u64,
    pub content: Option<Bytes>,
}

/// A file on its way.
pub(crate) struct Arrival<'a> {
    upload: Box<dyn Upload>,
    hash: Sha256,
    bytes: u64,
    name: String,
    limits: &'a Limits,
}

impl<'a> Arrival<'a> {
    pub(crate) async fn begin(
        landing: &dyn Landing,
        name: String,
        limits: &'a Limits,
    ) -> Answer<Self> {
        Ok(Self {
            upload: landing.open().await?,
            hash: Sha256::new(),
            bytes: 0,
            name,
            limits,
        })
    }

    pub(crate) async fn write(&mut self, chunk: Bytes) -> Answer<()> {
        self.bytes = self.bytes.saturating_add(chunk.len() as u64);
        if self.bytes > self.limits.max_bytes {
            return Err(too_large(&self.name, self.limits.max_bytes));
        }
        self.hash.update(&chunk);
        self.upload.write(chunk).await
    }

    pub(crate) async fn finish(self) -> Answer<Arrived> {
        let sha256 = hex::encode(self.hash.finalize());
        let content = self.upload.finish(&sha256, self.bytes).await?;
        Ok(Arrived {
            sha256,
            bytes: self.bytes,
            content,
        })
    }
}

/// 413: a file over the limit.
pub(crate) fn too_large(filename: &str, limit: u64) -> Refusal {
    Refusal::new(
        ErrorCode::FileTooLarge,
        format!("{filename} is larger than {limit} bytes (FLYDOCS_MAX_BYTES)"),
    )
    .with("filename", filename)
    .with("limit_bytes", limit)
}

/// 413: the request itself, contents apart, over its limit.
pub(crate) fn request_too_large(limits: &Limits) -> Refusal {
    Refusal::new(
        ErrorCode::RequestTooLarge,
        format!(
            "the request without its files is larger than {} bytes (FLYDOCS_MAX_REQUEST_BYTES)",
            limits.max_request_bytes
        ),
    )
    .with("setting", "FLYDOCS_MAX_REQUEST_BYTES")
    .with("limit_bytes", limits.max_request_bytes)
}

/// 413: more files than one request may carry.
pub(crate) fn too_many_files(limits: &Limits) -> Refusal {
    Refusal::new(
        ErrorCode::RequestTooLarge,
        format!(
            "the request has more than {} files (FLYDOCS_MAX_FILES)",
            limits.max_files
        ),
    )
    .with("setting", "FLYDOCS_MAX_FILES")
    .with("limit_files", limits.max_files)
}

/// Keeps files in memory: for the synchronous route, whose pipeline reads them at once.
#[derive(Debug)]
pub(crate) struct InMemory;

#[async_trait]
impl Landing for InMemory {
    async fn open(&self) -> Answer<Box<dyn Upload>> {
        Ok(Box::new(Kept(BytesMut::new())))
    }
}

struct Kept(BytesMut);

#[async_trait]
impl Upload for Kept {
    async fn write(&mut self, chunk: Bytes) -> Answer<()> {
        self.0.extend_from_slice(&chunk);
        Ok(())
    }

    async fn finish(self: Box<Self>, _sha256: &str, _bytes: u64) -> Answer<Option<Bytes>> {
        Ok(Some(self.0.freeze()))
    }
}
