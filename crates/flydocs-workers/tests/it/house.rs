//! A database of a test's own with workers around it, as several processes have them.

use std::{
    collections::HashMap, net::IpAddr, num::NonZeroUsize, path::PathBuf, sync::Arc, time::Duration,
};

use async_trait::async_trait;
use flydocs_bus::{Bus, adapters::sqlite::SqliteBus};
use flydocs_contract::{
    ExtractionId, JsonObject, LegStatus, Status,
    request::{DocumentTypeSpec, ExtractionOptions},
};
use flydocs_pipeline::SystemClock;
use flydocs_store::{
    Correlation, NewExtraction, Store, Stored, StoredFile, StoredRequest, Submitted,
};
use flydocs_workers::{
    BboxWorker, Chance, ExtractionWorker, Options, Reaper, Resolve, Services, Work,
};
use sqlx::{SqlitePool, sqlite::SqliteConnectOptions};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// The bytes of every file.
pub(crate) const CONTENT: &[u8] = b"invoice 4711";

/// The longest a test waits for anything.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// One database.
pub(crate) struct House {
    _directory: tempfile::TempDir,
    path: PathBuf,
    raw: SqlitePool,
    pub(crate) store_options: flydocs_store::Options,
    pub(crate) options: Options,
    /// Whoever submits and looks.
    pub(crate) store: Arc<dyn Store>,
    pub(crate) bus: Arc<dyn Bus>,
}

/// A service that runs.
pub(crate) struct Running {
    pub(crate) shutdown: CancellationToken,
    task: JoinHandle<flydocs_workers::Result<()>>,
}

impl Running {
    pub(crate) fn start<F>(run: impl FnOnce(CancellationToken) -> F) -> Self
    where
        F: Future<Output = flydocs_workers::Result<()>> + Send + 'static,
    {
        let shutdown = CancellationToken::new();
        Self {
            task: tokio::spawn(run(shutdown.clone())),
            shutdown,
        }
    }

    /// Shuts it down and waits for its end.
    pub(crate) async fn stop(self) {
        self.shutdown.cancel();
        self.ended().await;
    }

    pub(crate) async fn ended(self) {
        tokio::time::timeout(PATIENCE, self.task)
            .await
            .expect("it ends in time")
            .unwrap()
            .unwrap();
    }

    /// Ends it as a crash does: nothing of it runs on, nothing is given back.
    pub(crate) async fn kill(self) {
        self.task.abort();
        assert!(self.task.await.unwrap_err().is_cancelled());
    }
}

#[derive(Debug)]
struct NoJitter;

impl Chance for NoJitter {
    fn share(&self) -> f64 {
        0.0
    }
}

