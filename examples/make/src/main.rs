//! Makes the documents in `examples/` from text: `cargo xtask examples`.
//!
//! Everything in them is invented; they are under the project's own licence. The fonts are DejaVu
//! (`fonts-dejavu-core`), embedded in part, free for any use.

mod form;
mod invoice;
mod paper;
mod receipt;
mod scan;

use std::path::Path;

use anyhow::Context as _;

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .context("examples/make has no parent")?;
    let fonts = paper::Fonts::load()?;

    let invoice = invoice::draw(&fonts)?;
    std::fs::write(folder.join("invoice.pdf"), &invoice)?;
    std::fs::write(
        folder.join("invoice-scan.pdf"),
        scan::of("invoice.pdf", invoice).await?,
    )?;
    let receipt = receipt::draw(&fonts)?;
    std::fs::write(
        folder.join("receipt.png"),
        scan::first_page_png("receipt.pdf", receipt).await?,
    )?;
    std::fs::write(folder.join("id-form.pdf"), form::draw(&fonts)?)?;
    Ok(())
}
