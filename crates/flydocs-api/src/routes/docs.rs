//! `/openapi.json`, its viewer at `/docs` (all of it in the binary: works offline), and the front page.

use std::sync::{Arc, LazyLock};

use axum::{
    extract::Path,
    http::header,
    response::{Html, IntoResponse, Redirect, Response},
};
use bytes::Bytes;
use flydocs_contract::ErrorCode;
use utoipa_swagger_ui::Config;

use crate::{
    openapi,
    problem::{Answer, Refusal},
};

static TEXT: LazyLock<Bytes> = LazyLock::new(|| Bytes::from(openapi::text()));
static VIEWER: LazyLock<Arc<Config<'static>>> = LazyLock::new(|| {
    let config = Config::from("../openapi.json")
        .try_it_out_enabled(true)
        .display_request_duration(true)
        .validator_url("none");
    Arc::new(config)
});

pub(crate) async fn openapi() -> Response {
    ([(header::CONTENT_TYPE, "application/json")], TEXT.clone()).into_response()
}

pub(crate) async fn redirect() -> Redirect {
    Redirect::permanent("/docs/")
}

pub(crate) async fn index() -> Answer<Response> {
    serve("")
}

pub(crate) async fn file(Path(file): Path<String>) -> Answer<Response> {
    serve(&file)
}

pub(crate) async fn home() -> Html<&'static str> {
    Html(include_str!("home.html"))
}

fn serve(file: &str) -> Answer<Response> {
    match utoipa_swagger_ui::serve(file, Arc::clone(&VIEWER)) {
        Ok(Some(found)) => Ok((
            [(header::CONTENT_TYPE, found.content_type)],
            found.bytes.into_owned(),
        )
            .into_response()),
        Ok(None) => Err(Refusal::new(
            ErrorCode::NotFound,
            "the viewer has no such file; it begins at /docs/",
        )),
        Err(error) => Err(Refusal::internal(&error)),
    }
}
