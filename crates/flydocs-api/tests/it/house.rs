//! The surface on a real store in a temporary folder, called without a socket.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use axum::{
    Router,
    body::Body,
    http::{HeaderMap, Method, Request, StatusCode, header},
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use flydocs_api::{Api, Mint, Options, Ports};
use flydocs_bus::{Bus, adapters::sqlite::SqliteBus};
use flydocs_contract::ExtractionId;
use flydocs_engines::{Engine, LocalLayout};
use flydocs_pages::{Pages, Reader};
use flydocs_pipeline::{EngineSource, Pipeline, SystemClock};
use flydocs_store::{Claimed, Store, Token, WorkerLiveness};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;
use uuid::Uuid;

use crate::{paper, shapes};

/// Ids that count, so that snapshots hold.
#[derive(Debug, Default)]
pub(crate) struct CountingMint(AtomicU64);

impl Mint for CountingMint {
    fn extraction_id(&self) -> ExtractionId {
        let n = self.0.fetch_add(1, Ordering::Relaxed);
        ExtractionId::from_parts(1_780_000_000_000 + n, u128::from(n))
    }

    fn call_id(&self) -> Uuid {
        Uuid::from_u128(u128::from(self.0.fetch_add(1, Ordering::Relaxed)))
    }
}

/// `local:layout` and nothing else.
#[derive(Debug)]
pub(crate) struct LocalOnly;

impl EngineSource for LocalOnly {
    fn engine(&self, model: Option<&str>) -> flydocs_engines::Result<Arc<dyn Engine>> {
        match model {
            None | Some("local:layout") => Ok(Arc::new(LocalLayout)),
            Some("local:panics") => panic!("an engine that does not hold"),
            Some(other) => Err(flydocs_engines::Error::UnknownModel {
                model: other.to_owned(),
                known: "local:layout".to_owned(),
            }),
        }
    }
}

/// How a house is built.
pub(crate) struct Plan {
    pub options: Options,
    pub store: flydocs_store::Options,
    pub pages: flydocs_pages::Options,
    pub reader: Option<Arc<dyn Reader>>,
}

impl Default for Plan {
    fn default() -> Self {
        Self {
            options: Options {
                version: "0.0.0".to_owned(),
                eda_adapter: "sqlite".to_owned(),
                ..Options::default()
            },
            store: flydocs_store::Options::default(),
            pages: flydocs_pages::Options {
                ocr_engine: flydocs_pages::OcrEngine::None,
                ..flydocs_pages::Options::default()
            },
            reader: None,
        }
    }
}

/// A whole house, ready to be called.
pub(crate) struct House {
    pub api: Api,
    pub store: Arc<dyn Store>,
    pub shutdown: CancellationToken,
    router: Router,
    _dir: TempDir,
}

impl House {
    pub(crate) async fn new() -> Self {
        Self::with(|_| {}).await
    }

    pub(crate) async fn with(change: impl FnOnce(&mut Plan)) -> Self {
        let mut plan = Plan::default();
        change(&mut plan);
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("flydocs.db");
        let url = format!("sqlite://{}", path.display());
        let store = flydocs_store::open(&url, plan.store).await.unwrap();
        store.migrate().await.unwrap();
        let database = flydocs_bus::sqlite::open(&path).await.unwrap();
        let bus: Arc<dyn Bus> =
            Arc::new(SqliteBus::new(database, flydocs_bus::Options::default()).unwrap());
        let reader = plan
            .reader
            .unwrap_or_else(|| Arc::new(Pages::new(plan.pages)));
        let engines: Arc<dyn EngineSource> = Arc::new(LocalOnly);
        let shutdown = CancellationToken::new();
        let ports = Ports {
            store: Arc::clone(&store),
            bus,
            pipeline: Pipeline::new(
                Arc::clone(&reader),
                Arc::clone(&engines),
                Arc::new(SystemClock),
                flydocs_pipeline::Options::default(),
            ),
            engines,
            reader,
            mint: Arc::new(CountingMint::default()),
            metrics: Arc::new(|| "flydocs_up 1\n".to_owned()),
            shutdown: shutdown.clone(),
        };
        let api = Api::new(ports, plan.options);
        Self {
            router: flydocs_api::router(api.clone()),
            api,
            store,
            shutdown,
            _dir: dir,
        }
    }

    /// Sends a request as it is.
    pub(crate) async fn send(&self, request: Request<Body>) -> Reply {
        let path = request.uri().path().to_owned();
        let method = request.method().clone();
        let response = self.router.clone().oneshot(request).await.unwrap();
        let (parts, body) = response.into_parts();
        let body = axum::body::to_bytes(body, 64 << 20).await.unwrap().to_vec();
        let reply = Reply {
            status: parts.status,
            headers: parts.headers,
            body,
        };
        shapes::hold(&method, &path, &reply);
        reply
    }

    /// The response head with its body still to come.
    pub(crate) async fn open(&self, request: Request<Body>) -> axum::response::Response {
        self.router.clone().oneshot(request).await.unwrap()
    }

    pub(crate) async fn get(&self, path: &str) -> Reply {
        self.send(ask(Method::GET, path).body(Body::empty()).unwrap())
            .await
    }

    pub(crate) async fn post(&self, path: &str, body: &Value) -> Reply {
        self.send(post(path, body)).await
    }

