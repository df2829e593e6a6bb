//! What every call carries: request id, correlation id, tenant, trace; and the outermost layer that reads
//! them, echoes them, counts the call, and writes the body of every error.

use std::time::Instant;

use axum::{
    extract::{FromRequestParts, MatchedPath, Request, State},
    http::{HeaderMap, HeaderName, HeaderValue, request::Parts},
    middleware::Next,
    response::{IntoResponse, Response},
};
use flydocs_traces::TraceContext;
use tracing::Instrument;

use crate::{
    problem::Refusal,
    rate::Peer,
    state::{Api, Mint},
};

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
const CORRELATION_ID: HeaderName = HeaderName::from_static("x-correlation-id");
const TENANT_ID: HeaderName = HeaderName::from_static("x-tenant-id");
const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");
const TRACESTATE: HeaderName = HeaderName::from_static("tracestate");
const LONGEST: usize = 128;
const LONGEST_TRACESTATE: usize = 512;

/// What a call carries through the house.
#[derive(Debug, Clone)]
pub(crate) struct CallContext {
    /// Of this call alone.
    pub request_id: String,
    /// Of everything that follows from it.
    pub correlation_id: String,
    /// Whose extraction it is.
    pub tenant_id: Option<String>,
    /// The tenant this caller's key is bound to: it sees no other's extractions.
    pub bound_to: Option<String>,
    /// W3C trace context, when it is well formed.
    pub traceparent: Option<String>,
    /// Its vendor part.
    pub tracestate: Option<String>,
    /// What is stored with an extraction and handed on: this call's own span when traces are collected, else the
    /// caller's.
    pub handed_on: Option<TraceContext>,
}

impl CallContext {
    fn read(headers: &HeaderMap, mint: &dyn Mint) -> (Self, Option<Refusal>) {
        let mut refusal = None;
        let mut take = |name: &HeaderName| {
            let found = word(headers, name);
            if found.is_err() {
                refusal.get_or_insert_with(|| {
                    Refusal::fault(
                        name.as_str(),
                        format!("must be 1 to {LONGEST} visible ASCII characters"),
                    )
                });
            }
            found.ok().flatten()
        };
        let request_id = take(&REQUEST_ID).unwrap_or_else(|| mint.call_id().to_string());
        let correlation_id = take(&CORRELATION_ID).unwrap_or_else(|| mint.call_id().to_string());
        let tenant_id = take(&TENANT_ID);
        let traceparent = headers
            .get(&TRACEPARENT)
            .and_then(|v| v.to_str().ok())
            .filter(|v| is_traceparent(v))
            .map(str::to_owned);
        let tracestate = traceparent.as_ref().and_then(|_| {
            headers
                .get(&TRACESTATE)
                .and_then(|v| v.to_str().ok())
                .filter(|v| v.len() <= LONGEST_TRACESTATE)
                .map(str::to_owned)
        });
        let handed_on = traceparent.clone().map(|traceparent| TraceContext {
            traceparent,
            tracestate: tracestate.clone(),
        });
        let context = Self {
            handed_on,
            request_id,
            correlation_id,
            tenant_id,
            bound_to: None,
            traceparent,
            tracestate,
        };
        (context, refusal)
    }

    /// The tenant that look-ups are scoped to; `None` sees everybody's.
    pub(crate) fn scope(&self) -> Option<&str> {
        self.bound_to.as_deref()
    }
}

impl<S: Send + Sync> FromRequestParts<S> for CallContext {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Self::Rejection> {
        parts
            .extensions
            .get::<Self>()
            .cloned()
            .ok_or_else(|| Refusal::internal(&"the context layer is missing"))
    }
}

struct Unfit;

fn word(headers: &HeaderMap, name: &HeaderName) -> Result<Option<String>, Unfit> {
    let Some(value) = headers.get(name) else {
        return Ok(None);
    };
    let text = value.to_str().map_err(|_| Unfit)?.trim();
    if text.is_empty() {
        return Ok(None);
    }
    let fits = text.len() <= LONGEST && text.bytes().all(|b| (b' '..=b'~').contains(&b));
    if fits {
        Ok(Some(text.to_owned()))
    } else {
        Err(Unfit)
    }
}

