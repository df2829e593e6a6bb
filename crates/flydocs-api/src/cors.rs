//! Which pages of other origins a browser lets call: none, unless an operator names them.

use std::{str::FromStr, time::Duration};

use axum::http::{HeaderName, HeaderValue, Method, header};
use tower_http::cors::{AllowOrigin, CorsLayer};

/// How long a browser may remember the answer.
const REMEMBERED: Duration = Duration::from_hours(1);

/// The origins of `FLYDOCS_CORS_ORIGINS`: `https://app.example.com,...`, or `*` for every one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origins {
    /// Every page.
    Every,
    /// The pages of these.
    These(Vec<HeaderValue>),
}

/// A text that is no origin.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no origin; write https://host or https://host:port, between commas, or *")]
pub struct InvalidOrigin(String);

impl FromStr for Origins {
    type Err = InvalidOrigin;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text.trim() == "*" {
            return Ok(Self::Every);
        }
        text.split(',')
            .map(str::trim)
            .map(|origin| {
                let invalid = || InvalidOrigin(origin.to_owned());
                let url = url::Url::parse(origin).map_err(|_| invalid())?;
                // as a browser writes it: no path, no slash at the end, no usual port
                if url.origin().ascii_serialization() == origin && !origin.contains('*') {
                    HeaderValue::from_str(origin).map_err(|_| invalid())
                } else {
                    Err(invalid())
                }
            })
            .collect::<Result<_, _>>()
            .map(Self::These)
    }
}

impl Origins {
    pub(crate) fn layer(&self) -> CorsLayer {
        let origins = match self {
            Self::Every => AllowOrigin::any(),
            Self::These(origins) => AllowOrigin::list(origins.iter().cloned()),
        };
        let name = HeaderName::from_static;
        CorsLayer::new()
            .allow_origin(origins)
            .allow_methods([Method::GET, Method::POST, Method::DELETE])
            .allow_headers([
                header::ACCEPT,
                header::AUTHORIZATION,
                header::CONTENT_TYPE,
                name("idempotency-key"),
                name("last-event-id"),
                name("prefer"),
                name("traceparent"),
                name("tracestate"),
                name("x-correlation-id"),
                name("x-request-id"),
                name("x-tenant-id"),
            ])
            .expose_headers([
                header::LOCATION,
                header::RETRY_AFTER,
                name("idempotency-replayed"),
                name("preference-applied"),
                name("x-correlation-id"),
                name("x-request-id"),
            ])
            .max_age(REMEMBERED)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn origins_are_written_as_browsers_write_them() {
        assert_eq!("*".parse(), Ok(Origins::Every));
        let two: Origins = "https://a.example, http://localhost:3000".parse().unwrap();
        assert!(matches!(two, Origins::These(origins) if origins.len() == 2));
        for bad in [
            "a.example",
            "https://a.example/",
            "https://a.example:443",
            "https://*",
            "",
            "null",
        ] {
            assert!(bad.parse::<Origins>().is_err(), "{bad}");
        }
    }
}
