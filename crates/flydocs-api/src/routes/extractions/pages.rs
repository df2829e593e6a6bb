//! `GET /api/v1/extractions/{id}/files/{n}/pages/{p}.png`: a page as an image, for people to look at.

use axum::{
    extract::{Path, RawQuery, State},
    http::{HeaderMap, header},
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use flydocs_contract::ErrorCode;
use flydocs_pages::{ImageFormat, ImageSize, Row, Source};
use flydocs_store::StoredFile;
use tokio_util::sync::CancellationToken;

use super::{id_of, query::Query};
use crate::{
    context::CallContext,
    negotiate::accepts,
    problem::{Answer, Refusal},
    refusals::{reader_refusal, store_refusal},
    state::Api,
};

const WIDEST: u64 = 2000;
const USUAL_WIDTH: u64 = 1000;

/// One page of a file, as PNG. Files count from 0 as in `files[]` of the result, pages from 1.
#[utoipa::path(get, path = "/api/v1/extractions/{id}/files/{file}/pages/{page}.png", tag = "extractions", operation_id = "page",
    params(
        ("id" = String, Path, description = "The extraction."),
        ("file" = u32, Path, description = "Which entry of the result's files, from 0."),
        ("page" = u32, Path, description = "Which page of it, from 1."),
        ("width" = Option<u32>, Query, minimum = 1, maximum = 2000, description = "Pixels across; 1000 when absent."),
    ),
    responses(
        (status = 200, body = Vec<u8>, content_type = "image/png", description = "The page."),
        (status = 401, body = flydocs_contract::Problem, content_type = "application/problem+json", description = "unauthorized"),
        (status = 404, body = flydocs_contract::Problem, content_type = "application/problem+json", description = "not_found: no such extraction, file or page, or its bytes are not kept any more"),
        (status = 406, body = flydocs_contract::Problem, content_type = "application/problem+json", description = "not_acceptable"),
        (status = 415, body = flydocs_contract::Problem, content_type = "application/problem+json", description = "unsupported_file"),
        (status = 422, body = flydocs_contract::Problem, content_type = "application/problem+json", description = "The refusals of a file."),
        (status = 503, body = flydocs_contract::Problem, content_type = "application/problem+json", description = "unavailable"),
    ))]
pub(crate) async fn page(
    State(api): State<Api>,
    context: CallContext,
    Path((id, file, page)): Path<(String, String, String)>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Answer<Response> {
    accepts(&headers, &["image/png"])?;
    let id = id_of(&id)?;
    let mut query = Query::new(query.as_deref());
    let width = u32::try_from(query.number("width", USUAL_WIDTH, 1, WIDEST)).unwrap_or(1);
    query.finish()?;
    let file: usize = file.parse().map_err(|_| no_page("files count from 0"))?;
    let page: u32 = page
        .strip_suffix(".png")
        .and_then(|number| number.parse().ok())
        .ok_or_else(|| no_page("pages are 1.png, 2.png and so on"))?;
    let request = api
        .ports
        .store
        .request(id, context.scope())
        .await
        .map_err(|error| store_refusal(&error))?
        .ok_or_else(|| Refusal::no_extraction(&id.to_string()))?;
    let cancel = CancellationToken::new();
    let _stop = cancel.clone().drop_guard();
    let _slot = api
        .sync_slots
        .acquire()
        .await
        .map_err(|error| Refusal::internal(&error))?;
    let row = nth_row(&api, &request.files, file, &cancel).await?;
    let image = api
        .ports
        .reader
        .image(
            &row,
            page,
            ImageSize::Width(width),
            ImageFormat::Png,
            &cancel,
        )
        .await
        .map_err(|error| reader_refusal(&error))?;
    Ok((
        [
            (header::CONTENT_TYPE, "image/png"),
            (header::CACHE_CONTROL, "private, max-age=3600"),
        ],
        image.bytes,
    )
        .into_response())
}

/// The n-th row over all files of the request, in the order of the result's `files`.
async fn nth_row(
    api: &Api,
    files: &[StoredFile],
    n: usize,
    cancel: &CancellationToken,
) -> Answer<Row> {
    let mut before = 0;
    for file in files {
        let download = api
            .ports
            .store
            .get_blob(&file.sha256)
            .await
            .map_err(|error| store_refusal(&error))?
            .ok_or_else(|| no_page("its bytes are not kept any more"))?;
        let content = download
            .collect()
            .await
            .map_err(|error| store_refusal(&error))?;
        let source = Source {
            filename: file.filename.clone(),
            content: Bytes::from(content),
            declared_media_type: file.content_type.clone(),
        };
        let rows = api
            .ports
            .reader
            .load(source, cancel)
            .await
            .map_err(|error| reader_refusal(&error))?;
        let count = rows.len();
        if let Some(row) = n.checked_sub(before).and_then(|i| rows.into_iter().nth(i)) {
            return Ok(row);
        }
        before += count;
    }
    Err(no_page(&format!(
        "the extraction has {before} files, from 0"
    )))
}

fn no_page(why: &str) -> Refusal {
    Refusal::new(ErrorCode::NotFound, format!("there is no such page: {why}"))
}
