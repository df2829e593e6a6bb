//! The client commands: submit, get, wait, result, list, cancel.

use std::time::Duration;

use flydocs_contract::{ErrorCode, Extraction, ExtractionResult, Status};

use crate::{
    Outcome,
    cli::{Format, IdArgs, ListArgs, ResultArgs, SubmitArgs, WaitArgs},
    client::{Client, Submission, Told},
    exit::Exit,
    failure::Failure,
    output::{
        Out, Paint, Say, extraction, progress,
        result::{Look, render},
        streams,
    },
    settings::Settings,
    types_file,
};

/// `submit`.
pub(super) async fn submit(
    args: SubmitArgs,
    settings: Settings,
    say: Say,
    out: &mut Out,
) -> Outcome {
    let mut request = types_file::read(&args.types, say)?;
    request.callback_url = args.callback_url;
    let client = Client::new(&settings)?;
    let submission = Submission {
        request: Some(request),
        files: args.files,
        idempotency_key: args.idempotency_key,
        tenant: args.tenant,
    };
    let submitted = client.submit(submission).await?;
    if !args.wait {
        show(&submitted, args.server.output, out)?;
        return Ok(Exit::Done);
    }
    say.note(&submitted.id.to_string());
    let id = submitted.id.to_string();
    let settled = follow(&client, &id, Duration::from_secs(args.timeout), say).await?;
    match settled.status {
        Status::Succeeded => {
            let result = client.result(&id, false).await?.result;
            show_result(&result, args.server.output, out)?;
            Ok(Exit::Done)
        }
        Status::Failed | Status::Cancelled | Status::Queued | Status::Running => {
            Err(ended(&settled))
        }
    }
}

/// `get`.
pub(super) async fn get(args: IdArgs, settings: Settings, out: &mut Out) -> Outcome {
    let found = Client::new(&settings)?.get(&args.id).await?;
    show(&found, args.server.output, out)?;
    Ok(Exit::Done)
}

/// `cancel`.
pub(super) async fn cancel(args: IdArgs, settings: Settings, out: &mut Out) -> Outcome {
    let found = Client::new(&settings)?.cancel(&args.id).await?;
    show(&found, args.server.output, out)?;
    Ok(Exit::Done)
}

/// `wait`.
pub(super) async fn wait(args: WaitArgs, settings: Settings, say: Say, out: &mut Out) -> Outcome {
    let client = Client::new(&settings)?;
    let settled = follow(&client, &args.id, Duration::from_secs(args.timeout), say).await?;
    show(&settled, args.server.output, out)?;
    Ok(if settled.status == Status::Succeeded {
        Exit::Done
    } else {
        Exit::DocumentFailed
    })
}

/// `result`.
pub(super) async fn result(args: ResultArgs, settings: Settings, out: &mut Out) -> Outcome {
    let envelope = Client::new(&settings)?
        .result(&args.id, args.wait_for_bboxes)
        .await?;
    show_result(&envelope.result, args.server.output, out)?;
    Ok(Exit::Done)
}

/// `list`.
pub(super) async fn list(args: ListArgs, settings: Settings, out: &mut Out) -> Outcome {
    let mut query = vec![
        ("limit", args.limit.to_string()),
        ("offset", args.offset.to_string()),
    ];
    for (name, value) in [
        ("status", args.status),
        ("post_processing_status", args.post_processing_status),
        ("created_after", args.created_after),
        ("created_before", args.created_before),
    ] {
        query.extend(value.map(|value| (name, value)));
    }
    let found = Client::new(&settings)?.list(&query).await?;
    match args.server.output {
        Format::Table => out.text(&extraction::list(&found, streams::width(), Paint::stdout()))?,
        Format::Json => out.json(&found)?,
        Format::Jsonl => {
            for item in &found.items {
                out.jsonl(item)?;
            }
        }
    }
    Ok(Exit::Done)
}

/// Follows an extraction to its end and says on stderr what happens to it.
async fn follow(
    client: &Client,
    id: &str,
    timeout: Duration,
    say: Say,
) -> Result<Extraction, Failure> {
    let bar = progress::spinner("waiting".to_owned(), say);
    let mut before = String::new();
    let hear = |told: &Told| match told {
        Told::State { status, boxes } => {
            let line = match boxes {
                Some(leg) => format!("{status} · boxes {leg}"),
                None => status.to_string(),
            };
            if line != before {
                bar.suspend(|| say.note(&line));
                before = line;
            }
        }
        Told::Progress(stage) => bar.set_message(stage.clone()),
        Told::Settled(_) => {}
    };
    let settled = tokio::time::timeout(timeout, client.watch(id).settled(id, hear)).await;
    bar.finish_and_clear();
    settled.unwrap_or_else(|_| {
        Err(Failure::new(
            ErrorCode::Timeout,
            format!(
                "{id} did not settle within {} s; `flydocs wait {id}` goes on waiting",
                timeout.as_secs()
            ),
            Exit::TooLong,
        ))
    })
}

fn ended(extraction: &Extraction) -> Failure {
    let (code, sentence) = match &extraction.error {
        Some(error) => (
            error.code.clone(),
            format!("{}: {}", extraction.id, error.message),
        ),
        None => (
            "not_ready".to_owned(),
            format!("{} is {}", extraction.id, extraction.status),
        ),
    };
    Failure {
        code,
        sentence,
        faults: Vec::new(),
        exit: Exit::DocumentFailed,
    }
}

fn show(found: &Extraction, format: Format, out: &mut Out) -> Result<(), Failure> {
    match format {
        Format::Table => out.text(&extraction::one(found, streams::width(), Paint::stdout())),
        Format::Json => out.json(found),
        Format::Jsonl => out.jsonl(found),
    }
}

fn show_result(result: &ExtractionResult, format: Format, out: &mut Out) -> Result<(), Failure> {
    match format {
        Format::Table => {
            let look = Look {
                width: streams::width(),
                paint: Paint::stdout(),
                explain: false,
            };
            out.text(&render(result, look))
        }
        Format::Json => out.json(result),
        Format::Jsonl => out.jsonl(result),
    }
}
