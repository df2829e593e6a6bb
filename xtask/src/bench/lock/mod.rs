//! `cargo xtask bench lock`: lockfn beside raw flock, fd-lock, flock(1), the seed's Python
//! decorator, filelock and portalocker; medians of interleaved rounds of one run, as ratios, into
//! `docs/benchmarks/lock.md`.
//!
//! The measured work runs in processes of their own: this program again (`--worker`, release
//! build) and `peer.py`.

mod report;
mod worker;

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use anyhow::{Context as _, Result, bail};
use serde::{Deserialize, Serialize};

use crate::run::{cargo, check, output, project_root, say};

const PEERS: [&str; 2] = ["filelock==4.3.1", "portalocker==4.4.2"];
const PEER: &str = include_str!("peer.py");
const ROUNDS: usize = 5;
const PROCESSES: usize = 8;
const SECONDS: f64 = 2.0;
const HOLD: Duration = Duration::from_millis(1);
const THINK: Duration = Duration::from_millis(20);
const PAIRS: usize = 20_000;
const PYTHON_PAIRS: usize = 3000;
const COMMANDS: usize = 400;
const COMMAND_TURNS: usize = 20;

/// How eight processes wait for one lock.
const WAYS: [&str; 8] = [
    "raw flock",
    "lockfn sync",
    "lockfn timed",
    "lockfn async",
    "lockfn mixed",
    "seed",
    "filelock",
    "portalocker",
];

/// Nanoseconds of CPU per acquire and release, by what does it.
type Costs = BTreeMap<String, f64>;

/// What one process of a contention run saw.
#[derive(Debug, Serialize, Deserialize)]
struct Seen {
    entered: u64,
    longest_us: u64,
}

/// What eight of them saw, median of the rounds.
#[derive(Debug, Default)]
struct Contention {
    per_second: f64,
    longest_ms: f64,
    worst_ms: f64,
}

/// All figures of a run.
#[derive(Debug, Default)]
struct Figures {
    disk: Costs,
    memory: Costs,
    /// By way: with and without think time.
    thinking: BTreeMap<&'static str, Contention>,
    saturated: BTreeMap<&'static str, Contention>,
    /// Microseconds of CPU and of wall time per command.
    commands: BTreeMap<&'static str, (f64, f64)>,
    /// Of this process, and so of all that is measured.
    niceness: i32,
    load_before: String,
    load_after: String,
}

/// Runs the benchmark; `args`: `--rounds N` (5), `--worker ...` (internal).
pub(crate) fn run(args: &[String]) -> Result<()> {
    if args.first().is_some_and(|first| first == "--worker") {
        return worker::run(args.get(1..).unwrap_or_default());
    }
    let root = project_root()?;
    if cfg!(debug_assertions) {
        say("measuring needs a release build");
        let mut again = vec![
            "run",
            "--quiet",
            "--release",
            "--package",
            "xtask",
            "--",
            "bench",
            "lock",
        ];
        again.extend(args.iter().map(String::as_str));
        return cargo(&root, &again);
    }
    let rounds = rounds(args)?;
    let bench = Bench::prepare(&root)?;
    let mut figures = Figures {
        niceness: rustix::process::getpriority_process(None)?,
        load_before: load()?,
        ..Figures::default()
    };
    bench.uncontended(rounds, &mut figures)?;
    bench.contended(rounds, &mut figures)?;
    bench.commands(rounds, &mut figures)?;
    figures.load_after = load()?;
    let page = report::page(&figures, rounds)?;
    let place = root.join("docs/benchmarks/lock.md");
    std::fs::create_dir_all(root.join("docs/benchmarks"))?;
    std::fs::write(&place, &page).with_context(|| format!("cannot write {}", place.display()))?;
    say(&format!("written to {}\n\n{page}", place.display()));
    Ok(())
}

fn rounds(args: &[String]) -> Result<usize> {
    match args {
        [] => Ok(ROUNDS),
        [name, number] if name == "--rounds" => number
            .parse()
            .with_context(|| format!("--rounds {number} is no number")),
        _ => bail!("bench lock knows --rounds N, not {args:?}"),
    }
}

/// Where things are.
#[derive(Debug)]
struct Bench {
    folder: PathBuf,
    python: PathBuf,
    script: PathBuf,
    command: PathBuf,
}

