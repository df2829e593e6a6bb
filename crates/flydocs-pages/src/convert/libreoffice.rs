//! `soffice --headless --convert-to pdf`, in a folder of its own that goes away afterwards.

use std::process::Stdio;

use bytes::Bytes;
use tokio::process::Command;

use crate::{options::Options, sniff::Kind};

pub(super) async fn convert(
    kind: Kind,
    content: &Bytes,
    options: &Options,
) -> Result<Bytes, String> {
    let folder = tempfile::tempdir().map_err(|e| format!("no folder to work in: {e}"))?;
    // the name in the request never reaches the disk
    let input = folder.path().join(format!("document.{}", kind.extension()));
    tokio::fs::write(&input, content)
        .await
        .map_err(|e| format!("the document cannot be put down: {e}"))?;
    let profile = format!(
        "-env:UserInstallation=file://{}/profile",
        folder.path().display()
    );
    let output = Command::new(&options.libreoffice_path)
        .args([
            &profile,
            "--headless",
            "--norestore",
            "--nolockcheck",
            "--convert-to",
            "pdf",
            "--outdir",
        ])
        .arg(folder.path())
        .arg(&input)
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output()
        .await
        .map_err(|e| {
            format!(
                "{} cannot be started: {e} (FLYDOCS_LIBREOFFICE_PATH)",
                options.libreoffice_path.display()
            )
        })?;
    tokio::fs::read(folder.path().join("document.pdf"))
        .await
        .map(Bytes::from)
        .map_err(|_| {
            let said = String::from_utf8_lossy(&output.stderr);
            let last = said
                .lines()
                .rfind(|l| !l.trim().is_empty())
                .unwrap_or("it gave no reason");
            format!("LibreOffice ended with {}: {last}", output.status)
        })
}
