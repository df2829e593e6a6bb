//! The other end, for whoever writes a receiver: takes webhooks, checks their signatures, hands them on.

use std::{sync::Arc, time::Duration};

use axum::{
    Router,
    body::Bytes,
    extract::State,
    http::{
        HeaderMap, HeaderName, StatusCode,
        header::{CONTENT_TYPE, LOCATION, RETRY_AFTER},
    },
    response::{IntoResponse, Response},
};
use flydocs_pipeline::Clock;
use serde::Deserialize;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use url::Url;

use super::signature::{NotSigned, SignedHeaders, check_signature};
use crate::{
    error::{Error, Result},
    options::Secret,
};

/// How long whoever it is handed on to may take.
const FORWARD_WITHIN: Duration = Duration::from_mins(1);
/// How far from now a webhook may be signed.
const TOLERANCE: Duration = Duration::from_mins(5);
/// Headers of a webhook that are handed on with it.
const HANDED_ON: [&str; 10] = [
    "content-type",
    "user-agent",
    "traceparent",
    "tracestate",
    "webhook-id",
    "webhook-timestamp",
    "webhook-signature",
    "x-correlation-id",
    "x-flydocs-signature",
    "x-request-id",
];
/// Headers of an answer that are handed back with it: they say what happens next.
const HANDED_BACK: [HeaderName; 3] = [CONTENT_TYPE, LOCATION, RETRY_AFTER];
/// As much of the body of an answer is handed back.
const HANDED_BACK_LIMIT: usize = 64 * 1024;

/// What is told of each webhook.
#[derive(Debug, Clone)]
pub struct Heard {
    /// `webhook-id`.
    pub id: Option<String>,
    /// `event_type` of the envelope.
    pub event_type: Option<String>,
    /// The extraction it speaks of, and its status.
    pub extraction: Option<(String, String)>,
    /// Whether it is signed; `None` without a secret.
    pub signed: Option<Result<(), NotSigned>>,
    /// What the one it was handed on to answered, or why it did not; `None` when it is not handed on.
    pub forwarded: Option<Result<u16, String>>,
    /// What was answered.
    pub answered: u16,
}

/// Takes webhooks on any path.
#[derive(Clone)]
pub struct Listener {
    secret: Option<Secret>,
    forward: Option<Url>,
    clock: Arc<dyn Clock>,
    client: reqwest::Client,
    tell: Arc<dyn Fn(Heard) + Send + Sync>,
}

impl std::fmt::Debug for Listener {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Listener")
            .field("forward", &self.forward)
            .finish_non_exhaustive()
    }
}

/// Of an envelope only what is told.
#[derive(Debug, Deserialize)]
struct About {
    event_type: String,
    extraction: AboutExtraction,
}

#[derive(Debug, Deserialize)]
struct AboutExtraction {
    id: String,
    status: String,
}

impl Listener {
    /// A listener that checks signatures when it has a secret, and hands on to `forward` when there is one.
    pub fn new(
        secret: Option<Secret>,
        forward: Option<Url>,
        clock: Arc<dyn Clock>,
        tell: impl Fn(Heard) + Send + Sync + 'static,
    ) -> Result<Self> {
        let client = reqwest::Client::builder()
            .timeout(FORWARD_WITHIN)
            .redirect(reqwest::redirect::Policy::none())
            .build()
            .map_err(|source| Error::WebhookClient { source })?;
        Ok(Self {
            secret,
            forward,
            clock,
            client,
            tell: Arc::new(tell),
        })
    }

    /// Takes webhooks until `shutdown` fires.
    pub async fn run(self, listener: TcpListener, shutdown: CancellationToken) -> Result<()> {
        let routes = Router::new().fallback(take).with_state(self);
        axum::serve(listener, routes)
            .with_graceful_shutdown(async move { shutdown.cancelled().await })
            .await
            .map_err(|source| Error::HealthServer { source })
    }

    async fn hand_on(
        &self,
        url: &Url,
        headers: &HeaderMap,
        body: &Bytes,
    ) -> Result<Response, String> {
        let mut request = self.client.post(url.clone()).body(body.clone());
        for name in HANDED_ON.map(HeaderName::from_static) {
            if let Some(value) = headers.get(&name) {
                request = request.header(name, value);
            }
        }
        match request.send().await {
            Ok(response) => Ok(back(response).await),
            Err(error) if error.is_connect() => Err("nobody answers there".to_owned()),
            Err(error) if error.is_timeout() => Err("no answer in time".to_owned()),
            Err(_) => Err("the connection broke".to_owned()),
        }
    }
}

/// The answer of the one it was handed on to.
async fn back(mut answer: reqwest::Response) -> Response {
    let mut body = Vec::new();
    while body.len() < HANDED_BACK_LIMIT {
        match answer.chunk().await {
            Ok(Some(chunk)) => body.extend_from_slice(&chunk),
            Ok(None) | Err(_) => break,
        }
    }
    body.truncate(HANDED_BACK_LIMIT);
    let mut back = Response::new(body.into());
    *back.status_mut() = answer.status();
    for name in HANDED_BACK {
        if let Some(value) = answer.headers().get(&name) {
            back.headers_mut().insert(name, value.clone());
        }
    }
    back
}

/// Answers as the one it is handed on to does, so that retries can be tried out.
async fn take(State(listener): State<Listener>, headers: HeaderMap, body: Bytes) -> Response {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let signed = listener.secret.as_ref().map(|secret| {
        let given = SignedHeaders {
            own: text("x-flydocs-signature"),
            id: text("webhook-id"),
            timestamp: text("webhook-timestamp"),
            standard: text("webhook-signature"),
        };
        let now = listener.clock.now().timestamp();
        check_signature(secret, given, &body, now, TOLERANCE)
    });
    let trusted = signed.is_none_or(|signed| signed.is_ok());
    let forwarded = match &listener.forward {
        Some(url) if trusted => Some(listener.hand_on(url, &headers, &body).await),
        _ => None,
    };
    let told = forwarded.as_ref().map(|forwarded| match forwarded {
        Ok(answer) => Ok(answer.status().as_u16()),
        Err(why) => Err(why.clone()),
    });
    let answered = match forwarded {
        _ if !trusted => StatusCode::UNAUTHORIZED.into_response(),
        Some(Ok(answer)) => answer,
        Some(Err(_)) => StatusCode::BAD_GATEWAY.into_response(),
        None => StatusCode::NO_CONTENT.into_response(),
    };
    let about: Option<About> = serde_json::from_slice(&body).ok();
    (listener.tell)(Heard {
        id: text("webhook-id").map(str::to_owned),
        event_type: about.as_ref().map(|about| about.event_type.clone()),
        extraction: about.map(|about| (about.extraction.id, about.extraction.status)),
        signed,
        forwarded: told,
        answered: answered.status().as_u16(),
    });
    answered
}

#[cfg(test)]
mod tests {
    use axum::body::{Body, to_bytes};

    use super::*;

    #[tokio::test]
    async fn an_answer_is_handed_back_with_what_says_what_happens_next() {
        let answer = axum::http::Response::builder()
            .status(429)
            .header(RETRY_AFTER, "7")
            .header("set-cookie", "its own")
            .body("later")
            .unwrap();
        let (parts, body) = back(answer.into()).await.into_parts();
        assert_eq!(parts.status, StatusCode::TOO_MANY_REQUESTS);
        assert_eq!(parts.headers[RETRY_AFTER], "7");
        assert_eq!(parts.headers.get("set-cookie"), None);
        let body: Body = body;
        assert_eq!(to_bytes(body, 100).await.unwrap(), "later");
    }
}
