//! Gotenberg's LibreOffice route: the document as a form, the PDF back.

use bytes::Bytes;
use reqwest::multipart::{Form, Part};

use crate::{options::Options, sniff::Kind};

pub(super) async fn convert(
    kind: Kind,
    content: &Bytes,
    options: &Options,
) -> Result<Bytes, String> {
    // another room may have chosen a provider already: then this one is not needed
    let _chosen = rustls::crypto::ring::default_provider().install_default();
    let client = reqwest::Client::builder()
        .build()
        .map_err(|e| format!("no HTTP client: {e}"))?;
    let part = Part::stream_with_length(content.clone(), content.len() as u64)
        .file_name(format!("document.{}", kind.extension()));
    let base = options.gotenberg_url.trim_end_matches('/');
    let response = client
        .post(format!("{base}/forms/libreoffice/convert"))
        .multipart(Form::new().part("files", part))
        .send()
        .await
        .map_err(|e| {
            let why = if e.is_connect() {
                "it does not answer"
            } else {
                "the connection broke"
            };
            format!("Gotenberg at {base}: {why} (FLYDOCS_GOTENBERG_URL)")
        })?;
    let status = response.status();
    let body = response
        .bytes()
        .await
        .map_err(|_| format!("Gotenberg at {base} broke off its answer"))?;
    if !status.is_success() {
        let said: String = String::from_utf8_lossy(&body).chars().take(200).collect();
        return Err(format!("Gotenberg answered {status}: {}", said.trim()));
    }
    Ok(body)
}
