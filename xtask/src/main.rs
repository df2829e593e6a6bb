//! `cargo xtask`: checks, provisioning, evaluation and benchmarks of the project.

mod arrows;
#[cfg(feature = "measure")]
mod bench;
#[cfg(feature = "chaos")]
mod chaos;
mod clients;
mod deny;
mod eval;
#[cfg(feature = "measure")]
mod fuzz;
#[cfg(feature = "measure")]
mod nasty;
#[cfg(feature = "queue")]
#[path = "bench/queue/mod.rs"]
mod queue;
mod run;
mod setup;
mod state_machine;
mod tansu;
mod verify;

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::{Parser, Subcommand};

#[derive(Debug, Parser)]
#[command(
    name = "cargo xtask",
    about = "Checks, provisioning, evaluation and benchmarks of flydocs"
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Install what the tests need, then run every check and every test: what CI runs
    Test,
    /// Install what the tests need (OCR, PostgreSQL, Redis, a Kafka broker, fonts), only what is missing
    Setup,
    /// Run every check that is no test: format, lints, arrows, licences, documents
    Check,
    /// Fail when a crate imports a crate of its own floor or of a higher one
    Arrows,
    /// Fail when a dependency has a licence or source that is not allowed
    Deny,
    /// Draw docs/state-machine.md from the moves in flydocs-contract
    StateMachine,
    /// Make the documents in examples/ again
    Examples,
    /// Run the Python client and schemathesis against the built binary
    Clients {
        /// Arguments for pytest
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<String>,
    },
    /// Extract every case of an evaluation set through the release binary and score it
    Eval {
        /// A folder with manifest.jsonl and files/, and score.py beside or above it
        dir: PathBuf,
        /// Where predictions and the full score go
        #[arg(long, default_value = "target/eval")]
        out: PathBuf,
        /// Only cases whose id contains this
        #[arg(long)]
        only: Option<String>,
    },
    /// Read a set of hostile files and hold every case to its manifest, time and memory
    Nasty {
        /// A folder with manifest.jsonl and files/
        dir: String,
        /// Its own arguments
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<String>,
    },
    /// Kill processes of a real fleet while it works, then audit every document (--help for its own flags)
    #[command(disable_help_flag = true)]
    Chaos {
        /// Its own arguments
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<String>,
    },
    /// Send files changed at random through a door for strangers' bytes: sniff, archives, mail, pdf
    Fuzz {
        /// Which door
        door: String,
        /// Its own arguments
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<String>,
    },
    /// Measure against peers in one run: bus, ground, http, lock, pages, queue
    Bench {
        /// Which benchmark
        name: String,
        /// Its own arguments
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<String>,
    },
}

fn main() -> anyhow::Result<()> {
    let root = run::project_root()?;
    match Cli::parse().command {
        Command::Test => verify::everything(&root),
        Command::Setup => setup::install(&root),
        Command::Check => verify::checks(&root),
        Command::Arrows => arrows::check(&root),
        Command::Deny => deny::check(&root),
        Command::StateMachine => state_machine::write(&root),
        Command::Examples => run::cargo(&root, &["run", "--quiet", "--package", "make-examples"]),
        Command::Clients { args } => clients::check(&root, &args),
        Command::Eval { dir, out, only } => eval::run(&root, &dir, &out, only.as_deref()),
        Command::Nasty { dir, mut args } => {
            args.insert(0, dir);
            measured(&root, "nasty", &args)
        }
        Command::Chaos { args } => chaotic(&root, &args),
        Command::Bench { name, args } if name == "bus" => bus_bench(&root, &args),
        Command::Bench { name, args } if name == "queue" => queue_bench(&root, &args),
        Command::Fuzz { door, mut args } => {
            args.insert(0, door);
            measured(&root, "fuzz", &args)
        }
        Command::Bench { name, mut args } => {
            args.insert(0, name);
            measured(&root, "bench", &args)
        }
    }
}

/// Every adapter of the bus on servers of its own, written to its page.
fn bus_bench(root: &Path, args: &[String]) -> anyhow::Result<()> {
    let mut command = std::process::Command::new(run::cargo_program());
    command
        .args(["run", "--quiet", "--release", "--package", "flydocs-bus"])
        .args(["--features", "kafka", "--example", "bus", "--"])
        .args(args)
        .stderr(std::process::Stdio::inherit())
        .current_dir(root);
    let page = run::output(&mut command)?;
    run::say(&page);
    let place = root.join("docs/benchmarks/bus.md");
    std::fs::write(&place, page).with_context(|| format!("{} cannot be written", place.display()))
}

#[cfg(feature = "measure")]
fn measured(_root: &Path, command: &str, args: &[String]) -> anyhow::Result<()> {
    if command == "nasty" {
        return nasty::run(args);
    }
    if command == "fuzz" {
        return fuzz::run(args);
    }
    let (name, args) = args.split_first().context("which benchmark?")?;
    bench::run(name, args)
}

/// What is measured is built for it: the same command again, optimised and with the crates it measures.
#[cfg(not(feature = "measure"))]
fn measured(root: &Path, command: &str, args: &[String]) -> anyhow::Result<()> {
    let mut words = vec![
        "run",
        "--quiet",
        "--release",
        "--package",
        "xtask",
        "--features",
        "measure",
        "--",
        command,
    ];
    words.extend(args.iter().map(String::as_str));
    run::cargo(root, &words)
}

#[cfg(feature = "queue")]
fn queue_bench(root: &Path, args: &[String]) -> anyhow::Result<()> {
    queue::run(root, args)
}

/// The same command again, with the server it needs; what is measured runs in processes of its own.
#[cfg(not(feature = "queue"))]
fn queue_bench(root: &Path, args: &[String]) -> anyhow::Result<()> {
    let mut words = vec!["run", "--quiet", "--package", "xtask"];
    words.extend(["--features", "queue", "--", "bench", "queue"]);
    words.extend(args.iter().map(String::as_str));
    run::cargo(root, &words)
}

#[cfg(feature = "chaos")]
fn chaotic(root: &Path, args: &[String]) -> anyhow::Result<()> {
    chaos::run(root, args)
}

/// The same command again, with the servers and clients it needs.
#[cfg(not(feature = "chaos"))]
fn chaotic(root: &Path, args: &[String]) -> anyhow::Result<()> {
    let mut words = vec![
        "run",
        "--quiet",
        "--package",
        "xtask",
        "--features",
        "chaos",
        "--",
        "chaos",
    ];
    words.extend(args.iter().map(String::as_str));
    run::cargo(root, &words)
}
