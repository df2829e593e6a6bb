//! Every error answer of this room: a flat `application/problem+json`.
//!
//! A handler returns a [`Refusal`]; it travels in the response's extensions until `context::finish`, the
//! outermost layer, writes the body, so that 404s of the router, panics and handlers read alike.

use axum::{
    body::Body,
    http::{HeaderName, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use flydocs_contract::{ErrorCode, Extraction, Fault, Problem, result::ValidationResponse};

/// The result of a handler.
pub(crate) type Answer<T> = Result<T, Refusal>;

/// An error answer: a problem and the headers that go with it.
#[derive(Debug, Clone)]
pub struct Refusal(Box<Inner>);

#[derive(Debug, Clone)]
struct Inner {
    problem: Problem,
    headers: Vec<(HeaderName, HeaderValue)>,
}

impl Refusal {
    /// Refuses with a code and a sentence.
    pub fn new(code: ErrorCode, detail: impl Into<String>) -> Self {
        Self(Box::new(Inner {
            problem: Problem::new(code, detail),
            headers: Vec::new(),
        }))
    }

    /// Adds one fact to the problem's extensions.
    pub fn with(mut self, key: &str, value: impl Into<serde_json::Value>) -> Self {
        self.0.problem = self.0.problem.with(key, value);
        self
    }

    /// Adds every fact of an object.
    pub(crate) fn with_all(mut self, facts: flydocs_contract::JsonObject) -> Self {
        self.0.problem.extensions.extend(facts);
        self
    }

    /// Codes that usually stand inside a result have no status of their own: 422 when the document or the request
    /// is at fault, 503 when it may pass.
    pub(crate) fn for_http(mut self, permanent: bool) -> Self {
        if self.0.problem.status == 200 {
            self.0.problem.status = if permanent { 422 } else { 503 };
        }
        self
    }

    /// Adds a header to the answer.
    pub(crate) fn header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.0.headers.push((name, value));
        self
    }

    /// 400 with every fault at once.
    pub fn invalid(faults: &[Fault]) -> Self {
        let detail = match faults {
            [one] if one.path.is_empty() => one.message.clone(),
            [one] => format!("{}: {}", one.path, one.message),
            many => format!("the request has {} faults; errors lists them", many.len()),
        };
        Self::new(ErrorCode::InvalidRequest, detail).with("errors", as_json(&faults))
    }

    /// 400 with one fault.
    pub fn fault(path: impl Into<String>, message: impl Into<String>) -> Self {
        Self::invalid(&[Fault::new(path, message)])
    }

    /// 404 for an extraction, whatever the reason it is not there for this caller.
    pub(crate) fn no_extraction(id: &str) -> Self {
        let shown: String = id.chars().take(64).collect();
        Self::new(
            ErrorCode::NotFound,
            format!("there is no extraction {shown}; it may have been deleted after FLYDOCS_RETENTION_DAYS"),
        )
        .with("extraction_id", shown)
    }

    /// 409 with the extraction as it stands.
    pub(crate) fn conflict(code: ErrorCode, detail: impl Into<String>, now: &Extraction) -> Self {
        let facts = match serde_json::to_value(now) {
            Ok(serde_json::Value::Object(facts)) => facts,
            _ => flydocs_contract::JsonObject::new(),
        };
        Self::new(code, detail).with_all(facts)
    }

    /// 422 with the whole answer of the semantic validation.
    pub(crate) fn validation_failed(found: &ValidationResponse) -> Self {
        let detail = match found.errors.as_slice() {
            [one] => format!("{}: {}", one.path, one.message),
            many => format!(
                "the request contradicts itself in {} places; errors lists them",
                many.len()
            ),
        };
        let facts = match serde_json::to_value(found) {
            Ok(serde_json::Value::Object(facts)) => facts,
            _ => flydocs_contract::JsonObject::new(),
        };
        Self::new(ErrorCode::ValidationFailed, detail).with_all(facts)
    }

    /// 500; what happened stands in the log, not in the answer.
    pub(crate) fn internal(what: &dyn std::fmt::Display) -> Self {
        tracing::error!(error = %what, "a request failed inside");
        Self::new(
            ErrorCode::Internal,
            "something unexpected happened; the request id finds it in the service's log",
        )
    }

    /// 503: the database cannot be reached, nothing was accepted.
    pub(crate) fn unavailable(what: &dyn std::fmt::Display) -> Self {
        tracing::warn!(error = %what, "the database cannot be reached");
        Self::new(
            ErrorCode::Unavailable,
            "the database cannot be reached; nothing was accepted, ask again",
        )
        .header(header::RETRY_AFTER, HeaderValue::from_static("5"))
    }

    /// The code as it stands on the wire.
    pub fn code(&self) -> &str {
        &self.0.problem.code
    }

    /// The problem itself.
    pub fn problem(&self) -> &Problem {
        &self.0.problem
    }

    /// The answer with its body written, for this path and request.
    pub(crate) fn render(self, path: &str, request_id: &str, bare: Response) -> Response {
        let Inner {
            mut problem,
            headers,
        } = *self.0;
        problem.instance = Some(path.to_owned());
        if problem.status == 500 {
            problem = problem.with("request_id", request_id);
        }
        let status =
            StatusCode::from_u16(problem.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let (mut parts, _) = bare.into_parts();
        parts.status = status;
        parts.headers.remove(header::CONTENT_LENGTH);
        parts.headers.insert(
            header::CONTENT_TYPE,
            HeaderValue::from_static("application/problem+json"),
        );
        for (name, value) in headers {
            parts.headers.insert(name, value);
        }
        let body = serde_json::to_vec(&problem).unwrap_or_default();
        Response::from_parts(parts, Body::from(body))
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.0.problem.status)
            .unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let mut response = status.into_response();
        response.extensions_mut().insert(self);
        response
    }
}

pub(crate) fn as_json<T: serde::Serialize>(value: &T) -> serde_json::Value {
    serde_json::to_value(value).unwrap_or(serde_json::Value::Null)
}
