//! `extract`: documents through the pipeline, here and now. No server, no store, no key. One that fails does not
//! stop the others.

use std::{path::PathBuf, sync::Arc};

use bytes::Bytes;
use flydocs_contract::{ErrorCode, ExtractRequest, ExtractionResult};
use flydocs_pages::{Reader, Source};
use flydocs_pipeline::{EngineSource, Input, InputFile, Mode, Silent};
use futures::{StreamExt, stream};
use serde::Serialize;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::{
    Outcome,
    cli::{ExtractArgs, Format},
    exit::Exit,
    failure::Failure,
    files,
    output::{
        Out, Paint, Say, explanation, progress,
        result::{Look, render},
        rows::{Lean, pad},
        streams,
    },
    roles::{self, Testimony, Witness, shutdown},
    settings::Settings,
    types_file,
};

/// Runs the batch.
pub(super) async fn run(args: ExtractArgs, settings: Settings, say: Say, mut out: Out) -> Outcome {
    let request = Arc::new(types_file::read(&args.types, say)?);
    let desk = Arc::new(Desk {
        reader: roles::reader(&settings),
        settings,
        request,
        explain: args.explain,
    });
    roles::known_model(&desk.settings, &desk.request)?;
    let places = args
        .out
        .as_deref()
        .map(|dir| places(dir, &args.files))
        .transpose()?;
    let cancel = shutdown::token();
    let jobs = args.jobs.map_or_else(
        || std::thread::available_parallelism().map_or(2, usize::from),
        usize::from,
    );
    let bar = progress::bar(args.files.len(), say);
    let runs = args.files.iter().enumerate().map(|(i, path)| {
        let (path, desk, cancel) = (path.clone(), Arc::clone(&desk), cancel.clone());
        async move { (i, one(path, &desk, &cancel).await) }
    });
    // results come in the order of the command line, whichever is done first
    let mut results = stream::iter(runs).buffered(jobs);
    let mut printer = Printer {
        args: &args,
        look: Look {
            width: streams::width(),
            paint: Paint::stdout(),
            explain: args.explain,
        },
        collected: Vec::new(),
        printed: 0,
    };
    let mut failed = 0_usize;
    while let Some((i, done)) = results.next().await {
        if cancel.is_cancelled() {
            bar.finish_and_clear();
            return Ok(Exit::Interrupted);
        }
        let path = args.files.get(i).cloned().unwrap_or_default();
        let place = places.as_ref().and_then(|places| places.get(i));
        let done = match place {
            Some(place) => done.and_then(|result| kept(result, place)),
            None => done,
        };
        if let Err(failure) = &done {
            failed += 1;
            bar.suspend(|| say.fail(failure));
        }
        bar.suspend(|| printer.print(&path, place, done, &mut out))?;
        if out.is_closed() {
            break;
        }
        bar.inc(1);
    }
    bar.finish_and_clear();
    printer.finish(&mut out)?;
    if failed == 0 {
        Ok(Exit::Done)
    } else {
        if args.files.len() > 1 {
            say.note(&format!(
                "{failed} of {} documents failed",
                args.files.len()
            ));
        }
        Ok(Exit::DocumentFailed)
    }
}

/// What every document of a batch is read with.
struct Desk {
    reader: Arc<dyn Reader>,
    settings: Settings,
    request: Arc<ExtractRequest>,
    explain: bool,
}

/// A result, and why it is what it is when that was asked for.
#[derive(Serialize)]
struct Explained {
    #[serde(flatten)]
    result: ExtractionResult,
    #[serde(skip_serializing_if = "Option::is_none")]
    explanation: Option<Vec<Testimony>>,
}

async fn one(path: PathBuf, desk: &Desk, cancel: &CancellationToken) -> Done {
    let request = &*desk.request;
    let engines = roles::engines(&desk.settings);
    let witness = desk
        .explain
        .then(|| Arc::new(Witness::new(Arc::clone(&engines))));
    let engines = match &witness {
        Some(witness) => Arc::clone(witness) as Arc<dyn EngineSource>,
        None => engines,
    };
    let pipeline = roles::pipeline_on(Arc::clone(&desk.reader), engines, &desk.settings);
    let content = files::document(&path, desk.settings.max_bytes.0).await?;
    let filename = path.file_name().map_or_else(
        || path.display().to_string(),
        |name| name.to_string_lossy().into_owned(),
    );
    let input = Input {
        id: roles::new_id(),
        request: request.into(),
        files: vec![InputFile {
            source: Source {
                filename,
                content: Bytes::from(content),
                declared_media_type: request.options.declared_media_type.clone(),
            },
            expected_type: None,
        }],
        mode: Mode::Sync,
    };
    let result = pipeline
        .run(input, Arc::new(Silent), cancel)
        .await
        .map_err(|error| document_failure(&path, &error))?;
    Ok(Explained {
        result,
        explanation: witness.map(|witness| witness.testimony()),
    })
}

