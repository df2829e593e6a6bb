//! Files of a submission go straight into the blob store while they arrive.

use std::{io, sync::Arc};

use async_trait::async_trait;
use bytes::Bytes;
use flydocs_store::{BlobInfo, Store};
use futures::{StreamExt, stream};
use tokio::{sync::mpsc, task::JoinHandle};

use crate::{
    decode::{Landing, Upload},
    problem::{Answer, Refusal},
    refusals::store_refusal,
};

/// How many chunks wait between the socket and the store.
const CHUNKS_IN_FLIGHT: usize = 4;

/// The blob store as a landing.
#[derive(Debug)]
pub(crate) struct InStore(pub(crate) Arc<dyn Store>);

enum Part {
    Chunk(Bytes),
    /// All bytes came. A channel that closes without it is an upload that was given up.
    End,
}

#[async_trait]
impl Landing for InStore {
    async fn open(&self) -> Answer<Box<dyn Upload>> {
        let (sender, receiver) = mpsc::channel(CHUNKS_IN_FLIGHT);
        let store = Arc::clone(&self.0);
        let upload = stream::unfold(Some(receiver), |receiver| async move {
            let mut receiver: mpsc::Receiver<Part> = receiver?;
            match receiver.recv().await {
                Some(Part::Chunk(chunk)) => Some((Ok(chunk), Some(receiver))),
                Some(Part::End) => None,
                None => Some((Err(io::ErrorKind::UnexpectedEof.into()), None)),
            }
        })
        .boxed();
        let task = tokio::spawn(async move { store.put_blob(upload).await });
        Ok(Box::new(ToStore { sender, task }))
    }
}

struct ToStore {
    sender: mpsc::Sender<Part>,
    task: JoinHandle<flydocs_store::Result<BlobInfo>>,
}

#[async_trait]
impl Upload for ToStore {
    async fn write(&mut self, chunk: Bytes) -> Answer<()> {
        if !chunk.is_empty() && self.sender.send(Part::Chunk(chunk)).await.is_err() {
            return Err(outcome(&mut self.task)
                .await
                .err()
                .unwrap_or_else(|| Refusal::internal(&"the blob store stopped taking bytes")));
        }
        Ok(())
    }

    async fn finish(mut self: Box<Self>, sha256: &str, bytes: u64) -> Answer<Option<Bytes>> {
        if self.sender.send(Part::End).await.is_err() {
            tracing::debug!("the blob store ended before its upload");
        }
        let stored = outcome(&mut self.task).await?;
        if stored.id.to_string() != sha256 || stored.bytes != bytes {
            return Err(Refusal::internal(
                &"the blob store stored other bytes than came",
            ));
        }
        Ok(None)
    }
}

async fn outcome(task: &mut JoinHandle<flydocs_store::Result<BlobInfo>>) -> Answer<BlobInfo> {
    match task.await {
        Ok(Ok(info)) => Ok(info),
        Ok(Err(error)) => Err(store_refusal(&error)),
        Err(error) => Err(Refusal::internal(&error)),
    }
}
