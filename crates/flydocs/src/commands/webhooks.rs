//! `webhooks`: the log, redelivery, a listener and a check for whoever writes a receiver.

use std::{path::Path, sync::Arc, time::Duration};

use flydocs_contract::{ErrorCode, Fault};
use flydocs_pipeline::{Clock as _, SystemClock};
use flydocs_workers::{Heard, Listener, Secret, SignedHeaders, check_signature};
use tokio::{net::TcpListener, sync::mpsc};
use tokio_util::sync::CancellationToken;

use crate::{
    Outcome,
    cli::{Format, WebhooksAction, WebhooksListenArgs, WebhooksVerifyArgs},
    client::Client,
    exit::Exit,
    failure::Failure,
    files,
    output::{Out, Paint, Say, deliveries, streams},
    roles::shutdown,
    settings::Settings,
};

/// `webhooks`.
pub(super) async fn run(
    action: WebhooksAction,
    settings: Settings,
    say: Say,
    out: &mut Out,
) -> Outcome {
    match action {
        WebhooksAction::List(args) => {
            let found = Client::new(&settings)?.deliveries(&args.id).await?;
            match args.server.output {
                Format::Table => {
                    let text = deliveries::list(&found.items, streams::width(), Paint::stdout());
                    out.text(&text)?;
                }
                Format::Json => out.json(&found)?,
                Format::Jsonl => {
                    for item in &found.items {
                        out.jsonl(item)?;
                    }
                }
            }
            Ok(Exit::Done)
        }
        WebhooksAction::Redeliver { id, server } => {
            let again = Client::new(&settings)?.redeliver(&id).await?;
            match server.output {
                Format::Table => {
                    let text = deliveries::list(&[again], streams::width(), Paint::stdout());
                    out.text(&text)?;
                }
                Format::Json => out.json(&again)?,
                Format::Jsonl => out.jsonl(&again)?,
            }
            Ok(Exit::Done)
        }
        WebhooksAction::Listen(args) => listen(args, &settings, say, out).await,
        WebhooksAction::Verify(args) => verify(args, &settings, out).await,
    }
}

fn secret(settings: &Settings) -> Option<Secret> {
    let secret = settings.webhook_hmac_secret.as_ref();
    secret.map(|secret| Secret::new(secret.0.clone()))
}

async fn listen(args: WebhooksListenArgs, settings: &Settings, say: Say, out: &mut Out) -> Outcome {
    let socket = TcpListener::bind(&args.listen).await.map_err(|error| {
        Failure::new(
            ErrorCode::InvalidSetting,
            format!(
                "cannot listen on {}: {error}; choose another --listen",
                args.listen
            ),
            Exit::Usage,
        )
    })?;
    let address = socket.local_addr().map_err(anyhow::Error::new)?;
    let secret = secret(settings);
    if secret.is_none() {
        say.warn("signatures are not checked: FLYDOCS_WEBHOOK_HMAC_SECRET is not set");
    }
    let (told, mut heard) = mpsc::unbounded_channel();
    let listener = Listener::new(secret, args.forward, Arc::new(SystemClock), move |one| {
        // nobody reads any more: the command ends
        drop(told.send(one));
    })
    .map_err(anyhow::Error::new)?;
    out.line(&format!("http://{address}"))?;
    let end = shutdown::token();
    let serving = tokio::spawn(listener.run(socket, end.clone()));
    let mut left = args.count;
    while left != Some(0) {
        let one = tokio::select! {
            one = heard.recv() => one,
            () = end.cancelled() => None,
        };
        let Some(one) = one else { break };
        out.line(&line(&one))?;
        left = left.map(|left| left - 1);
    }
    finish(serving, &end).await
}

async fn finish(
    serving: tokio::task::JoinHandle<flydocs_workers::Result<()>>,
    end: &CancellationToken,
) -> Outcome {
    end.cancel();
    let ended = serving.await.map_err(anyhow::Error::new)?;
    ended.map_err(anyhow::Error::new)?;
    Ok(Exit::Done)
}

/// One webhook in a line.
fn line(heard: &Heard) -> String {
    let mut line = heard
        .event_type
        .clone()
        .unwrap_or_else(|| "no envelope".to_owned());
    if let Some((id, status)) = &heard.extraction {
        line.push_str(&format!(" {id} {status}"));
    }
    match &heard.signed {
        None => {}
        Some(Ok(())) => line.push_str(" · signed"),
        Some(Err(why)) => line.push_str(&format!(" · not signed: {why}")),
    }
    match &heard.forwarded {
        None => {}
        Some(Ok(status)) => line.push_str(&format!(" · handed on: {status}")),
        Some(Err(why)) => line.push_str(&format!(" · not handed on: {why}")),
    }
    line.push_str(&format!(" · answered {}", heard.answered));
    if let Some(id) = &heard.id {
        line.push_str(&format!(" · {id}"));
    }
    line
}

async fn verify(args: WebhooksVerifyArgs, settings: &Settings, out: &mut Out) -> Outcome {
    let Some(secret) = secret(settings) else {
        let fault = Fault::new(
            "FLYDOCS_WEBHOOK_HMAC_SECRET",
            "must be the secret the webhook was signed with",
        );
        return Err(Failure::new(
            ErrorCode::InvalidSetting,
            "a setting is wrong",
            Exit::Settings,
        )
        .with_faults(vec![fault]));
    };
    let body = read(&args.body).await?;
    let header = |name: &str| {
        let found = args.headers.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    };
    let headers = SignedHeaders {
        own: header("x-flydocs-signature"),
        id: header("webhook-id"),
        timestamp: header("webhook-timestamp"),
        standard: header("webhook-signature"),
    };
    let now = SystemClock.now().timestamp();
    let tolerance = Duration::from_secs(args.tolerance);
    match check_signature(&secret, headers, &body, now, tolerance) {
        Ok(()) => {
            out.line("the signature fits")?;
            Ok(Exit::Done)
        }
        Err(why) => {
            out.line(&format!("not signed: {why}"))?;
            Ok(Exit::Refused)
        }
    }
}

async fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    if path.as_os_str() == "-" {
        let read = tokio::task::spawn_blocking(files::stdin);
        return read.await.map_err(anyhow::Error::new)?;
    }
    files::small(path)
}
