//! A multipart body: one part `request`, and parts `files` that go to their place while they arrive.

use std::collections::BTreeMap;

use axum::extract::{FromRequest, Multipart, Request, multipart::Field};
use flydocs_contract::{Fault, JsonObject, request::FileInput};
use serde_json::Value;

use super::{
    Incoming, Landed, Landing, Shape,
    arrival::{Arrival, Arrived, request_too_large, too_many_files},
    digest, patiently, refuse_all, strict, typed,
};
use crate::{
    options::Limits,
    problem::{Answer, Refusal},
};

struct Part {
    filename: String,
    content_type: Option<String>,
    arrived: Arrived,
}

/// Reads the parts in whatever order they come.
pub(super) async fn read(
    request: Request,
    limits: &Limits,
    landing: &dyn Landing,
) -> Answer<Incoming> {
    let mut multipart = Multipart::from_request(request, &())
        .await
        .map_err(|rejection| Refusal::fault("", rejection.body_text()))?;
    let mut body: Option<Vec<u8>> = None;
    let mut parts = Vec::new();
    let mut faults = Vec::new();
    while let Some(mut field) = patiently(multipart.next_field()).await?.map_err(broken)? {
        match field.name() {
            Some("request") if body.is_none() => body = Some(keep(&mut field, limits).await?),
            Some("request") => {
                return Err(Refusal::fault("request", "the part request stands twice"));
            }
            Some("files") => {
                if parts.len() >= limits.max_files {
                    return Err(too_many_files(limits));
                }
                parts.push(land(field, parts.len(), limits, landing, &mut faults).await?);
            }
            other => {
                let name: String = other.unwrap_or_default().chars().take(80).collect();
                return Err(Refusal::fault(
                    name,
                    "unknown part; known here: request, files",
                ));
            }
        }
    }
    let Some(body) = body else {
        return Err(Refusal::fault("request", "the part request is required"));
    };
    if parts.is_empty() {
        faults.push(Fault::new("files", "at least one part files is needed"));
    }
    assemble(&body, parts, faults)
}

async fn keep(field: &mut Field<'_>, limits: &Limits) -> Answer<Vec<u8>> {
    let mut text = Vec::new();
    while let Some(chunk) = patiently(field.chunk()).await?.map_err(broken)? {
        text.extend_from_slice(&chunk);
        if text.len() as u64 > limits.max_request_bytes {
            return Err(request_too_large(limits));
        }
    }
    Ok(text)
}

async fn land(
    mut field: Field<'_>,
    index: usize,
    limits: &Limits,
    landing: &dyn Landing,
    faults: &mut Vec<Fault>,
) -> Answer<Part> {
    let filename = field.file_name().unwrap_or_default().to_owned();
    if filename.is_empty() {
        faults.push(Fault::new(
            format!("files[{index}].filename"),
            "must not be empty: name the file in the part's Content-Disposition",
        ));
    }
    let content_type = field.content_type().map(str::to_owned);
    let shown = if filename.is_empty() {
        format!("files[{index}]")
    } else {
        filename.clone()
    };
    let mut arrival = Arrival::begin(landing, shown, limits).await?;
    while let Some(chunk) = patiently(field.chunk()).await?.map_err(broken)? {
        arrival.write(chunk).await?;
    }
    Ok(Part {
        filename,
        content_type,
        arrived: arrival.finish().await?,
    })
}

fn assemble(body: &[u8], parts: Vec<Part>, mut faults: Vec<Fault>) -> Answer<Incoming> {
    let value = strict::parse(body).map_err(|fault| {
        Refusal::fault("request", format!("in the part request: {}", fault.message))
    })?;
    let mut request = typed(value.clone(), Shape::Multipart)?;
    let expected = expected_types(&value, &parts, &mut faults);
    refuse_all(&faults)?;
    request.files = parts
        .iter()
        .map(|part| FileInput {
            filename: part.filename.clone(),
            content_base64: String::new(),
            content_type: part.content_type.clone(),
            expected_type: expected.get(&part.filename).cloned(),
        })
        .collect();
    let declared = request.options.declared_media_type.clone();
    let files: Vec<Landed> = parts
        .into_iter()
        .map(|part| Landed {
            expected_type: expected.get(&part.filename).cloned(),
            filename: part.filename,
            declared_media_type: declared.clone().or(part.content_type),
            sha256: part.arrived.sha256,
            bytes: part.arrived.bytes,
            content: part.arrived.content,
        })
        .collect();
    let digest = digest(&request, &files);
    Ok(Incoming {
        request,
        files,
        digest,
    })
}

/// `file_options`, by file name; a name that no part has is a fault.
fn expected_types(
    value: &Value,
    parts: &[Part],
    faults: &mut Vec<Fault>,
) -> BTreeMap<String, String> {
    let none = JsonObject::new();
    let options = value
        .get("file_options")
        .and_then(Value::as_object)
        .unwrap_or(&none);
    let mut expected = BTreeMap::new();
    for (filename, option) in options {
        if !parts.iter().any(|p| p.filename == *filename) {
            faults.push(Fault::new(
                format!("file_options.{filename}"),
                "no part files has this file name",
            ));
        }
        if let Some(word) = option.get("expected_type").and_then(Value::as_str) {
            expected.insert(filename.clone(), word.to_owned());
        }
    }
    expected
}

#[expect(clippy::needless_pass_by_value, reason = "it is handed to map_err")]
fn broken(error: axum::extract::multipart::MultipartError) -> Refusal {
    Refusal::fault(
        "",
        format!("the multipart body cannot be read: {}", error.body_text()),
    )
}