/// Names as a test defines them.
#[derive(Debug, Default)]
pub(crate) struct Names(pub(crate) HashMap<&'static str, Vec<IpAddr>>);

#[async_trait]
impl Resolve for Names {
    async fn resolve(&self, host: &str) -> std::io::Result<Vec<IpAddr>> {
        self.0
            .get(host)
            .cloned()
            .ok_or_else(|| std::io::Error::other("no such name"))
    }
}

impl House {
    pub(crate) async fn new() -> Self {
        Self::with(|_, _| {}).await
    }

    /// A house whose settings a test changes.
    pub(crate) async fn with(
        change: impl FnOnce(&mut flydocs_store::Options, &mut Options),
    ) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("flydocs.db");
        let mut store_options = flydocs_store::Options {
            heartbeat_interval: Duration::from_millis(200),
            ..flydocs_store::Options::default()
        };
        let mut options = Options {
            name: "test".to_owned(),
            worker_concurrency: NonZeroUsize::new(4).unwrap(),
            bbox_worker_concurrency: NonZeroUsize::new(4).unwrap(),
            liveness_interval: Duration::from_millis(100),
            reaper_sweep_interval: Duration::from_millis(200),
            retry_base_delay: Duration::from_millis(10),
            shutdown_grace: Duration::from_secs(10),
            held_elsewhere_delay: Duration::from_mins(10),
            ..Options::default()
        };
        change(&mut store_options, &mut options);
        let store = flydocs_store::open(&url(&path), store_options.clone())
            .await
            .unwrap();
        store.migrate().await.unwrap();
        let bus = bus(&path, &store).await;
        let raw = SqliteConnectOptions::new()
            .filename(&path)
            .busy_timeout(Duration::from_secs(30));
        Self {
            _directory: directory,
            raw: SqlitePool::connect_lazy_with(raw),
            path,
            store_options,
            options,
            store,
            bus,
        }
    }

    /// What a process of its own stands on: its own connections, the same database.
    pub(crate) async fn process(&self, work: Arc<dyn Work>) -> Services {
        let store = flydocs_store::open(&url(&self.path), self.store_options.clone())
            .await
            .unwrap();
        let bus = bus(&self.path, &store).await;
        Services {
            store,
            bus,
            work,
            clock: Arc::new(SystemClock),
            chance: Arc::new(NoJitter),
            resolver: Arc::new(Names::default()),
        }
    }

    pub(crate) async fn worker(&self, work: Arc<dyn Work>) -> Running {
        let services = self.process(work).await;
        let worker = ExtractionWorker::new(services, self.options.clone());
        Running::start(|shutdown| worker.run(shutdown))
    }

    pub(crate) async fn bbox_worker(&self, work: Arc<dyn Work>) -> Running {
        let services = self.process(work).await;
        let worker = BboxWorker::new(services, self.options.clone());
        Running::start(|shutdown| worker.run(shutdown))
    }

    pub(crate) fn extraction_reaper(&self) -> Running {
        let reaper = Reaper::of_extractions(self.store.clone(), self.options.clone());
        Running::start(|shutdown| reaper.run(shutdown))
    }

    pub(crate) fn bbox_reaper(&self) -> Running {
        let reaper = Reaper::of_bboxes(self.store.clone(), self.options.clone());
        Running::start(|shutdown| reaper.run(shutdown))
    }

    pub(crate) async fn submit(&self) -> ExtractionId {
        self.submit_with(|_| {}).await
    }

    pub(crate) async fn submit_with_boxes(&self) -> ExtractionId {
        self.submit_with(|new| new.request.options.stages.bbox_refine = true)
            .await
    }

    pub(crate) async fn submit_with(
        &self,
        change: impl FnOnce(&mut NewExtraction),
    ) -> ExtractionId {
        let upload = Box::pin(futures::stream::iter([Ok(bytes::Bytes::from_static(
            CONTENT,
        ))]));
        let blob = self.store.put_blob(upload).await.unwrap();
        let mut new = NewExtraction {
            id: ExtractionId::from_parts(1_700_000_000_000, uuid::Uuid::new_v4().as_u128()),
            tenant_id: None,
            idempotency_key: None,
            request_digest: "digest".to_owned(),
            request: StoredRequest {
                intention: "read it".to_owned(),
                document_types: vec![invoice()],
                rules: Vec::new(),
                options: ExtractionOptions::default(),
                files: vec![StoredFile {
                    filename: "invoice.pdf".to_owned(),
                    content_type: None,
                    expected_type: None,
                    sha256: blob.id,
                    bytes: blob.bytes,
                }],
            },
            callback_url: None,
            metadata: JsonObject::new(),
            correlation: Correlation {
                correlation_id: Some("corr-1".to_owned()),
                ..Correlation::default()
            },
        };
        change(&mut new);
        match self.store.submit(new).await.unwrap() {
            Submitted::New(stored) => stored.extraction.id,
            other => panic!("not new: {other:?}"),
        }
    }

    pub(crate) async fn row(&self, id: ExtractionId) -> Stored {
        self.store.get(id, None).await.unwrap().unwrap()
    }

    /// Waits until the row is as wanted.
    pub(crate) async fn until(&self, id: ExtractionId, wanted: impl Fn(&Stored) -> bool) -> Stored {
        let mut watch = self.store.watch(id);
        let waiting = async {
            loop {
                let row = self.row(id).await;
                if wanted(&row) {
                    return row;
                }
                watch.changed().await;
            }
        };
        let Ok(row) = tokio::time::timeout(PATIENCE, waiting).await else {
            panic!("still waiting: {:?}", self.row(id).await)
        };
        row
    }

    pub(crate) async fn until_status(&self, id: ExtractionId, status: Status) -> Stored {
        self.until(id, |row| row.extraction.status == status).await
    }

    pub(crate) async fn until_leg(&self, id: ExtractionId, status: LegStatus) -> Stored {
        self.until(id, |row| row.leg_status() == Some(status)).await
    }

    /// The mark of the stored result.
    pub(crate) async fn mark(&self, id: ExtractionId) -> String {
        let result = self.store.result(id, None).await.unwrap().unwrap();
        let result: serde_json::Value = serde_json::from_str(&result).unwrap();
        result["pipeline"]["model"].as_str().unwrap().to_owned()
    }

    /// Every event is lost, as if the process that published or carried it had died.
    pub(crate) async fn lose_every_event(&self) {
        for table in ["DELETE FROM bus_deliveries", "DELETE FROM bus_outbox"] {
            sqlx::query(table).execute(&self.raw).await.unwrap();
        }
    }

    /// A statement behind the store's back.
    pub(crate) async fn execute(&self, sql: &'static str) {
        sqlx::query(sql).execute(&self.raw).await.unwrap();
    }

    /// The same, about one extraction: `?1` is its id.
    pub(crate) async fn execute_about(&self, id: ExtractionId, sql: &'static str) {
        let changed = sqlx::query(sql)
            .bind(id.to_string())
            .execute(&self.raw)
            .await
            .unwrap();
        assert_ne!(changed.rows_affected(), 0);
    }

    pub(crate) async fn number(&self, sql: &'static str) -> i64 {
        sqlx::query_scalar(sql).fetch_one(&self.raw).await.unwrap()
    }

    /// Waits until a figure of the database is as wanted; nothing tells of it, so it is looked at again and again.
    pub(crate) async fn until_number(&self, sql: &'static str, wanted: i64) {
        let waiting = async {
            while self.number(sql).await != wanted {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        tokio::time::timeout(PATIENCE, waiting)
            .await
            .expect("in time");
    }
}

fn url(path: &std::path::Path) -> String {
    format!("sqlite://{}", path.display())
}

async fn bus(path: &std::path::Path, store: &Arc<dyn Store>) -> Arc<dyn Bus> {
    let database = flydocs_bus::sqlite::open(path).await.unwrap();
    let options = flydocs_bus::Options {
        poll: Duration::from_millis(500),
        ..flydocs_bus::Options::default()
    };
    let bus = Arc::new(SqliteBus::new(database, options).unwrap());
    let waker = Arc::clone(&bus);
    store.on_published(Arc::new(move |topic| waker.wake(topic)));
    bus
}

fn invoice() -> DocumentTypeSpec {
    serde_json::from_value(serde_json::json!({
        "id": "invoice",
        "field_groups": [{"name": "totals", "fields": [{"name": "total", "type": "number"}]}],
    }))
    .unwrap()
}
