//! The HTTP client of the client commands: one server, one key, problems as failures.

mod stream;

use std::path::PathBuf;

use flydocs_api::wire::{Delivery, DeliveryList};
use flydocs_contract::{
    ErrorCode, ExtractRequest, Extraction, Fault, Problem, result::ExtractionResultEnvelope,
    status::ExtractionList,
};
use reqwest::{Method, RequestBuilder, Response, StatusCode, header::HeaderValue, multipart};
use tokio::io::AsyncReadExt as _;
use tokio_util::io::ReaderStream;
use url::Url;

pub(crate) use stream::{Told, Watcher};

use crate::{exit::Exit, failure::Failure, files, settings::Settings};

/// One server.
#[derive(Debug, Clone)]
pub(crate) struct Client {
    http: reqwest::Client,
    base: Url,
    key: Option<String>,
    /// `FLYDOCS_MAX_BYTES` here: of what has to be held in memory to be sent.
    max_bytes: u64,
}

/// What a submission says beside the files.
#[derive(Debug, Clone, Default)]
pub(crate) struct Submission {
    /// The request, without its files.
    pub request: Option<ExtractRequest>,
    /// The files.
    pub files: Vec<PathBuf>,
    /// `Idempotency-Key`.
    pub idempotency_key: Option<String>,
    /// `X-Tenant-Id`.
    pub tenant: Option<String>,
}