fn document_failure(path: &std::path::Path, error: &flydocs_pipeline::Error) -> Failure {
    if error.is_cancelled() {
        return Failure::new(ErrorCode::Internal, "stopped", Exit::Interrupted);
    }
    let sentence = error.to_string();
    let name = path.display().to_string();
    let short = path
        .file_name()
        .map(|n| n.to_string_lossy().into_owned())
        .unwrap_or_default();
    let sentence = match sentence.strip_prefix(short.as_str()) {
        Some(rest) if !short.is_empty() => format!("{name}{rest}"),
        _ => format!("{name}: {sentence}"),
    };
    Failure::new(error.code(), sentence, Exit::DocumentFailed)
}

/// One JSON file a document; equal names get a number.
fn places(dir: &std::path::Path, files: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
    std::fs::create_dir_all(dir)
        .map_err(|error| files::unwritable(dir, &error).exit(Exit::Usage))?;
    let mut taken = std::collections::BTreeSet::new();
    let mut places = Vec::with_capacity(files.len());
    for file in files {
        let name = file.file_name().map_or_else(
            || "document".to_owned(),
            |n| n.to_string_lossy().into_owned(),
        );
        let mut place = format!("{name}.json");
        let mut n = 2;
        while !taken.insert(place.clone()) {
            place = format!("{name}.{n}.json");
            n += 1;
        }
        places.push(dir.join(place));
    }
    Ok(places)
}

/// The result, once it is in its file; a file that cannot be written fails its document alone.
fn kept(result: Explained, place: &std::path::Path) -> Done {
    let text = serde_json::to_string_pretty(&result).map_err(anyhow::Error::new)? + "\n";
    files::write(place, text.as_bytes()).map_err(|failure| failure.exit(Exit::DocumentFailed))?;
    Ok(result)
}

struct Printer<'a> {
    args: &'a ExtractArgs,
    look: Look,
    collected: Vec<serde_json::Value>,
    printed: usize,
}

type Done = Result<Explained, Failure>;

impl Printer<'_> {
    fn print(
        &mut self,
        path: &std::path::Path,
        place: Option<&PathBuf>,
        done: Done,
        out: &mut Out,
    ) -> Result<(), Failure> {
        if let Some(place) = place {
            return out.line(&self.summary(path, place, &done));
        }
        match (self.args.output, done) {
            (Format::Table, Ok(result)) => {
                if self.printed > 0 {
                    out.line("")?;
                }
                self.printed += 1;
                out.text(&render(&result.result, self.look))?;
                match &result.explanation {
                    Some(testimony) => out.text(&explanation::render(testimony, self.look)),
                    None => Ok(()),
                }
            }
            (Format::Table, Err(_)) => Ok(()),
            (Format::Jsonl, Ok(result)) => out.jsonl(&result),
            (Format::Jsonl, Err(failure)) => out.jsonl(&failed(path, &failure)),
            (Format::Json, Ok(result)) if self.args.files.len() == 1 => out.json(&result),
            (Format::Json, Err(failure)) if self.args.files.len() == 1 => {
                out.json(&failed(path, &failure))
            }
            (Format::Json, Ok(result)) => {
                self.collected
                    .push(serde_json::to_value(&result).map_err(anyhow::Error::new)?);
                Ok(())
            }
            (Format::Json, Err(failure)) => {
                self.collected.push(failed(path, &failure));
                Ok(())
            }
        }
    }

    fn finish(self, out: &mut Out) -> Result<(), Failure> {
        let several = self.args.files.len() > 1 && self.args.out.is_none();
        if several && self.args.output == Format::Json {
            out.json(&self.collected)?;
        }
        Ok(())
    }

    /// The line of a document whose result went into a file.
    fn summary(&self, path: &std::path::Path, place: &std::path::Path, done: &Done) -> String {
        let paint = self.look.paint;
        match done {
            Ok(result) if self.args.output == Format::Table => {
                let types: Vec<&str> = result
                    .result
                    .documents
                    .iter()
                    .map(|d| d.type_id.as_str())
                    .collect();
                let types = if types.is_empty() {
                    "no declared type".to_owned()
                } else {
                    types.join(", ")
                };
                format!(
                    "{}  {}  {}  {}",
                    paint.good("✓"),
                    pad(&path.display().to_string(), 32, Lean::Left),
                    pad(&types, 16, Lean::Left),
                    paint.dim(&place.display().to_string())
                )
            }
            Err(failure) if self.args.output == Format::Table => {
                format!(
                    "{}  {}  {}",
                    paint.bad("✗"),
                    pad(&path.display().to_string(), 32, Lean::Left),
                    failure.code
                )
            }
            Ok(result) => json!({
                "file": path.display().to_string(),
                "out": place.display().to_string(),
                "status": result.result.status,
                "documents": result.result.documents.iter().map(|d| &d.type_id).collect::<Vec<_>>(),
            })
            .to_string(),
            Err(failure) => failed(path, failure).to_string(),
        }
    }
}

/// A document that failed, where a result would stand.
fn failed(path: &std::path::Path, failure: &Failure) -> serde_json::Value {
    json!({
        "file": path.display().to_string(),
        "error": {"code": failure.code, "message": failure.sentence},
    })
}
