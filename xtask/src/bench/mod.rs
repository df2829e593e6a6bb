//! Benchmarks: each measures ours and its peers in one run and prints ratios.

mod ground;
mod http;
mod lock;
mod pages;
mod stalls;

use anyhow::bail;

/// Runs one benchmark by name.
pub(crate) fn run(name: &str, args: &[String]) -> anyhow::Result<()> {
    match name {
        "ground" => ground::run(args),
        "http" => http::run(args),
        "lock" => lock::run(args),
        "pages" => pages::run(args),
        other => {
            bail!(
                "no benchmark is called {other:?}; known are bus, ground, http, lock, pages, queue"
            )
        }
    }
}
