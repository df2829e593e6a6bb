//! Thousands of callers that wait for one result.

use std::{sync::Arc, time::Duration};

use anyhow::{Context as _, Result, bail};
use axum::http::StatusCode;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    task::JoinSet,
    time::{Instant, sleep, timeout},
};

use super::{
    Page, Plan, TYPES,
    process::{Process, client, sqlite},
};

/// One page with one line of text.
const PAPER: &str = "%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj\n3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]/Contents 4 0 R/Resources<</Font<</F 5 0 R>>>>>>endobj\n4 0 obj<</Length 57>>stream\nBT /F 12 Tf 72 760 Td (Invoice number: RE-2026-0042) Tj ET\nendstream endobj\n5 0 obj<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>endobj\ntrailer<</Root 1 0 R>>\n%%EOF\n";

/// What they cost the service, and how soon they hear.
pub(super) async fn measure(plan: &Plan, page: &mut Page) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let database = sqlite(folder.path());
    let serve = Process::start(plan, "serve", &database)?;
    let _worker = Process::start(plan, "worker", &database)?;
    let body = format!(
        "--e\r\nContent-Disposition: form-data; name=\"request\"\r\n\r\n{TYPES}\r\n--e\r\nContent-Disposition: form-data; name=\"files\"; filename=\"a.pdf\"\r\n\r\n{PAPER}\r\n--e--\r\n"
    );
    let submitted = client()?
        .post(format!("{}/api/v1/extractions", serve.url))
        .header("content-type", "multipart/form-data; boundary=e")
        .header("prefer", "wait=60")
        .body(body)
        .send()
        .await?;
    let location = submitted.headers().get("location").context("no location")?;
    let path: Arc<str> = location.to_str()?.into();
    if submitted.status() != StatusCode::OK {
        bail!("it did not succeed: {}", submitted.text().await?);
    }
    let (threads, resident) = (serve.figure("Threads")?, serve.resident_mib()?);
    let address = serve.url.trim_start_matches("http://").to_owned();
    let mut held = JoinSet::new();
    for _ in 0..plan.polls {
        let mut stream = TcpStream::connect(&address).await?;
        let call = format!(
            "GET {path}/result?wait_for_bboxes=true&timeout=300 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
        );
        stream.write_all(call.as_bytes()).await?;
        held.spawn(async move {
            let mut answer = Vec::new();
            stream.read_to_end(&mut answer).await?;
            Ok::<_, std::io::Error>((answer.starts_with(b"HTTP/1.1 200"), Instant::now()))
        });
    }
    // The kernel took them all; the service shows when it holds them all.
    let open = async {
        while serve.sockets()? < plan.polls {
            sleep(Duration::from_millis(20)).await;
        }
        Ok::<_, anyhow::Error>(())
    };
    timeout(Duration::from_mins(1), open).await??;
    let (threads_now, resident_now) = (serve.figure("Threads")?, serve.resident_mib()?);
    let _bbox = Process::start(plan, "bbox-worker", &database)?;
    let (mut first, mut last, mut answered) = (None, None, 0);
    while let Some(poll) = held.join_next().await {
        let (fine, at) = poll??;
        answered += usize::from(fine);
        first = first.min(Some(at)).or(Some(at));
        last = last.max(Some(at));
    }
    let (first, last) = (first.context("nobody")?, last.context("nobody")?);
    page.line(&format!(
        "\n## {} callers wait for one result\n\n\
         | | before | while they wait | bar | |\n|---|--:|--:|--:|---|\n\
         | threads | {threads} | {threads_now} | {threads} | {} |\n\
         | resident, MiB | {resident:.1} | {resident_now:.1} | 100 | {} |\n\n\
         When it was there, {answered} of them were answered with 200, the last {:.0} ms after the first.",
        plan.polls,
        Page::verdict(threads_now <= threads),
        Page::verdict(resident_now <= 100.0),
        (last - first).as_secs_f64() * 1000.0
    ));
    Ok(())
}
