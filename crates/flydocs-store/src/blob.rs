//! Blobs: the bytes of files, known by their SHA-256, in and out as streams of chunks.

use std::{fmt, io, str::FromStr};

use bytes::Bytes;
use futures::stream::BoxStream;
use serde::{Deserialize, Serialize};

use crate::error::Result;

/// The SHA-256 of some bytes, which is how they are asked for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BlobId([u8; 32]);

impl BlobId {
    /// From the digest itself.
    pub const fn from_digest(digest: [u8; 32]) -> Self {
        Self(digest)
    }

    /// The digest itself.
    pub const fn digest(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Display for BlobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::encode(self.0))
    }
}

impl fmt::Debug for BlobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BlobId({self})")
    }
}

/// A text that is no blob id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{given:?} is not a blob id (64 hexadecimal digits in lower case)")]
pub struct InvalidBlobId {
    /// What was given.
    pub given: String,
}

impl FromStr for BlobId {
    type Err = InvalidBlobId;

    fn from_str(text: &str) -> std::result::Result<Self, Self::Err> {
        let invalid = || InvalidBlobId {
            given: text.chars().take(80).collect(),
        };
        if text.bytes().any(|b| b.is_ascii_uppercase()) {
            return Err(invalid());
        }
        let mut digest = [0; 32];
        hex::decode_to_slice(text, &mut digest).map_err(|_| invalid())?;
        Ok(Self(digest))
    }
}

impl Serialize for BlobId {
    fn serialize<S: serde::Serializer>(
        &self,
        serializer: S,
    ) -> std::result::Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for BlobId {
    fn deserialize<D: serde::Deserializer<'de>>(
        deserializer: D,
    ) -> std::result::Result<Self, D::Error> {
        String::deserialize(deserializer)?
            .parse()
            .map_err(serde::de::Error::custom)
    }
}

/// Bytes on their way in. An error ends the upload and nothing is kept.
pub type Upload<'a> = BoxStream<'a, io::Result<Bytes>>;

/// Bytes that are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlobInfo {
    /// How to ask for them.
    pub id: BlobId,
    /// How many.
    pub bytes: u64,
}

/// Bytes on their way out.
pub struct Download {
    /// How many.
    pub bytes: u64,
    /// The bytes, in chunks.
    pub chunks: BoxStream<'static, Result<Bytes>>,
}

impl fmt::Debug for Download {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Download")
            .field("bytes", &self.bytes)
            .finish_non_exhaustive()
    }
}

impl Download {
    /// The whole of it in memory, for callers that checked `bytes` first.
    pub async fn collect(mut self) -> Result<Vec<u8>> {
        use futures::TryStreamExt as _;
        let mut all = Vec::with_capacity(usize::try_from(self.bytes).unwrap_or_default());
        while let Some(chunk) = self.chunks.try_next().await? {
            all.extend_from_slice(&chunk);
        }
        Ok(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_blob_id_reads_back_from_its_text() {
        let id = BlobId::from_digest([0xab; 32]);
        assert_eq!(id.to_string().parse(), Ok(id));
        for bad in ["", "ab", &"AB".repeat(32), &"g".repeat(64)] {
            assert!(bad.parse::<BlobId>().is_err(), "{bad}");
        }
    }
}
