//! A database of a test's own, opened as often as the test likes, with a side door for looking and for time travel.

use std::{sync::Arc, time::Duration};

use flydocs_contract::{
    ExtractionId, JsonObject,
    request::{DocumentTypeSpec, ExtractionOptions},
    status::ExtractionError,
};
use flydocs_store::{
    BlobId, Claim, Claimed, Correlation, LegClaim, LegClaimed, NewExtraction, Options, Requeue,
    Store, Stored, StoredFile, StoredRequest, Submitted, WorkerLiveness,
};
use sqlx::{AssertSqlSafe, PgPool, Row as _, SqlitePool, sqlite::SqliteConnectOptions};
use tempfile::TempDir;

/// The database.
pub(crate) struct Place {
    kind: Kind,
    pub(crate) url: String,
}

enum Kind {
    Sqlite {
        _directory: TempDir,
        raw: SqlitePool,
    },
    Postgres {
        raw: PgPool,
    },
}

/// One event as it stands in the outbox.
#[derive(Debug)]
pub(crate) struct OutboxEvent {
    pub(crate) event_type: String,
    pub(crate) payload: serde_json::Value,
    pub(crate) delay_ms: i64,
}

impl Place {
    /// A SQLite file, migrated.
    pub(crate) async fn sqlite() -> Self {
        let place = Self::sqlite_empty();
        place.open().await.migrate().await.unwrap();
        place
    }