impl Bench {
    fn prepare(root: &Path) -> Result<Self> {
        let folder = root.join("target/bench/lock");
        std::fs::create_dir_all(&folder)
            .with_context(|| format!("cannot make the folder {}", folder.display()))?;
        let python = environment(&folder)?;
        let script = folder.join("peer.py");
        std::fs::write(&script, PEER)
            .with_context(|| format!("cannot write {}", script.display()))?;
        cargo(
            root,
            &["build", "--quiet", "--release", "--package", "lockfn"],
        )?;
        let target =
            std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
        Ok(Self {
            folder,
            python,
            script,
            command: target.join("release/lockfn"),
        })
    }

    /// A new, empty folder.
    fn fresh(base: &Path, name: &str) -> Result<PathBuf> {
        let folder = base
            .join(format!("lockfn-bench-{}", std::process::id()))
            .join(name);
        if folder.exists() {
            std::fs::remove_dir_all(&folder)?;
        }
        std::fs::create_dir_all(&folder)
            .with_context(|| format!("cannot make the folder {}", folder.display()))?;
        Ok(folder)
    }

    fn worker(words: &[&str]) -> Result<Command> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["bench", "lock", "--worker"]).args(words);
        Ok(command)
    }

    fn peer(&self, words: &[&str]) -> Command {
        let mut command = Command::new(&self.python);
        command.arg(&self.script).args(words);
        command
    }

    fn uncontended(&self, rounds: usize, figures: &mut Figures) -> Result<()> {
        let bases = [
            (self.folder.clone(), &mut figures.disk),
            ("/dev/shm".into(), &mut figures.memory),
        ];
        for (base, costs) in bases {
            let mut seen: BTreeMap<String, Vec<f64>> = BTreeMap::new();
            for round in 1..=rounds {
                say(&format!(
                    "uncontended in {}, round {round} of {rounds}",
                    base.display()
                ));
                let place = Self::fresh(&base, "uncontended")?;
                let place = place.to_str().context("the folder's name is no text")?;
                let ours = output(&mut Self::worker(&[
                    "uncontended",
                    place,
                    &PAIRS.to_string(),
                ])?)?;
                let peers =
                    output(&mut self.peer(&["uncontended", place, &PYTHON_PAIRS.to_string()]))?;
                for said in [ours, peers] {
                    for (name, cost) in serde_json::from_str::<Costs>(&said)? {
                        seen.entry(name).or_default().push(cost);
                    }
                }
            }
            *costs = seen
                .into_iter()
                .map(|(name, costs)| (name, median(costs)))
                .collect();
        }
        Ok(())
    }

    fn contended(&self, rounds: usize, figures: &mut Figures) -> Result<()> {
        for (think, into) in [
            (THINK, &mut figures.thinking),
            (Duration::ZERO, &mut figures.saturated),
        ] {
            let mut seen: BTreeMap<&'static str, Vec<(f64, f64)>> = BTreeMap::new();
            for round in 1..=rounds {
                for way in WAYS {
                    say(&format!(
                        "contended, {way}, think {think:?}, round {round} of {rounds}"
                    ));
                    seen.entry(way).or_default().push(self.contend(way, think)?);
                }
            }
            for (way, rounds) in seen {
                let longest: Vec<f64> = rounds.iter().map(|(_, longest)| *longest).collect();
                let worst_ms = longest.iter().copied().fold(0.0, f64::max);
                let per_second = median(rounds.iter().map(|(rate, _)| *rate).collect());
                into.insert(
                    way,
                    Contention {
                        per_second,
                        longest_ms: median(longest),
                        worst_ms,
                    },
                );
            }
        }
        Ok(())
    }

    /// Entries per second of all, and the longest wait of any in milliseconds.
    fn contend(&self, way: &str, think: Duration) -> Result<(f64, f64)> {
        let place = Self::fresh(&self.folder, "contended")?;
        std::fs::write(place.join("counter"), "0")?;
        let path = place.to_str().context("the folder's name is no text")?;
        let start = SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs_f64() + 0.5;
        let times =
            [start, SECONDS, HOLD.as_secs_f64(), think.as_secs_f64()].map(|time| time.to_string());
        let [start, seconds, hold, think] = times.each_ref().map(String::as_str);
        let mut children: Vec<Child> = Vec::new();
        for number in 0..PROCESSES {
            let words = ["contend", way, path, start, seconds, hold, think];
            let mut command = match way {
                "seed" | "filelock" | "portalocker" => self.peer(&words),
                "lockfn mixed" => {
                    let kinds = ["lockfn sync", "lockfn timed", "lockfn async"];
                    let kind = kinds.get(number % kinds.len()).copied().unwrap_or(way);
                    Self::worker(&["contend", kind, path, start, seconds, hold, think])?
                }
                _ => Self::worker(&words)?,
            };
            children.push(command.stdout(Stdio::piped()).spawn()?);
        }
        let (mut entered, mut longest_us) = (0, 0);
        for child in children {
            let said = child.wait_with_output()?;
            let seen: Seen = serde_json::from_slice(&said.stdout)
                .with_context(|| format!("a process of {way} did not answer"))?;
            entered += seen.entered;
            longest_us = longest_us.max(seen.longest_us);
        }
        let counted: u64 = std::fs::read_to_string(place.join("counter"))?
            .trim()
            .parse()?;
        if counted != entered {
            bail!("{way}: {} updates lost of {entered}", entered - counted);
        }
        Ok((entered as f64 / SECONDS, longest_us as f64 / 1e3))
    }

    fn commands(&self, rounds: usize, figures: &mut Figures) -> Result<()> {
        let place = Self::fresh(&self.folder, "commands")?;
        let file = place.join("it.lock");
        let file = file.to_str().context("the file's name is no text")?;
        let ours = self
            .command
            .to_str()
            .context("the command's name is no text")?;
        let cases: [(&str, Vec<&str>); 5] = [
            ("true", vec!["true"]),
            ("flock f true", vec!["flock", file, "true"]),
            ("flock -F f true", vec!["flock", "-F", file, "true"]),
            ("lockfn -f f -- true", vec![ours, "-f", file, "--", "true"]),
            (
                "lockfn -f f --exec -- true",
                vec![ours, "-f", file, "--exec", "--", "true"],
            ),
        ];
        let mut seen: BTreeMap<&'static str, Vec<(f64, f64)>> = BTreeMap::new();
        for round in 1..=rounds {
            say(&format!("commands, round {round} of {rounds}"));
            // In small turns, so that whatever else the machine does befalls all alike.
            let mut sums = [(0.0, 0.0); 5];
            for _ in 0..COMMAND_TURNS {
                for ((_, words), (cpu, wall)) in cases.iter().zip(&mut sums) {
                    let spent = worker::time_command(words, COMMANDS / COMMAND_TURNS)?;
                    *cpu += spent.0 / COMMAND_TURNS as f64;
                    *wall += spent.1 / COMMAND_TURNS as f64;
                }
            }
            for ((name, _), sum) in cases.iter().zip(sums) {
                seen.entry(name).or_default().push(sum);
            }
        }
        for (name, rounds) in seen {
            let cpu = median(rounds.iter().map(|(cpu, _)| *cpu).collect());
            let wall = median(rounds.iter().map(|(_, wall)| *wall).collect());
            figures.commands.insert(name, (cpu, wall));
        }
        Ok(())
    }
}

/// A Python with the peers in it, made once.
fn environment(folder: &Path) -> Result<PathBuf> {
    let home = folder.join("venv");
    let python = home.join("bin/python");
    let stamp = home.join("installed");
    let wanted = PEERS.join(" ");
    if std::fs::read_to_string(&stamp).is_ok_and(|installed| installed == wanted) {
        return Ok(python);
    }
    say("installing the peers");
    check(Command::new("python3").arg("-m").arg("venv").arg(&home))?;
    check(
        Command::new(&python)
            .args(["-m", "pip", "install", "--quiet"])
            .args(PEERS),
    )?;
    std::fs::write(&stamp, wanted)?;
    Ok(python)
}

/// What else the machine was doing: the load averages of 1, 5 and 15 minutes.
fn load() -> Result<String> {
    let said = std::fs::read_to_string("/proc/loadavg")?;
    Ok(said
        .split_whitespace()
        .take(3)
        .collect::<Vec<_>>()
        .join(" "))
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}
