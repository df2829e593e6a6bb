//! `types infer FILE...`: a types file proposed from documents, to be edited.

use std::{path::Path, sync::Arc};

use bytes::Bytes;
use flydocs_contract::{PageWords, request::DocumentTypeSpec};
use flydocs_engines::LocalLayout;
use flydocs_pages::{Reader, Source};
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use crate::{
    Outcome,
    cli::InferArgs,
    exit::Exit,
    failure::Failure,
    files,
    output::{Out, Say},
    roles::{self, shutdown},
    settings::Settings,
    types_file,
};

/// Reads the files and prints the proposal.
pub(super) async fn infer(args: InferArgs, settings: Settings, say: Say, out: &mut Out) -> Outcome {
    let reader = roles::reader(&settings);
    let cancel = shutdown::token();
    let mut documents = Vec::new();
    for path in &args.files {
        documents.append(&mut pages(path, settings.max_bytes.0, &*reader, &cancel).await?);
    }
    let types = tokio::task::spawn_blocking(move || LocalLayout.propose_for(&documents))
        .await
        .map_err(anyhow::Error::new)?;
    let types: Vec<Value> = types.iter().map(plain).collect::<Result<_, _>>()?;
    let text = serde_json::to_string_pretty(&json!({"document_types": types}))
        .map_err(anyhow::Error::new)?
        + "\n";
    // what is proposed must be accepted
    types_file::check(Path::new("the proposal"), text.as_bytes(), say)?;
    match &args.out {
        Some(path) => {
            files::write(path, text.as_bytes())?;
            say.note(&format!(
                "{}: edit names and descriptions, then flydocs extract --types {0}",
                path.display()
            ));
        }
        None => out.text(&text)?,
    }
    Ok(Exit::Done)
}

/// The pages of every document in a file.
async fn pages(
    path: &Path,
    limit: u64,
    reader: &dyn Reader,
    cancel: &CancellationToken,
) -> Result<Vec<Vec<Arc<PageWords>>>, Failure> {
    let content = files::document(path, limit).await?;
    let source = Source {
        filename: path
            .file_name()
            .map(|name| name.to_string_lossy().into_owned())
            .unwrap_or_default(),
        content: Bytes::from(content),
        declared_media_type: None,
    };
    let refused = |error: flydocs_pages::Error| {
        Failure::new(error.code(), error.to_string(), Exit::DocumentFailed)
    };
    let mut documents = Vec::new();
    for row in reader.load(source, cancel).await.map_err(refused)? {
        let mut pages = Vec::new();
        for page in 1..=row.page_count {
            let words = reader
                .words(&row, page, None, cancel)
                .await
                .map_err(refused)?;
            pages.push(words);
        }
        documents.push(pages);
    }
    Ok(documents)
}

/// The type as a person would write it: without what is empty.
fn plain(spec: &DocumentTypeSpec) -> Result<Value, Failure> {
    let value = serde_json::to_value(spec).map_err(anyhow::Error::new)?;
    Ok(without_empty(value))
}

fn without_empty(value: Value) -> Value {
    match value {
        Value::Object(members) => Value::Object(
            members
                .into_iter()
                .map(|(name, value)| (name, without_empty(value)))
                .filter(|(_, value)| match value {
                    Value::Null | Value::Bool(false) => false,
                    Value::Array(items) => !items.is_empty(),
                    Value::String(text) => !text.is_empty(),
                    _ => true,
                })
                .collect::<Map<_, _>>(),
        ),
        Value::Array(items) => Value::Array(items.into_iter().map(without_empty).collect()),
        other => other,
    }
}
