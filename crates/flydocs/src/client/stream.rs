//! Server-sent events of one extraction, taken up again where they broke off.

use std::time::Duration;

use flydocs_contract::{Extraction, LegStatus, Status};
use futures::StreamExt;
use reqwest::{Method, StatusCode, header};
use serde::Deserialize;

use super::Client;
use crate::failure::Failure;

/// How long to wait before a broken stream is taken up again.
const AGAIN: Duration = Duration::from_millis(500);

/// What a watcher was told.
#[derive(Debug, Clone)]
pub(crate) enum Told {
    /// It changed.
    State {
        /// Where it stands.
        status: Status,
        /// Where its boxes stand.
        boxes: Option<LegStatus>,
    },
    /// Its worker is there.
    Progress(String),
    /// Nothing more will happen.
    Settled(Box<Extraction>),
}

#[derive(Deserialize)]
struct State {
    status: Status,
    bbox_refinement: Option<LegStatus>,
}

#[derive(Deserialize)]
struct Progress {
    stage: String,
    pages_done: Option<u32>,
    pages_total: Option<u32>,
}

/// Watches one extraction.
#[derive(Debug)]
pub(crate) struct Watcher {
    client: Client,
    path: String,
    last: Option<String>,
}

impl Watcher {
    pub(super) const fn new(client: Client, path: String) -> Self {
        Self {
            client,
            path,
            last: None,
        }
    }

    /// Follows it to its end; `hear` is told everything on the way.
    pub(crate) async fn settled(
        mut self,
        id: &str,
        mut hear: impl FnMut(&Told),
    ) -> Result<Extraction, Failure> {
        loop {
            if let Some(done) = self.follow(&mut hear).await? {
                return Ok(done);
            }
            let now = self.client.get(id).await?;
            let open = now
                .post_processing
                .as_ref()
                .is_some_and(|p| !p.bbox_refinement.status.is_terminal());
            if now.status.is_terminal() && !open {
                return Ok(now);
            }
            tokio::time::sleep(AGAIN).await;
        }
    }

    /// One stream, until it ends or breaks.
    async fn follow(
        &mut self,
        hear: &mut impl FnMut(&Told),
    ) -> Result<Option<Extraction>, Failure> {
        let mut request = self
            .client
            .request(Method::GET, &self.path)
            .header(header::ACCEPT, "text/event-stream");
        if let Some(last) = &self.last {
            request = request.header("Last-Event-ID", last);
        }
        let response = self.client.send(request).await?;
        if response.status() == StatusCode::NO_CONTENT {
            return Ok(None);
        }
        let mut chunks = response.bytes_stream();
        let mut held = Vec::new();
        while let Some(Ok(chunk)) = chunks.next().await {
            held.extend_from_slice(&chunk);
            while let Some(end) = held.windows(2).position(|pair| pair == b"\n\n") {
                let rest = held.split_off(end + 2);
                let block = std::mem::replace(&mut held, rest);
                let Some(told) = self.read(&String::from_utf8_lossy(&block)) else {
                    continue;
                };
                hear(&told);
                if let Told::Settled(extraction) = told {
                    return Ok(Some(*extraction));
                }
            }
        }
        Ok(None)
    }

    fn read(&mut self, block: &str) -> Option<Told> {
        let (mut name, mut data) = ("", String::new());
        for line in block.lines() {
            let Some((key, value)) = line.split_once(':') else {
                continue;
            };
            let value = value.strip_prefix(' ').unwrap_or(value);
            match key {
                "id" => self.last = Some(value.to_owned()),
                "event" => name = value,
                "data" => data.push_str(value),
                _ => {}
            }
        }
        match name {
            "state" => {
                let state: State = serde_json::from_str(&data).ok()?;
                Some(Told::State {
                    status: state.status,
                    boxes: state.bbox_refinement,
                })
            }
            "progress" => {
                let at: Progress = serde_json::from_str(&data).ok()?;
                Some(Told::Progress(match (at.pages_done, at.pages_total) {
                    (Some(done), Some(total)) => format!("{}, page {done} of {total}", at.stage),
                    _ => at.stage,
                }))
            }
            "settled" => Some(Told::Settled(serde_json::from_str(&data).ok()?)),
            _ => None,
        }
    }
}