    pub(crate) async fn call(&self, method: Method, path: &str) -> Reply {
        self.send(ask(method, path).body(Body::empty()).unwrap())
            .await
    }

    /// Submits the usual request and gives its id.
    pub(crate) async fn submitted(&self) -> ExtractionId {
        let reply = self.post("/api/v1/extractions", &request()).await;
        assert_eq!(reply.status, 202, "{}", reply.text());
        reply.json()["id"].as_str().unwrap().parse().unwrap()
    }

    /// Claims a queued extraction, as a worker does.
    pub(crate) async fn claimed(&self, id: ExtractionId) -> (Token, WorkerLiveness) {
        let worker = self.store.register_worker("tester").await.unwrap();
        match self
            .store
            .mark_running(id, worker.instance())
            .await
            .unwrap()
        {
            Claimed::Won(claim) => (claim.token, worker),
            other => panic!("{id} could not be claimed: {other:?}"),
        }
    }

    /// Takes an extraction to its end with the result the pipeline gives.
    pub(crate) async fn succeeded(&self, wants_bbox: bool) -> ExtractionId {
        let result = self.post("/api/v1/extract", &request()).await;
        assert_eq!(result.status, 200, "{}", result.text());
        let id = self.submitted().await;
        let (token, _worker) = self.claimed(id).await;
        let done = self
            .store
            .mark_succeeded(&token, &result.text(), wants_bbox)
            .await
            .unwrap();
        assert!(done.is_some());
        id
    }

    /// Takes an extraction to its failure.
    pub(crate) async fn failed(&self) -> ExtractionId {
        let id = self.submitted().await;
        let (token, _worker) = self.claimed(id).await;
        let error = flydocs_contract::status::ExtractionError {
            code: "corrupt_pdf".to_owned(),
            message: "a.pdf cannot be read".to_owned(),
        };
        self.store
            .mark_failed(&token, &error)
            .await
            .unwrap()
            .unwrap();
        id
    }
}

/// A reply with its whole body.
#[derive(Debug)]
pub(crate) struct Reply {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: Vec<u8>,
}

impl Reply {
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|error| panic!("{error}: {}", self.text()))
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }

    /// Checks that it is a problem with this code, and gives it.
    #[track_caller]
    pub(crate) fn problem(&self, code: &str) -> Value {
        assert_eq!(
            self.header("content-type"),
            Some("application/problem+json"),
            "{} {}",
            self.status,
            self.text()
        );
        let problem = self.json();
        assert_eq!(problem["code"], code, "{problem:#}");
        assert_eq!(problem["status"], self.status.as_u16());
        assert_eq!(
            problem["type"],
            format!("https://flydocs.dev/problems/{code}")
        );
        problem
    }

    /// The body for a snapshot: times are not the point.
    pub(crate) fn shown(&self) -> String {
        let mut value = self.json();
        still(&mut value);
        serde_json::to_string_pretty(&value).unwrap()
    }
}

fn still(value: &mut Value) {
    match value {
        Value::Object(object) => {
            for (key, value) in object.iter_mut() {
                if key.ends_with("_at") && value.is_string() {
                    *value = "<time>".into();
                } else if key == "latency_ms" {
                    *value = "<ms>".into();
                } else {
                    still(value);
                }
            }
        }
        Value::Array(list) => list.iter_mut().for_each(still),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

pub(crate) fn ask(method: Method, path: &str) -> axum::http::request::Builder {
    Request::builder().method(method).uri(path)
}

pub(crate) fn post(path: &str, body: &Value) -> Request<Body> {
    ask(Method::POST, path)
        .header(header::CONTENT_TYPE, "application/json")
        .body(Body::from(body.to_string()))
        .unwrap()
}

/// A document type with one of everything that is easy to read.
pub(crate) fn invoice_type() -> Value {
    json!({"id": "invoice", "description": "an invoice", "field_groups": [{"name": "head", "fields": [
        {"name": "invoice_number", "description": "Invoice number", "required": true},
        {"name": "total", "description": "Total amount", "type": "number"},
    ]}]})
}

/// A file of a JSON request.
pub(crate) fn file(name: &str, content: &[u8]) -> Value {
    json!({"filename": name, "content_base64": STANDARD.encode(content)})
}

/// The usual request: one page, two fields.
pub(crate) fn request() -> Value {
    json!({"files": [file("invoice.pdf", &paper::invoice())], "document_types": [invoice_type()]})
}

/// A multipart body of parts (name, file name, type, content).
pub(crate) fn multipart(path: &str, parts: &[(&str, Option<&str>, &str, &[u8])]) -> Request<Body> {
    let mut body = Vec::new();
    for (name, filename, kind, content) in parts {
        body.extend(b"--edge\r\n");
        let filename = filename.map_or_else(String::new, |f| format!("; filename=\"{f}\""));
        body.extend(
            format!("Content-Disposition: form-data; name=\"{name}\"{filename}\r\nContent-Type: {kind}\r\n\r\n")
                .bytes(),
        );
        body.extend(*content);
        body.extend(b"\r\n");
    }
    body.extend(b"--edge--\r\n");
    ask(Method::POST, path)
        .header(header::CONTENT_TYPE, "multipart/form-data; boundary=edge")
        .body(Body::from(body))
        .unwrap()
}

/// Long enough for a loaded machine, short enough for a person.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);
