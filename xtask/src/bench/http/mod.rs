//! `cargo xtask bench http`: the HTTP surface against its bars, on SQLite and PostgreSQL, beside a bare handler, into
//! `docs/benchmarks/http.md`.

mod figures;
mod list;
mod polls;
mod process;
mod start;
mod submit;

use std::path::PathBuf;

use anyhow::{Context as _, Result};

use crate::run::{self, say};

const TYPES: &str = r#"{"document_types":[{"id":"t","field_groups":[{"name":"g","fields":[{"name":"invoice_number"}]}]}],"options":{"stages":{"bbox_refine":true}}}"#;
/// What is measured, and how much of it.
struct Plan {
    binary: PathBuf,
    rate: u64,
    seconds: u64,
    rows: u64,
    polls: usize,
    only: Option<String>,
}

/// `args`: `--binary FILE`, `--rate N` (200), `--seconds N` (15), `--rows N` (1000000), `--polls N` (2000),
/// `--only start|submit|list|polls`.
pub(crate) fn run(args: &[String]) -> Result<()> {
    let after = |name: &str| {
        let at = args.iter().position(|arg| arg == name)?;
        args.get(at + 1).cloned()
    };
    let number = |name: &str, usual: u64| after(name).map_or(Ok(usual), |n| n.parse());
    let binary = match after("--binary") {
        Some(binary) => PathBuf::from(binary),
        None => built()?,
    };
    let plan = Plan {
        binary,
        rate: number("--rate", 200)?,
        seconds: number("--seconds", 15)?,
        rows: number("--rows", 1_000_000)?,
        polls: usize::try_from(number("--polls", 2000)?)?,
        only: after("--only"),
    };
    many_files()?;
    drop(rustls::crypto::ring::default_provider().install_default());
    tokio::runtime::Runtime::new()?.block_on(measure(&plan))
}

/// The program as it is released.
fn built() -> Result<PathBuf> {
    let root = run::project_root()?;
    let words = ["build", "--release", "--package", "flydocs", "--locked"];
    run::cargo(&root, &words)?;
    Ok(run::target(&root).join("release/flydocs"))
}

/// Thousands of connections need thousands of descriptors, here and in the servers, which inherit it.
fn many_files() -> Result<()> {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let maximum = getrlimit(Resource::Nofile).maximum;
    let all = Rlimit {
        current: maximum,
        maximum,
    };
    setrlimit(Resource::Nofile, all).context("the limit of open files cannot be raised")
}

async fn measure(plan: &Plan) -> Result<()> {
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let mut page = Page::default();
    page.line(&format!(
        "# The HTTP surface against its bars\n\nWritten by `cargo xtask bench http`. Caller, service and database share \
         one machine; load averages at its beginning: {}.",
        load.trim()
    ));
    let wanted = |part: &str| plan.only.as_deref().is_none_or(|only| only == part);
    if wanted("start") {
        start::measure(plan, &mut page).await?;
    }
    if wanted("submit") {
        submit::measure(plan, &mut page).await?;
    }
    if wanted("list") {
        list::measure(plan, &mut page).await?;
    }
    if wanted("polls") {
        polls::measure(plan, &mut page).await?;
    }
    if plan.only.is_none() {
        let place = run::project_root()?.join("docs/benchmarks/http.md");
        std::fs::write(&place, page.text)
            .with_context(|| format!("{} cannot be written", place.display()))?;
    }
    Ok(())
}

/// What is written, said line by line as it comes.
#[derive(Default)]
struct Page {
    text: String,
}

impl Page {
    fn line(&mut self, line: &str) {
        say(line);
        self.text.push_str(line);
        self.text.push('\n');
    }

    const fn verdict(kept: bool) -> &'static str {
        if kept { "kept" } else { "**missed**" }
    }
}