fn is_traceparent(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    let [version, trace, parent, flags] = parts.as_slice() else {
        return false;
    };
    let hex = |part: &str, length: usize| {
        part.len() == length && part.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
    };
    let zero = |part: &str| part.bytes().all(|b| b == b'0');
    hex(version, 2)
        && *version != "ff"
        && hex(trace, 32)
        && hex(parent, 16)
        && hex(flags, 2)
        && !zero(trace)
        && !zero(parent)
}

/// The outermost layer.
pub(crate) async fn finish(State(api): State<Api>, mut request: Request, next: Next) -> Response {
    let started = Instant::now();
    let (mut context, mut refusal) = CallContext::read(request.headers(), &*api.ports.mint);
    let path = request.uri().path().to_owned();
    let method = request.method().clone();
    let route = request
        .extensions()
        .get::<MatchedPath>()
        .map_or("unmatched", MatchedPath::as_str)
        .to_owned();
    if refusal.is_none() {
        let peer = request.extensions().get::<Peer>().copied();
        refusal = api
            .admit(&path, request.headers(), peer, &mut context)
            .err();
    }
    let span = tracing::info_span!(
        "http",
        method = %method,
        route = %route,
        request.id = %context.request_id,
        correlation.id = %context.correlation_id,
    );
    flydocs_traces::adopt(
        &span,
        context.traceparent.as_deref(),
        context.tracestate.as_deref(),
    );
    if let Some(own) = flydocs_traces::of(&span) {
        context.handed_on = Some(own);
    }
    request.extensions_mut().insert(context.clone());
    let response = match refusal {
        Some(refusal) => refusal.into_response(),
        None => next.run(request).instrument(span.clone()).await,
    };
    let mut response = span.in_scope(|| complete(response, &path, &context));
    echo(&mut response, &context);
    let seconds = started.elapsed().as_secs_f64();
    let status = response.status().as_u16();
    metrics::counter!("flydocs_api_requests_total", "method" => method.to_string(), "route" => route.clone(), "status" => status.to_string()).increment(1);
    metrics::histogram!("flydocs_api_request_seconds", "method" => method.to_string(), "route" => route).record(seconds);
    span.in_scope(|| tracing::debug!(status, seconds, "answered"));
    response
}

fn complete(mut response: Response, path: &str, context: &CallContext) -> Response {
    if let Some(refusal) = response.extensions_mut().remove::<Refusal>() {
        return refusal.render(path, &context.request_id, response);
    }
    let status = response.status();
    let plain = response
        .headers()
        .get(axum::http::header::CONTENT_TYPE)
        .is_none_or(|kind| kind.as_bytes().starts_with(b"text/plain"));
    if (status.is_client_error() || status.is_server_error()) && plain {
        // a rejection of a library that does not speak problem+json
        let refusal = match status.as_u16() {
            408 => Refusal::new(
                flydocs_contract::ErrorCode::Timeout,
                "the request took too long",
            ),
            413 => Refusal::new(
                flydocs_contract::ErrorCode::RequestTooLarge,
                "the request is larger than it may be",
            ),
            400..=499 => Refusal::fault("", "the request cannot be read"),
            _ => Refusal::internal(&"a layer answered without a problem"),
        };
        return refusal.render(path, &context.request_id, response);
    }
    response
}

fn echo(response: &mut Response, context: &CallContext) {
    for (name, value) in [
        (REQUEST_ID, Some(&context.request_id)),
        (CORRELATION_ID, Some(&context.correlation_id)),
        (TRACEPARENT, context.traceparent.as_ref()),
    ] {
        if let Some(value) = value.and_then(|v| HeaderValue::from_str(v).ok()) {
            response.headers_mut().insert(name, value);
        }
    }
    response.headers_mut().insert(
        axum::http::header::X_CONTENT_TYPE_OPTIONS,
        HeaderValue::from_static("nosniff"),
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_malformed_traceparent_is_dropped() {
        let good = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
        assert!(is_traceparent(good));
        for bad in [
            "",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7",
            "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
        ] {
            assert!(!is_traceparent(bad), "{bad}");
        }
    }

    #[test]
    fn a_header_of_control_characters_is_refused() {
        let mut headers = HeaderMap::new();
        headers.insert(CORRELATION_ID, HeaderValue::from_bytes(b"a\xffb").unwrap());
        let (context, refusal) = CallContext::read(&headers, &crate::SystemMint);
        assert_eq!(refusal.unwrap().code(), "invalid_request");
        assert!(!context.correlation_id.is_empty());
    }
}