impl Client {
    /// For the server of the settings.
    pub(crate) fn new(settings: &Settings) -> Result<Self, Failure> {
        let wrong = |name: &str, why: String| {
            Failure::new(
                ErrorCode::InvalidSetting,
                "a setting is wrong",
                Exit::Settings,
            )
            .with_faults(vec![Fault::new(name, why)])
        };
        let base: Url = settings
            .server
            .parse()
            .map_err(|error: url::ParseError| wrong("FLYDOCS_SERVER", error.to_string()))?;
        if !matches!(base.scheme(), "http" | "https") || !base.has_host() {
            return Err(wrong(
                "FLYDOCS_SERVER",
                "must be an http or https URL".to_owned(),
            ));
        }
        let key = settings.api_key.as_ref().map(|key| key.0.clone());
        if key
            .as_ref()
            .is_some_and(|key| HeaderValue::from_str(key).is_err())
        {
            return Err(wrong(
                "FLYDOCS_API_KEY",
                "must be one line without control characters".to_owned(),
            ));
        }
        let http = reqwest::Client::builder()
            .user_agent(concat!("flydocs/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(std::time::Duration::from_secs(10))
            .build()
            .map_err(anyhow::Error::new)?;
        Ok(Self {
            http,
            base,
            key,
            max_bytes: settings.max_bytes.0,
        })
    }

    fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let base = self.base.as_str().trim_end_matches('/');
        let request = self.http.request(method, format!("{base}{path}"));
        match &self.key {
            Some(key) => request.bearer_auth(key),
            None => request,
        }
    }

    async fn send(&self, request: RequestBuilder) -> Result<Response, Failure> {
        let response = request
            .send()
            .await
            .map_err(|error| self.unreachable(&error))?;
        if response.status().is_success() {
            return Ok(response);
        }
        Err(refused(response).await)
    }

    fn unreachable(&self, error: &reqwest::Error) -> Failure {
        let why = if error.is_connect() {
            "nobody answers there; is `flydocs up` running? (--server, FLYDOCS_SERVER)".to_owned()
        } else if error.is_timeout() {
            "it did not answer in time".to_owned()
        } else {
            error.to_string()
        };
        Failure::new(
            ErrorCode::ServerUnreachable,
            format!("{}: {why}", self.base),
            Exit::Unreachable,
        )
    }

    async fn json<T: serde::de::DeserializeOwned>(
        &self,
        request: RequestBuilder,
    ) -> Result<T, Failure> {
        let response = self.send(request).await?;
        let text = response
            .bytes()
            .await
            .map_err(|error| self.unreachable(&error))?;
        serde_json::from_slice(&text).map_err(|error| {
            anyhow::Error::new(error)
                .context(format!(
                    "{} does not answer as a flydocs server does",
                    self.base
                ))
                .into()
        })
    }

    /// `POST /extractions`, the files streamed.
    pub(crate) async fn submit(&self, submission: Submission) -> Result<Extraction, Failure> {
        let mut body = serde_json::to_value(&submission.request).map_err(anyhow::Error::new)?;
        if let Some(object) = body.as_object_mut() {
            object.shift_remove("files");
        }
        let part = multipart::Part::text(body.to_string())
            .mime_str("application/json")
            .map_err(anyhow::Error::new)?;
        let mut form = multipart::Form::new().part("request", part);
        for path in &submission.files {
            form = form.part("files", file_part(path, self.max_bytes).await?);
        }
        let mut request = self
            .request(Method::POST, "/api/v1/extractions")
            .multipart(form);
        if let Some(key) = &submission.idempotency_key {
            request = request.header("Idempotency-Key", key);
        }
        if let Some(tenant) = &submission.tenant {
            request = request.header("X-Tenant-Id", tenant);
        }
        self.json(request).await
    }

    /// `GET /extractions/{id}`.
    pub(crate) async fn get(&self, id: &str) -> Result<Extraction, Failure> {
        self.json(self.request(Method::GET, &format!("/api/v1/extractions/{}", escaped(id))))
            .await
    }

    /// `POST /extractions/{id}:cancel`.
    pub(crate) async fn cancel(&self, id: &str) -> Result<Extraction, Failure> {
        let path = format!("/api/v1/extractions/{}:cancel", escaped(id));
        self.json(self.request(Method::POST, &path)).await
    }

    /// `GET /extractions/{id}/result`.
    pub(crate) async fn result(
        &self,
        id: &str,
        wait_for_bboxes: bool,
    ) -> Result<ExtractionResultEnvelope, Failure> {
        let path = format!(
            "/api/v1/extractions/{}/result?wait_for_bboxes={wait_for_bboxes}&timeout=300",
            escaped(id)
        );
        self.json(self.request(Method::GET, &path)).await
    }

    /// `GET /extractions/{id}/deliveries`.
    pub(crate) async fn deliveries(&self, id: &str) -> Result<DeliveryList, Failure> {
        let path = format!("/api/v1/extractions/{}/deliveries", escaped(id));
        self.json(self.request(Method::GET, &path)).await
    }

    /// `POST /deliveries/{id}:redeliver`.
    pub(crate) async fn redeliver(&self, id: &str) -> Result<Delivery, Failure> {
        let path = format!("/api/v1/deliveries/{}:redeliver", escaped(id));
        self.json(self.request(Method::POST, &path)).await
    }

    /// `GET /extractions`.
    pub(crate) async fn list(&self, query: &[(&str, String)]) -> Result<ExtractionList, Failure> {
        let mut pairs = url::form_urlencoded::Serializer::new(String::new());
        pairs.extend_pairs(query);
        let path = format!("/api/v1/extractions?{}", pairs.finish());
        self.json(self.request(Method::GET, &path)).await
    }

    /// Watches an extraction until it settled.
    pub(crate) fn watch(&self, id: &str) -> Watcher {
        Watcher::new(
            self.clone(),
            format!("/api/v1/extractions/{}/events", escaped(id)),
        )
    }
}

async fn file_part(path: &std::path::Path, max_bytes: u64) -> Result<multipart::Part, Failure> {
    let unreadable = |error: std::io::Error| Failure::unreadable(path, &error);
    let facts = tokio::fs::metadata(path).await.map_err(unreadable)?;
    let name = path.file_name().map_or_else(
        || "document".to_owned(),
        |name| name.to_string_lossy().into_owned(),
    );
    if !facts.is_file() {
        // a pipe or a device does not say how long it is
        let content = files::document(path, max_bytes).await?;
        return Ok(multipart::Part::bytes(content).file_name(name));
    }
    let file = tokio::fs::File::open(path).await.map_err(unreadable)?;
    let file = file.take(facts.len());
    let stream = reqwest::Body::wrap_stream(ReaderStream::with_capacity(file, 64 << 10));
    Ok(multipart::Part::stream_with_length(stream, facts.len()).file_name(name))
}

/// A problem of the server as a failure here.
async fn refused(response: Response) -> Failure {
    let status = response.status();
    let text = response.text().await.unwrap_or_default();
    let Ok(problem) = serde_json::from_str::<Problem>(&text) else {
        return Failure::new(
            ErrorCode::ServerUnreachable,
            format!("the server answered {status} and no problem; is it a flydocs server?"),
            Exit::Unreachable,
        );
    };
    let faults = problem
        .extensions
        .get("errors")
        .and_then(|errors| errors.as_array())
        .into_iter()
        .flatten()
        .filter_map(|error| {
            let path = error.get("path")?.as_str()?;
            Some(Fault::new(path, error.get("message")?.as_str()?))
        })
        .collect();
    let exit = if status == StatusCode::SERVICE_UNAVAILABLE {
        Exit::Unreachable
    } else {
        Exit::Refused
    };
    Failure {
        code: problem.code,
        sentence: problem.detail,
        faults,
        exit,
    }
}

fn escaped(id: &str) -> String {
    url::form_urlencoded::byte_serialize(id.as_bytes()).collect()
}