    pub(crate) fn sqlite_empty() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("flydocs.db");
        let options = SqliteConnectOptions::new()
            .filename(&path)
            .create_if_missing(true)
            .busy_timeout(Duration::from_secs(30));
        Self {
            url: format!("sqlite://{}", path.display()),
            kind: Kind::Sqlite {
                raw: SqlitePool::connect_lazy_with(options),
                _directory: directory,
            },
        }
    }

    /// A PostgreSQL database, migrated.
    pub(crate) async fn postgres() -> Self {
        let place = Self::postgres_empty().await;
        place.open().await.migrate().await.unwrap();
        place
    }

    pub(crate) async fn postgres_empty() -> Self {
        let database = flydocs_testkit::postgres::database().await.unwrap();
        Self {
            kind: Kind::Postgres {
                raw: PgPool::connect_lazy(&database.url).unwrap(),
            },
            url: database.url,
        }
    }

    pub(crate) async fn open(&self) -> Arc<dyn Store> {
        self.open_with(Options::default()).await
    }

    pub(crate) async fn open_with(&self, options: Options) -> Arc<dyn Store> {
        flydocs_store::open(&self.url, options).await.unwrap()
    }

    /// Several stores over one database, as several processes have them.
    pub(crate) async fn open_many(&self, n: usize) -> Vec<Arc<dyn Store>> {
        let mut stores = Vec::new();
        for _ in 0..n {
            stores.push(self.open().await);
        }
        stores
    }

    /// Runs a statement behind the store's back, in the dialect of the place.
    pub(crate) async fn execute(&self, sqlite: &str, postgres: &str) -> u64 {
        match &self.kind {
            Kind::Sqlite { raw, .. } => {
                let done = sqlx::query(AssertSqlSafe(sqlite)).execute(raw).await;
                done.unwrap().rows_affected()
            }
            Kind::Postgres { raw } => {
                let done = sqlx::query(AssertSqlSafe(postgres)).execute(raw).await;
                done.unwrap().rows_affected()
            }
        }
    }

    pub(crate) async fn number(&self, sql: &str) -> i64 {
        let number = match &self.kind {
            Kind::Sqlite { raw, .. } => sqlx::query_scalar(AssertSqlSafe(sql)).fetch_one(raw).await,
            Kind::Postgres { raw } => sqlx::query_scalar(AssertSqlSafe(sql)).fetch_one(raw).await,
        };
        number.unwrap()
    }

    pub(crate) async fn texts(&self, sqlite: &str, postgres: &str) -> Vec<String> {
        let texts = match &self.kind {
            Kind::Sqlite { raw, .. } => {
                sqlx::query_scalar(AssertSqlSafe(sqlite))
                    .fetch_all(raw)
                    .await
            }
            Kind::Postgres { raw } => {
                sqlx::query_scalar(AssertSqlSafe(postgres))
                    .fetch_all(raw)
                    .await
            }
        };
        texts.unwrap()
    }

    /// The ids a query of PostgreSQL gives in its first column.
    pub(crate) async fn rows(&self, sql: &str) -> Vec<ExtractionId> {
        let Kind::Postgres { raw } = &self.kind else {
            panic!("for PostgreSQL");
        };
        let rows = sqlx::query(AssertSqlSafe(sql))
            .fetch_all(raw)
            .await
            .unwrap();
        rows.iter()
            .map(|row| row.get::<String, _>(0).parse().unwrap())
            .collect()
    }

    /// Moves a time of a row into the past.
    pub(crate) async fn backdate(&self, id: ExtractionId, column: &str, by: Duration) {
        let seconds = by.as_secs_f64();
        let changed = self
            .execute(
                &format!(
                    "UPDATE extractions SET {column} = strftime('%Y-%m-%dT%H:%M:%fZ', {column}, '-{seconds} seconds')
                     WHERE id = '{id}'"
                ),
                &format!(
                    "UPDATE extractions SET {column} = {column} - make_interval(secs => {seconds}) WHERE id = '{id}'"
                ),
            )
            .await;
        assert_eq!(changed, 1);
    }

    /// Moves a time of a leg into the past.
    pub(crate) async fn backdate_leg(&self, id: ExtractionId, member: &str, by: Duration) {
        let seconds = by.as_secs_f64();
        let changed = self
            .execute(
                &format!(
                    "UPDATE extractions SET post_processing = json_set(post_processing, '$.bbox_refinement.{member}',
                       strftime('%Y-%m-%dT%H:%M:%fZ', post_processing ->> '$.bbox_refinement.{member}', '-{seconds} seconds'))
                     WHERE id = '{id}'"
                ),
                &format!(
                    "UPDATE extractions SET post_processing = jsonb_set(post_processing, '{{bbox_refinement,{member}}}',
                       to_jsonb(to_char(((post_processing->'bbox_refinement'->>'{member}')::timestamptz
                         - make_interval(secs => {seconds})) AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.MS\"Z\"')))
                     WHERE id = '{id}'"
                ),
            )
            .await;
        assert_eq!(changed, 1);
    }

    /// Every event of the outbox, oldest first.
    pub(crate) async fn outbox(&self) -> Vec<OutboxEvent> {
        let rows = self
            .texts(
                "SELECT json_object('event_type', event_type, 'payload', json(payload),
                        'delay_ms', available_at - created_at) FROM bus_outbox ORDER BY id",
                "SELECT json_build_object('event_type', event_type, 'payload', payload::json,
                        'delay_ms', (extract(epoch FROM available_at - created_at) * 1000)::bigint)::text
                 FROM bus.outbox ORDER BY id",
            )
            .await;
        rows.iter()
            .map(|row| {
                let mut row: serde_json::Value = serde_json::from_str(row).unwrap();
                OutboxEvent {
                    event_type: row["event_type"].as_str().unwrap().to_owned(),
                    delay_ms: row["delay_ms"].as_i64().unwrap(),
                    payload: row["payload"].take(),
                }
            })
            .collect()
    }

    /// The types of the events about one extraction, oldest first.
    pub(crate) async fn events_of(&self, id: ExtractionId) -> Vec<String> {
        let id = id.to_string();
        self.outbox()
            .await
            .into_iter()
            .filter(|event| event.payload["extraction"]["id"] == id.as_str())
            .map(|event| event.event_type)
            .collect()
    }

    /// Makes the bus believe that everybody has handled every event so far.
    pub(crate) async fn settle_events(&self) {
        let destinations = r#"["flydocs.extractions","flydocs.extractions.post_processing"]"#;
        let types = r#"["extraction.submitted","extraction.post_processing.requested"]"#;
        self.execute(
            &format!(
                "INSERT INTO bus_offsets (consumer_group, lock_key, destinations, event_types, last_event_id, updated_at)
                 SELECT 'everybody', 1, '{destinations}', '{types}', max(id), 0 FROM bus_outbox WHERE true
                 ON CONFLICT (consumer_group) DO UPDATE SET last_event_id = excluded.last_event_id"
            ),
            &format!(
                "INSERT INTO bus.offsets (consumer_group, lock_key, destinations, event_types, low_xid)
                 SELECT 'everybody', 1, ARRAY(SELECT json_array_elements_text('{destinations}')),
                        ARRAY(SELECT json_array_elements_text('{types}')), pg_current_xact_id()
                 ON CONFLICT (consumer_group) DO UPDATE SET low_xid = excluded.low_xid"
            ),
        )
        .await;
    }
}

