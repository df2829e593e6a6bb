//! Writes the words of every case of an evaluation set, as the engines' examples read them:
//! `words MANIFEST OUT_DIR [ONLY]`, ONLY a part of the ids. What is there already is left alone.

use std::{fs, path::Path, sync::Arc};

use flydocs_pages::{Options, Pages, Reader, Source};
use tokio_util::sync::CancellationToken;

#[derive(serde::Deserialize)]
struct Case {
    id: String,
    files: Vec<String>,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    let (manifest, out, only) = match arguments.as_slice() {
        [_, manifest, out] => (Path::new(manifest), Path::new(out), ""),
        [_, manifest, out, only] => (Path::new(manifest), Path::new(out), only.as_str()),
        _ => return Err("words MANIFEST OUT_DIR [ONLY]".into()),
    };
    fs::create_dir_all(out)?;
    let pages = Pages::new(Options::default());
    let folder = manifest.parent().unwrap_or(Path::new(".")).to_path_buf();
    let places = Arc::new(tokio::sync::Semaphore::new(Options::default().concurrency));
    let mut cases = tokio::task::JoinSet::new();
    for line in fs::read_to_string(manifest)?.lines() {
        let case: Case = serde_json::from_str(line)?;
        let path = out.join(format!("{}.json", case.id));
        if !case.id.contains(only) || path.exists() {
            continue;
        }
        let (pages, folder, places) = (pages.clone(), folder.clone(), places.clone());
        cases.spawn(async move {
            let _place = places.acquire_owned().await;
            let outcome = read(&pages, &folder, &case).await;
            (case.id, path, outcome)
        });
    }
    while let Some(read) = cases.join_next().await {
        let (id, path, outcome) = read?;
        match outcome {
            Ok(words) => fs::write(path, words)?,
            Err(why) => return Err(format!("{id}: {why}").into()),
        }
    }
    Ok(())
}

async fn read(pages: &Pages, folder: &Path, case: &Case) -> Result<String, String> {
    let never = CancellationToken::new();
    let mut all = Vec::new();
    for file in &case.files {
        let source = Source {
            filename: file.clone(),
            content: fs::read(folder.join(file))
                .map_err(|e| e.to_string())?
                .into(),
            declared_media_type: None,
        };
        let rows = pages
            .load(source, &never)
            .await
            .map_err(|e| e.to_string())?;
        for row in &rows {
            for page in 1..=row.page_count {
                let words = pages.words(row, page, None, &never).await;
                all.push(words.map_err(|e| e.to_string())?.as_ref().clone());
            }
        }
    }
    serde_json::to_string(&all).map_err(|e| e.to_string())
}
