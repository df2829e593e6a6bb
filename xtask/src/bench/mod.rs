//! Benchmarks: each measures ours and its peers in one run and prints ratios.

use anyhow::bail;

/// Runs one benchmark by name.
pub(crate) fn run(name: &str, args: &[String]) -> anyhow::Result<()> {
    let _ = args;
    match name {
        other => bail!("no benchmark is called {other:?}; known are lock, ground, pages"),
    }
}
