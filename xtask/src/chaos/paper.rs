//! The documents of a run and the reader that stands in for tesseract: how wide a page is says what happens while it
//! is read. Nothing of the product knows of it.

use std::{fs, os::unix::fs::PermissionsExt as _, path::Path};

use anyhow::{Context as _, Result};
use base64::Engine as _;
use serde_json::{Value, json};

/// Reads `P5`, width and height, as the product hands a page to tesseract. 100 to 199 pixels: sleeps 20 ms a pixel
/// above 100, then has read five words. 300: kills the worker. The rest of the page is not looked at.
const READER: &str = r#"#!/bin/sh
case "$*" in
*--list-langs*) printf 'List of available languages (2):\neng\nosd\n'; exit 0 ;;
*--version*) echo 'tesseract 5.3.0'; exit 0 ;;
esac
read -r _
read -r width _
if [ "$width" -ge 290 ]; then kill -9 "$PPID"; exit 1; fi
hundredths=$(((width - 100) * 2))
if [ "$hundredths" -gt 0 ]; then sleep "$((hundredths / 100)).$(printf %02d $((hundredths % 100)))"; fi
case "$*" in *"--psm 0"*) exit 1 ;; esac
printf 'level\tpage_num\tblock_num\tpar_num\tline_num\tword_num\tleft\ttop\twidth\theight\tconf\ttext\n'
n=0
for word in Receipt number: RE-4711 Total: 12.50; do
  n=$((n + 1))
  printf '5\t1\t1\t1\t1\t%d\t%d\t10\t16\t10\t96\t%s\n' "$n" "$((n * 18))" "$word"
done
"#;

/// What is to become of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// It is read, in so many hundredths of a second.
    Good { hundredths: u32 },
    /// It asks for a password: it can never be read.
    Poison,
    /// It kills the process that reads it.
    Killer,
}

/// Writes the reader into the folder; its path is for `FLYDOCS_TESSERACT_PATH`.
pub(super) fn reader(folder: &Path) -> Result<String> {
    let path = folder.join("reader");
    fs::write(&path, READER).context("writing the reader")?;
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755))
        .context("making the reader executable")?;
    Ok(path.display().to_string())
}

/// The body of a submission; `nonce` makes its bytes, and so its pages, its own.
pub(super) fn request(kind: Kind, nonce: &str, boxes: bool, callback: Option<&str>) -> Value {
    let bytes = match kind {
        Kind::Good { hundredths } => page(100 + hundredths.min(199) / 2, nonce),
        Kind::Killer => page(300, nonce),
        Kind::Poison => locked(nonce),
    };
    json!({
        "files": [{
            "filename": format!("{nonce}.pdf"),
            "content_base64": base64::engine::general_purpose::STANDARD.encode(bytes),
        }],
        "document_types": [{
            "id": "receipt",
            "field_groups": [{"name": "receipt", "fields": [
                {"name": "receipt_number"},
                {"name": "total", "type": "number"},
            ]}],
        }],
        "options": {"stages": {"bbox_refine": boxes}},
        "callback_url": callback,
        "metadata": {"chaos": nonce},
    })
}

/// A PDF with a square and no text on one page, which is drawn `pixels` wide at 200 dots an inch.
fn page(pixels: u32, nonce: &str) -> Vec<u8> {
    let wide = f64::from(pixels) * 0.36;
    written(
        &[
            "<< /Type /Catalog /Pages 2 0 R >>",
            "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
            &format!(
                "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 {wide:.2} 18] /Contents 4 0 R >>"
            ),
            "<< /Length 12 >>\nstream\n4 4 9 9 re f\nendstream",
        ],
        nonce,
        "",
    )
}

fn locked(nonce: &str) -> Vec<u8> {
    let o = "28".repeat(32);
    let id = "0123456789abcdef".repeat(2);
    written(
        &[
            "<< /Type /Catalog /Pages 2 0 R >>",
            "<< /Type /Pages /Kids [] /Count 0 >>",
            &format!("<< /Filter /Standard /V 2 /R 3 /Length 128 /P -44 /O <{o}> /U <{o}> >>"),
        ],
        nonce,
        &format!("/Encrypt 3 0 R /ID [<{id}> <{id}>]"),
    )
}

fn written(objects: &[&str], nonce: &str, trailer: &str) -> Vec<u8> {
    let mut text = format!("%PDF-1.7\n% {nonce}\n");
    let mut places = Vec::new();
    for (at, object) in objects.iter().enumerate() {
        places.push(text.len());
        text.push_str(&format!("{} 0 obj\n{object}\nendobj\n", at + 1));
    }
    let start = text.len();
    text.push_str(&format!(
        "xref\n0 {}\n0000000000 65535 f \n",
        objects.len() + 1
    ));
    for place in places {
        text.push_str(&format!("{place:010} 00000 n \n"));
    }
    text.push_str(&format!(
        "trailer\n<< /Size {} /Root 1 0 R {trailer} >>\nstartxref\n{start}\n%%EOF\n",
        objects.len() + 1
    ));
    text.into_bytes()
}
