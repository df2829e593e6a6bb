//! Work that does what a test tells it, and remembers what was asked of it.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex},
    time::Duration,
};

use async_trait::async_trait;
use flydocs_contract::{ExtractionId, result::ExtractionResult};
use flydocs_pipeline::{Error, Input, Progress, RefineInput, Result};
use flydocs_workers::Work;
use tokio::sync::{Notify, watch};
use tokio_util::sync::CancellationToken;

/// What the work does with one attempt.
#[derive(Debug, Clone)]
pub(crate) enum Act {
    /// Gives a result.
    Succeed,
    /// Gives a result after a while, honouring nothing.
    SucceedAfter(Duration),
    /// Fails in a way that may pass.
    Transient,
    /// Fails for good.
    Permanent,
    /// Panics.
    Panic,
    /// Never ends; notes when it is cancelled.
    Hang,
    /// Ends when the test says so, honouring nothing.
    Wait(Arc<Notify>),
}

/// The work.
#[derive(Debug)]
pub(crate) struct Scripted {
    script: Mutex<VecDeque<Act>>,
    otherwise: Act,
    mark: &'static str,
    extracted: Mutex<HashMap<ExtractionId, u32>>,
    refined: Mutex<HashMap<ExtractionId, u32>>,
    at_once: Mutex<(usize, usize)>,
    started: watch::Sender<usize>,
    cancelled: watch::Sender<usize>,
}

impl Scripted {
    /// The acts in their order, then `otherwise` for ever.
    pub(crate) fn new(script: impl IntoIterator<Item = Act>, otherwise: Act) -> Arc<Self> {
        Self::marked("scripted", script, otherwise)
    }

    /// The same, with results that carry a mark.
    pub(crate) fn marked(
        mark: &'static str,
        script: impl IntoIterator<Item = Act>,
        otherwise: Act,
    ) -> Arc<Self> {
        Arc::new(Self {
            script: Mutex::new(script.into_iter().collect()),
            otherwise,
            mark,
            extracted: Mutex::default(),
            refined: Mutex::default(),
            at_once: Mutex::default(),
            started: watch::Sender::new(0),
            cancelled: watch::Sender::new(0),
        })
    }

    pub(crate) fn extractions(&self) -> HashMap<ExtractionId, u32> {
        self.extracted.lock().unwrap().clone()
    }

    pub(crate) fn refinements(&self) -> HashMap<ExtractionId, u32> {
        self.refined.lock().unwrap().clone()
    }

    /// The most attempts that ran at the same time.
    pub(crate) fn most_at_once(&self) -> usize {
        self.at_once.lock().unwrap().1
    }

    /// Waits until so many attempts were started.
    pub(crate) async fn started(&self, how_many: usize) {
        reached(&self.started, how_many).await;
    }

    /// Waits until so many hanging attempts saw that they were cancelled.
    pub(crate) async fn cancelled(&self, how_many: usize) {
        reached(&self.cancelled, how_many).await;
    }

    async fn act(&self, cancel: &CancellationToken) -> Result<()> {
        let act = self.script.lock().unwrap().pop_front();
        let _running = Running::new(self);
        self.started.send_modify(|started| *started += 1);
        match act.unwrap_or_else(|| self.otherwise.clone()) {
            Act::Succeed => Ok(()),
            Act::SucceedAfter(while_) => {
                tokio::time::sleep(while_).await;
                Ok(())
            }
            Act::Transient => Err(Error::Internal { node: "extract" }),
            Act::Permanent => Err(Error::FilesDiffer {
                detail: "on purpose".to_owned(),
            }),
            Act::Panic => panic!("on purpose"),
            Act::Hang => {
                // The work may be dropped before it comes to look: whoever is dropped is cancelled too.
                let _noted = Noted(&self.cancelled);
                cancel.cancelled().await;
                Err(Error::Cancelled)
            }
            Act::Wait(go) => {
                go.notified().await;
                Ok(())
            }
        }
    }
}

async fn reached(counter: &watch::Sender<usize>, how_many: usize) {
    let mut counter = counter.subscribe();
    let reached = counter.wait_for(|count| *count >= how_many);
    tokio::time::timeout(Duration::from_secs(20), reached)
        .await
        .expect("in time")
        .unwrap();
}

struct Noted<'a>(&'a watch::Sender<usize>);

impl Drop for Noted<'_> {
    fn drop(&mut self) {
        self.0.send_modify(|count| *count += 1);
    }
}

struct Running<'a>(&'a Scripted);

impl<'a> Running<'a> {
    fn new(work: &'a Scripted) -> Self {
        let mut at_once = work.at_once.lock().unwrap();
        at_once.0 += 1;
        at_once.1 = at_once.1.max(at_once.0);
        drop(at_once);
        Self(work)
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.at_once.lock().unwrap().0 -= 1;
    }
}

#[async_trait]
impl Work for Scripted {
    async fn extract(
        &self,
        input: Input,
        progress: Arc<dyn Progress>,
        cancel: &CancellationToken,
    ) -> Result<ExtractionResult> {
        assert_eq!(&input.files[0].source.content[..], crate::house::CONTENT);
        *self.extracted.lock().unwrap().entry(input.id).or_default() += 1;
        progress.stage_started("extract");
        self.act(cancel).await?;
        Ok(result(input.id, self.mark))
    }

    async fn refine(
        &self,
        input: RefineInput,
        _progress: Arc<dyn Progress>,
        cancel: &CancellationToken,
    ) -> Result<ExtractionResult> {
        *self
            .refined
            .lock()
            .unwrap()
            .entry(input.result.id)
            .or_default() += 1;
        self.act(cancel).await?;
        Ok(result(input.result.id, "refined"))
    }
}

/// A result that can be told from others by its model.
pub(crate) fn result(id: ExtractionId, mark: &str) -> ExtractionResult {
    serde_json::from_value(serde_json::json!({
        "id": id,
        "status": "success",
        "files": [],
        "documents": [],
        "discovered_documents": [],
        "rule_results": [],
        "request_transformations": [],
        "pipeline": {
            "model": mark, "latency_ms": 1.0, "trace": [], "errors": [], "escalation": null, "usage": null,
        },
    }))
    .unwrap()
}