/// A fresh id.
pub(crate) fn fresh_id() -> ExtractionId {
    let random = uuid::Uuid::new_v4().as_u128();
    let now = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap();
    ExtractionId::from_parts(now.as_millis() as u64, random)
}

/// Stores bytes.
pub(crate) async fn put(store: &dyn Store, content: &[u8]) -> BlobId {
    let content = bytes::Bytes::copy_from_slice(content);
    let upload = Box::pin(futures::stream::iter([Ok(content)]));
    store.put_blob(upload).await.unwrap().id
}

/// A submission of one small file that is stored already.
pub(crate) async fn new_extraction(store: &dyn Store) -> NewExtraction {
    let content = b"invoice 4711";
    let sha256 = put(store, content).await;
    NewExtraction {
        id: fresh_id(),
        tenant_id: None,
        idempotency_key: None,
        request_digest: "digest".into(),
        request: request(sha256, content.len() as u64),
        callback_url: None,
        metadata: JsonObject::new(),
        correlation: Correlation {
            correlation_id: Some("corr-1".into()),
            ..Correlation::default()
        },
    }
}

pub(crate) fn request(sha256: BlobId, bytes: u64) -> StoredRequest {
    let invoice = serde_json::json!({
        "id": "invoice",
        "field_groups": [{"name": "totals", "fields": [{"name": "total", "type": "number"}]}],
    });
    let invoice: DocumentTypeSpec = serde_json::from_value(invoice).unwrap();
    StoredRequest {
        intention: "read it".into(),
        document_types: vec![invoice],
        rules: Vec::new(),
        options: ExtractionOptions::default(),
        files: vec![StoredFile {
            filename: "invoice.pdf".into(),
            content_type: None,
            expected_type: None,
            sha256,
            bytes,
        }],
    }
}

/// Submits one and returns its id.
pub(crate) async fn submit(store: &dyn Store) -> ExtractionId {
    let new = new_extraction(store).await;
    submitted(store.submit(new).await.unwrap()).extraction.id
}

/// The row of a submission that was new.
pub(crate) fn submitted(submitted: Submitted) -> Stored {
    match submitted {
        Submitted::New(stored) => *stored,
        other => panic!("not new: {other:?}"),
    }
}

/// Claims a row that must be there for the taking.
pub(crate) async fn claim(store: &dyn Store, id: ExtractionId, worker: &str) -> Claim {
    match store.mark_running(id, worker).await.unwrap() {
        Claimed::Won(claim) => *claim,
        other => panic!("not won: {other:?}"),
    }
}

/// Claims a leg that must be there for the taking.
pub(crate) async fn claim_leg(store: &dyn Store, id: ExtractionId, worker: &str) -> LegClaim {
    match store
        .mark_bbox_refinement_running(id, worker)
        .await
        .unwrap()
    {
        LegClaimed::Won(claim) => *claim,
        other => panic!("not won: {other:?}"),
    }
}

/// Submits one and brings it to succeeded with a pending leg.
pub(crate) async fn with_pending_leg(store: &dyn Store) -> ExtractionId {
    let id = submit(store).await;
    let claim = claim(store, id, "w").await;
    store
        .mark_succeeded(&claim.token, &result(id, "first"), true)
        .await
        .unwrap()
        .unwrap();
    id
}

/// A result that can be told from others.
pub(crate) fn result(id: ExtractionId, mark: &str) -> String {
    serde_json::json!({
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
    })
    .to_string()
}

pub(crate) fn error(code: &str) -> ExtractionError {
    ExtractionError {
        code: code.into(),
        message: format!("because of {code}"),
    }
}

pub(crate) fn requeue(delay: Duration) -> Requeue {
    Requeue {
        delay,
        error: error("engine_error"),
    }
}

pub(crate) const LONG: Duration = Duration::from_secs(100_000);

/// Ends a worker and waits until that is noticed: a database hears of the end of a session a moment later.
pub(crate) async fn end_worker(store: &dyn Store, worker: WorkerLiveness) {
    let instance = worker.instance().to_owned();
    drop(worker);
    let noticed = async {
        while !store.sweep_workers().await.unwrap().contains(&instance) {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), noticed)
        .await
        .expect("it is dead");
}
