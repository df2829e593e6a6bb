//! One attempt: the request with its headers, and what the receiver answered.

use std::{error::Error as _, sync::Arc, time::Duration};

use chrono::{DateTime, Utc};
use flydocs_pipeline::Clock;
use flydocs_store::{AttemptReport, Correlation, DueDelivery, webhook::ANSWER_LIMIT};
use reqwest::{
    Client, Response,
    header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, RETRY_AFTER},
    redirect,
};
use tokio::time::{Instant, timeout_at};

use super::{
    guard::{GuardedResolver, check_callback, refusal},
    policy::{Verdict, of_status},
    signature,
};
use crate::{
    error::{Error, Result},
    options::WebhookOptions,
    ports::Services,
};

const USER_AGENT: &str = concat!("flydocs/", env!("CARGO_PKG_VERSION"));
const CONNECT_WITHIN: Duration = Duration::from_secs(10);
/// How long the body of an answer is listened to: its status has said everything.
const BODY_WITHIN: Duration = Duration::from_secs(5);

/// Posts deliveries.
#[derive(Debug)]
pub(super) struct Poster {
    client: Client,
    clock: Arc<dyn Clock>,
    options: WebhookOptions,
}

/// What an attempt came to.
#[derive(Debug)]
pub(super) struct Attempt {
    pub(super) report: AttemptReport,
    pub(super) verdict: Verdict,
}

impl Poster {
    pub(super) fn new(services: &Services, options: &WebhookOptions) -> Result<Self> {
        let resolver = GuardedResolver {
            inner: Arc::clone(&services.resolver),
            allow_private: options.allow_private,
        };
        let client = Client::builder()
            .user_agent(USER_AGENT)
            .redirect(redirect::Policy::none())
            .no_proxy()
            .connect_timeout(CONNECT_WITHIN.min(options.timeout))
            .dns_resolver(Arc::new(resolver))
            .build()
            .map_err(|source| Error::WebhookClient { source })?;
        Ok(Self {
            client,
            clock: Arc::clone(&services.clock),
            options: options.clone(),
        })
    }

    /// One POST of the delivery's bytes.
    pub(super) async fn post(&self, delivery: &DueDelivery) -> Attempt {
        let began = Instant::now();
        let deadline = began + self.options.timeout;
        let answered = match check_callback(&delivery.url, self.options.allow_private) {
            Ok(url) => {
                let request = self
                    .client
                    .post(url)
                    .headers(self.headers(delivery))
                    .body(delivery.body.clone());
                timeout_at(deadline, request.send()).await
            }
            Err(refused) => {
                return failed(began, refused.to_string(), Verdict::Never);
            }
        };
        match answered {
            Ok(Ok(response)) => answer(began, deadline, self.clock.now(), response).await,
            Ok(Err(error)) => match refusal(&error) {
                Some(refused) => failed(began, refused.to_string(), Verdict::Never),
                None => failed(began, reason(&error), Verdict::Later(None)),
            },
            Err(_late) => {
                let said = format!("no answer within {} s", self.options.timeout.as_secs_f64());
                failed(began, said, Verdict::Later(None))
            }
        }
    }

    fn headers(&self, delivery: &DueDelivery) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        let Correlation {
            correlation_id,
            request_id,
            traceparent,
            tracestate,
        } = &delivery.correlation;
        // the receiver's own spans become children of this attempt, when somebody collects it
        let span = flydocs_traces::of(&tracing::Span::current());
        let (traceparent, tracestate) = match span {
            Some(span) => (Some(span.traceparent), span.tracestate),
            None => (traceparent.clone(), tracestate.clone()),
        };
        for (name, value) in [
            ("x-correlation-id", correlation_id),
            ("x-request-id", request_id),
            ("traceparent", &traceparent),
            ("tracestate", &tracestate),
        ] {
            if let Some(value) = value {
                put(&mut headers, name, value);
            }
        }
        let id = delivery.token.event_id.to_string();
        let timestamp = self.clock.now().timestamp();
        put(&mut headers, "webhook-id", &id);
        put(&mut headers, "webhook-timestamp", &timestamp.to_string());
        if let Some(secret) = &self.options.hmac_secret {
            let own = signature::own(secret, &delivery.body);
            put(&mut headers, "x-flydocs-signature", &own);
            let standard = signature::standard(secret, &id, timestamp, &delivery.body);
            put(&mut headers, "webhook-signature", &standard);
        }
        headers
    }
}

/// A value that cannot stand in a header is left out.
fn put(headers: &mut HeaderMap, name: &'static str, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        headers.insert(HeaderName::from_static(name), value);
    }
}

/// `Retry-After`: seconds, or the time of day from which the receiver wants to hear again.
fn retry_after(text: &str, now: DateTime<Utc>) -> Option<Duration> {
    let text = text.trim();
    if let Ok(seconds) = text.parse() {
        return Some(Duration::from_secs(seconds));
    }
    let at = DateTime::parse_from_rfc2822(text).ok()?;
    Some((at.to_utc() - now).to_std().unwrap_or_default())
}

async fn answer(
    began: Instant,
    deadline: Instant,
    now: DateTime<Utc>,
    response: Response,
) -> Attempt {
    let status = response.status().as_u16();
    let retry_after = response
        .headers()
        .get(RETRY_AFTER)
        .and_then(|value| value.to_str().ok())
        .and_then(|text| retry_after(text, now));
    let duration = began.elapsed();
    let body = beginning(response, deadline.min(Instant::now() + BODY_WITHIN)).await;
    Attempt {
        report: AttemptReport {
            status_code: Some(status),
            duration,
            error: None,
            answer: Some(body),
        },
        verdict: of_status(status, retry_after),
    }
}

/// The beginning of an answer; what does not come in time is not waited for.
async fn beginning(mut response: Response, deadline: Instant) -> String {
    let mut body = Vec::new();
    while body.len() < ANSWER_LIMIT {
        match timeout_at(deadline, response.chunk()).await {
            Ok(Ok(Some(chunk))) => body.extend_from_slice(&chunk),
            Ok(Ok(None) | Err(_)) | Err(_) => break,
        }
    }
    body.truncate(ANSWER_LIMIT);
    String::from_utf8_lossy(&body).into_owned()
}

fn failed(began: Instant, error: String, verdict: Verdict) -> Attempt {
    Attempt {
        report: AttemptReport {
            status_code: None,
            duration: began.elapsed(),
            error: Some(error),
            answer: None,
        },
        verdict,
    }
}

/// The innermost cause, without the URL, which may carry a secret.
fn reason(error: &reqwest::Error) -> String {
    let mut innermost: Option<&(dyn std::error::Error + 'static)> = error.source();
    while let Some(next) = innermost.and_then(std::error::Error::source) {
        innermost = Some(next);
    }
    let kind = if error.is_connect() {
        "cannot connect"
    } else {
        "the connection broke"
    };
    match innermost {
        Some(cause) => format!("{kind}: {cause}"),
        None => kind.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retry_after_is_seconds_or_a_time_of_day() {
        let now = DateTime::parse_from_rfc3339("2026-12-01T04:29:16Z")
            .unwrap()
            .to_utc();
        let asked = |text| retry_after(text, now);
        assert_eq!(asked(" 7 "), Some(Duration::from_secs(7)));
        assert_eq!(
            asked("Tue, 01 Dec 2026 04:30:46 GMT"),
            Some(Duration::from_secs(90))
        );
        assert_eq!(
            asked("Tue, 01 Dec 2026 04:00:00 GMT"),
            Some(Duration::ZERO),
            "over already"
        );
        assert_eq!(asked("soon"), None);
    }
}
