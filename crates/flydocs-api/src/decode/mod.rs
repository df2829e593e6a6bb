//! From a body, JSON or multipart, to an [`Incoming`]: the request without its files, and the files where they
//! landed. Files are limited, hashed and handed to the [`Landing`] while they arrive.

mod arrival;
mod base64;
mod json;
mod multipart;
mod scan;
mod shape;
mod strict;

use axum::{body::Body, extract::Request, http::header};
use flydocs_contract::{ErrorCode, ExtractRequest, Fault};
use serde_json::Value;
use sha2::{Digest, Sha256};

pub(crate) use arrival::{InMemory, Landed, Landing, Upload};

use crate::{
    openapi,
    options::Limits,
    problem::{Answer, Refusal},
};

/// A request as it arrived.
#[derive(Debug)]
pub(crate) struct Incoming {
    /// The request; the contents of its files are empty, they landed elsewhere.
    pub request: ExtractRequest,
    /// The files, in the request's order.
    pub files: Vec<Landed>,
    /// SHA-256 of what was asked, contents included, however it was written down.
    pub digest: String,
}

/// Reads the body of `POST /extract`, `/extract:validate` and `/extractions`.
pub(crate) async fn read(
    request: Request,
    limits: &Limits,
    landing: &dyn Landing,
) -> Answer<Incoming> {
    let kind = ContentKind::of(request.headers().get(header::CONTENT_TYPE));
    let (parts, body) = request.into_parts();
    let mut body = Some(body);
    let read = match kind {
        ContentKind::Json => json::read(&mut body, limits, landing).await,
        ContentKind::Multipart => {
            multipart::read(
                Request::from_parts(parts, body.take().unwrap_or_default()),
                limits,
                landing,
            )
            .await
        }
        ContentKind::Other(shown) => Err(Refusal::new(
            ErrorCode::UnsupportedMediaType,
            format!("the body must be application/json or multipart/form-data, not {shown}"),
        )
        .with("supported", vec!["application/json", "multipart/form-data"])),
    };
    if read.is_err()
        && let Some(rest) = body
    {
        linger(rest);
    }
    read
}

enum ContentKind {
    Json,
    Multipart,
    Other(String),
}

impl ContentKind {
    fn of(header: Option<&axum::http::HeaderValue>) -> Self {
        let Some(text) = header.and_then(|h| h.to_str().ok()) else {
            return Self::Other("nothing".to_owned());
        };
        let kind = text
            .split(';')
            .next()
            .unwrap_or_default()
            .trim()
            .to_ascii_lowercase();
        if kind == "multipart/form-data" {
            return Self::Multipart;
        }
        let json = kind == "application/json"
            || (kind.starts_with("application/") && kind.ends_with("+json"));
        if json {
            Self::Json
        } else {
            Self::Other(kind.chars().take(80).collect())
        }
    }
}

/// A body that brings nothing for this long is given up.
const IDLE: std::time::Duration = std::time::Duration::from_secs(30);

/// Waits for the next part of a body, but not for ever.
async fn patiently<T>(next: impl Future<Output = T>) -> Answer<T> {
    tokio::time::timeout(IDLE, next).await.map_err(|_| {
        Refusal::new(
            ErrorCode::Timeout,
            format!("the body stopped arriving for {} s", IDLE.as_secs()),
        )
        .with("timeout_s", IDLE.as_secs())
    })
}

/// How much of a refused body is still read, so that its sender sees the answer and not a broken pipe.
const LINGER_BYTES: usize = 64 << 20;
const LINGER: std::time::Duration = std::time::Duration::from_secs(5);

fn linger(body: Body) {
    use futures::StreamExt;
    let drain = async move {
        let mut seen = 0_usize;
        let mut chunks = body.into_data_stream();
        while let Some(Ok(chunk)) = chunks.next().await {
            seen = seen.saturating_add(chunk.len());
            if seen > LINGER_BYTES {
                break;
            }
        }
    };
    // ends by itself after LINGER, whatever the sender does
    drop(tokio::spawn(tokio::time::timeout(LINGER, drain)));
}

/// Parses JSON as a request body is parsed: a key that stands twice is a fault.
pub fn json_value(text: &[u8]) -> Result<Value, Fault> {
    strict::parse(text)
}

/// A request whose files come apart from it, such as a types file; every fault at once.
pub fn request_without_files(value: Value) -> Result<ExtractRequest, Vec<Fault>> {
    faultless(value, Shape::Multipart)
}

fn typed(value: Value, shape: Shape) -> Answer<ExtractRequest> {
    faultless(value, shape).map_err(|faults| Refusal::invalid(&faults))
}

/// A value as the request it is; every fault at once, of its shape and of what the shape cannot say.
fn faultless(value: Value, shape: Shape) -> Result<ExtractRequest, Vec<Fault>> {
    let shape::Found {
        mut faults,
        mut mended,
    } = shape::check(openapi::document(), shape.component(), value);
    let apart = shape == Shape::Multipart;
    if apart && let Some(object) = mended.as_object_mut() {
        object.shift_remove("file_options");
    }
    match serde_path_to_error::deserialize::<_, ExtractRequest>(mended) {
        Ok(request) => {
            let more = request.faults(apart);
            let known: Vec<String> = faults.iter().map(|f| f.path.clone()).collect();
            faults.extend(
                more.into_iter()
                    .filter(|f| !known.iter().any(|k| f.path.starts_with(k.as_str()))),
            );
            if faults.is_empty() {
                Ok(request)
            } else {
                Err(faults)
            }
        }
        Err(error) => {
            if faults.is_empty() {
                let path = error.path().to_string();
                faults.push(Fault::new(
                    if path == "." { String::new() } else { path },
                    error.inner().to_string(),
                ));
            }
            Err(faults)
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shape {
    Json,
    Multipart,
}

impl Shape {
    const fn component(self) -> &'static str {
        match self {
            Self::Json => "ExtractRequest",
            Self::Multipart => "MultipartRequest",
        }
    }
}

/// What was asked, contents included: equal for JSON and multipart, for `null` and an absent key.
fn digest(request: &ExtractRequest, files: &[Landed]) -> String {
    let mut hash = Sha256::new();
    let mut bare = request.clone();
    bare.files.clear();
    hash.update(serde_json::to_vec(&bare).unwrap_or_default());
    for file in files {
        // a media type is a hint only, and clients send other ones with other forms
        let facts = (&file.filename, &file.expected_type, &file.sha256);
        hash.update(serde_json::to_vec(&facts).unwrap_or_default());
    }
    hex::encode(hash.finalize())
}

/// One list of faults from several findings.
fn refuse_all(faults: &[Fault]) -> Answer<()> {
    if faults.is_empty() {
        Ok(())
    } else {
        Err(Refusal::invalid(faults))
    }
}
