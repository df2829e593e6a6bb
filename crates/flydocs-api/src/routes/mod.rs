//! The routes: one file each, and the table that puts them together.

pub(crate) mod actuator;
pub(crate) mod docs;
pub(crate) mod extract;
pub(crate) mod extractions;
pub(crate) mod validate;
pub(crate) mod version;

use axum::{
    Router,
    extract::{DefaultBodyLimit, Request},
    http::{HeaderMap, HeaderValue, Method, Uri, header},
    middleware::{Next, from_fn, from_fn_with_state},
    response::Response,
    routing::{get, post},
};
use flydocs_contract::ErrorCode;
use tower_http::catch_panic::CatchPanicLayer;

use crate::{
    context,
    cors::Origins,
    negotiate::accepts,
    problem::{Answer, Refusal},
    state::Api,
};

const JSON: &[&str] = &["application/json", "application/problem+json"];

/// Every route of the service.
pub fn router(api: Api) -> Router {
    let json = Router::new()
        .route("/api/v1/extract", post(extract::extract))
        .route("/api/v1/extract:validate", post(validate::validate))
        .route(
            "/api/v1/extractions",
            post(extractions::submit::submit).get(extractions::list::list),
        )
        .route(
            "/api/v1/extractions/{id}",
            get(extractions::get::get)
                .delete(extractions::delete::delete)
                .post(extractions::actions::act),
        )
        .route(
            "/api/v1/extractions/{id}/result",
            get(extractions::result::result),
        )
        .route(
            "/api/v1/extractions/{id}/deliveries",
            get(extractions::deliveries::deliveries),
        )
        .route(
            "/api/v1/deliveries/{id}",
            post(extractions::deliveries::act),
        )
        .route("/api/v1/version", get(version::version))
        .route("/openapi.json", get(docs::openapi))
        .route("/actuator/health", get(actuator::health))
        .route("/actuator/health/liveness", get(actuator::liveness))
        .route("/actuator/health/readiness", get(actuator::readiness))
        .layer(from_fn(json_only));
    let cors = api.options.cors_origins.as_ref().map(Origins::layer);
    let routes = Router::new()
        .merge(json)
        .route(
            "/api/v1/extractions/{id}/events",
            get(extractions::events::events),
        )
        .route(
            "/api/v1/extractions/{id}/files/{file}/pages/{page}",
            get(extractions::pages::page),
        )
        .route("/actuator/metrics", get(actuator::metrics))
        .route("/docs", get(docs::redirect))
        .route("/docs/", get(docs::index))
        .route("/docs/{*file}", get(docs::file))
        .route("/", get(docs::home))
        .fallback(no_route)
        .method_not_allowed_fallback(no_method)
        // the limits are ours: they count each file and the request while it arrives
        .layer(DefaultBodyLimit::disable())
        .layer(CatchPanicLayer::custom(caught))
        .layer(from_fn_with_state(api.clone(), context::finish))
        .with_state(api);
    match cors {
        // outermost: a browser asks without a key, and reads errors too
        Some(cors) => routes.layer(cors),
        None => routes,
    }
}

async fn json_only(request: Request, next: Next) -> Answer<Response> {
    accepts(request.headers(), JSON)?;
    Ok(next.run(request).await)
}

async fn no_route(uri: Uri) -> Refusal {
    let path: String = uri.path().chars().take(200).collect();
    Refusal::new(
        ErrorCode::NotFound,
        format!("there is no route {path}; /docs lists them"),
    )
}

async fn no_method(method: Method, uri: Uri) -> Refusal {
    let refusal = not_known(&method, uri.path());
    // one route of the table is several of ours: an extraction, and its actions behind a colon
    let rest = uri.path().strip_prefix("/api/v1/extractions/");
    match rest.filter(|rest| !rest.contains('/')) {
        Some(target) if is_action(target) => {
            refusal.header(header::ALLOW, HeaderValue::from_static("POST"))
        }
        Some(_) => refusal.header(header::ALLOW, HeaderValue::from_static("GET,HEAD,DELETE")),
        None => refusal,
    }
}

/// 405.
pub(crate) fn not_known(method: &Method, path: &str) -> Refusal {
    let path: String = path.chars().take(200).collect();
    Refusal::new(
        ErrorCode::MethodNotAllowed,
        format!("{path} does not know {method}; the header Allow lists what it knows"),
    )
}

/// True for the last part of a path that names an action of an extraction.
pub(crate) fn is_action(target: &str) -> bool {
    let escaped = target
        .rsplit_once("%3A")
        .or_else(|| target.rsplit_once("%3a"));
    let action = target.rsplit_once(':').or(escaped);
    matches!(action, Some((_, "cancel" | "retry")))
}

#[expect(
    clippy::needless_pass_by_value,
    reason = "the layer hands the payload over"
)]
fn caught(payload: Box<dyn std::any::Any + Send>) -> Response {
    use axum::response::IntoResponse;
    let what = payload
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| payload.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "a value that is no text".to_owned());
    metrics::counter!("flydocs_api_panics_total").increment(1);
    Refusal::internal(&format!("panicked: {what}")).into_response()
}

/// The value of a header that is text.
pub(crate) fn text_header<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}
