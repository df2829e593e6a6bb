//! One message over a pipe: a head in JSON and blobs beside it.
//! `u32` length of the head, `u32` number of blobs, `u64` length of each, the head, the blobs.

use std::io::{self, Read, Write};

use bytes::Bytes;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use crate::{
    error::Result,
    options::Options,
    sniff::Kind,
    work::{Reply, Task},
};

/// Nobody sends more blobs or a longer head than this: a child that does is broken.
const MAX_BLOBS: u32 = 100_000;
const MAX_HEAD: u32 = 512 * 1024 * 1024;

/// What a parent asks. The blob is the content, unless the child has it already.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Request {
    pub(super) task: Task,
    pub(super) filename: String,
    pub(super) kind: Option<Kind>,
    /// Under which the child keeps the content for the next request.
    pub(super) key: Option<String>,
    pub(super) options: Options,
}

/// What a child answers; the blobs belong to the reply.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Answer {
    pub(super) outcome: Result<Reply>,
    /// The child holds on to so much memory that it is better replaced.
    pub(super) retire: bool,
}

fn invalid(why: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}

fn prefix(head: &[u8], blobs: &[Bytes]) -> io::Result<Vec<u8>> {
    let length = u32::try_from(head.len()).map_err(invalid)?;
    let count = u32::try_from(blobs.len()).map_err(invalid)?;
    let mut prefix = Vec::with_capacity(8 + blobs.len() * 8);
    prefix.extend_from_slice(&length.to_le_bytes());
    prefix.extend_from_slice(&count.to_le_bytes());
    for blob in blobs {
        prefix.extend_from_slice(&(blob.len() as u64).to_le_bytes());
    }
    Ok(prefix)
}

fn counts(prefix: [u8; 8]) -> io::Result<(usize, usize)> {
    let [a, b, c, d, e, f, g, h] = prefix;
    let (head, blobs) = (
        u32::from_le_bytes([a, b, c, d]),
        u32::from_le_bytes([e, f, g, h]),
    );
    if head > MAX_HEAD || blobs > MAX_BLOBS {
        return Err(invalid("the message is too long"));
    }
    Ok((head as usize, blobs as usize))
}

pub(super) async fn send<T: Serialize>(
    to: &mut (impl AsyncWrite + Unpin),
    head: &T,
    blobs: &[Bytes],
) -> io::Result<()> {
    let head = serde_json::to_vec(head)?;
    to.write_all(&prefix(&head, blobs)?).await?;
    to.write_all(&head).await?;
    for blob in blobs {
        to.write_all(blob).await?;
    }
    to.flush().await
}

pub(super) async fn receive<T: DeserializeOwned>(
    from: &mut (impl AsyncRead + Unpin),
    max_bytes: u64,
) -> io::Result<(T, Vec<Bytes>)> {
    let mut start = [0; 8];
    from.read_exact(&mut start).await?;
    let (head, count) = counts(start)?;
    let mut lengths = Vec::with_capacity(count);
    let mut total = 0_u64;
    for _ in 0..count {
        let length = from.read_u64_le().await?;
        total = total.saturating_add(length);
        lengths.push(usize::try_from(length).map_err(invalid)?);
    }
    if total > max_bytes {
        return Err(invalid("the message is too long"));
    }
    let mut bytes = vec![0; head];
    from.read_exact(&mut bytes).await?;
    let head = serde_json::from_slice(&bytes)?;
    let mut blobs = Vec::with_capacity(count);
    for length in lengths {
        let mut blob = vec![0; length];
        from.read_exact(&mut blob).await?;
        blobs.push(blob.into());
    }
    Ok((head, blobs))
}

pub(super) fn write<T: Serialize>(
    to: &mut impl Write,
    head: &T,
    blobs: &[Bytes],
) -> io::Result<()> {
    let head = serde_json::to_vec(head)?;
    to.write_all(&prefix(&head, blobs)?)?;
    to.write_all(&head)?;
    for blob in blobs {
        to.write_all(blob)?;
    }
    to.flush()
}

/// `None` when the other side closed the pipe between two messages.
pub(super) fn read<T: DeserializeOwned>(
    from: &mut impl Read,
) -> io::Result<Option<(T, Vec<Bytes>)>> {
    let mut start = [0; 8];
    match from.read_exact(&mut start) {
        Err(e) if e.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        other => other?,
    }
    let (head, count) = counts(start)?;
    let mut lengths = Vec::with_capacity(count);
    for _ in 0..count {
        let mut length = [0; 8];
        from.read_exact(&mut length)?;
        lengths.push(usize::try_from(u64::from_le_bytes(length)).map_err(invalid)?);
    }
    let mut bytes = vec![0; head];
    from.read_exact(&mut bytes)?;
    let head = serde_json::from_slice(&bytes)?;
    let mut blobs = Vec::with_capacity(count);
    for length in lengths {
        let mut blob = vec![0; length];
        from.read_exact(&mut blob)?;
        blobs.push(blob.into());
    }
    Ok(Some((head, blobs)))
}
