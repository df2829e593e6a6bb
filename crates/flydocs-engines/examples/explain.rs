//! Explains how cached words of a document are read: `explain MANIFEST WORDS_DIR CASE OUT.json`.

use std::{fs, path::Path, sync::Arc};

use async_trait::async_trait;
use bytes::Bytes;
use flydocs_contract::{PageWords, request::DocumentTypeSpec};
use flydocs_engines::{Error, ExtractQuestion, LocalLayout, PageImages};
use tokio_util::sync::CancellationToken;

#[derive(serde::Deserialize)]
struct Case {
    id: String,
    document_type: String,
    document_types: Vec<DocumentTypeSpec>,
}

#[derive(Debug)]
struct NoImages;

#[async_trait]
impl PageImages for NoImages {
    async fn jpeg(&self, _page: u32, _cancel: &CancellationToken) -> Result<Bytes, Error> {
        Err(Error::Cancelled)
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, manifest, words, id, out] = arguments.as_slice() else {
        return Err("explain MANIFEST WORDS_DIR CASE OUT.json".into());
    };
    for line in fs::read_to_string(manifest)?.lines() {
        let case: Case = serde_json::from_str(line)?;
        if case.id != *id {
            continue;
        }
        let text = fs::read_to_string(Path::new(words).join(format!("{id}.json")))?;
        let pages: Vec<Arc<PageWords>> = serde_json::from_str(&text)?;
        let document_type = case
            .document_types
            .into_iter()
            .find(|t| t.id == case.document_type)
            .ok_or("the case names a type it does not have")?;
        let question = ExtractQuestion {
            pages,
            images: Arc::new(NoImages),
            document_type: Arc::new(document_type),
            intention: String::new(),
            language_hint: None,
        };
        let explanation = LocalLayout.explain(&question);
        fs::write(out, serde_json::to_string_pretty(&explanation)?)?;
        return Ok(());
    }
    Err("no such case".into())
}
