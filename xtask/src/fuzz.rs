//! `cargo xtask fuzz DOOR`: files that are changed at random go through a door of `flydocs_pages::entries`, in a
//! child process that is watched. A panic, an abort and an input without end are kept and fail the command.

use std::{
    fs,
    io::{BufRead as _, BufReader},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::mpsc::{RecvTimeoutError, channel},
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, bail};
use flydocs_pages::entries;

use crate::run::{project_root, say};

/// Processor time after which an input is taken to have no end.
const NO_END_SECONDS: f64 = 20.0;
/// How often a child is looked at.
const TICK: Duration = Duration::from_millis(500);
/// Longest input that is made.
const LONGEST: usize = 64 * 1024;
/// Parsers recurse: the stack they have in the product.
const STACK_BYTES: usize = 32 * 1024 * 1024;
/// After so many faults there is enough to look at.
const ENOUGH: usize = 20;
/// How often a child says how far it is.
const INPUTS_A_LINE: u64 = 50;

/// `args`: the door; `--seconds N` (600); `--seed N`; `--input FILE` sends one file through and nothing else.
pub(crate) fn run(args: &[String]) -> Result<()> {
    let after = |name: &str| {
        args.iter()
            .position(|a| a == name)
            .and_then(|at| args.get(at + 1))
    };
    let Some(door) = args
        .first()
        .filter(|door| entries::DOORS.contains(&door.as_str()))
    else {
        bail!("which door? one of {}", entries::DOORS.join(", "));
    };
    if let Some(input) = after("--input") {
        let bytes = fs::read(input).with_context(|| format!("cannot read {input}"))?;
        return through(door, bytes);
    }
    let seed: u64 = after("--seed").map_or(Ok(1), |n| n.parse())?;
    let folder = project_root()?.join("fuzz");
    if args.iter().any(|a| a == "--inside") {
        let place = after("--place").context("a child is told where to put its input")?;
        return inside(door, seed, &seeds(&folder, door)?, Path::new(place));
    }
    let seconds: u64 = after("--seconds").map_or(Ok(600), |n| n.parse())?;
    watch(door, seed, Duration::from_secs(seconds), &folder)
}

/// Children one after the other until the time is over; what killed one is kept.
fn watch(door: &str, seed: u64, time: Duration, folder: &Path) -> Result<()> {
    let artifacts = folder.join("artifacts").join(door);
    fs::create_dir_all(&artifacts)
        .with_context(|| format!("cannot make {}", artifacts.display()))?;
    let place = artifacts.join(format!("current-{}", std::process::id()));
    let until = Instant::now() + time;
    let (mut inputs, mut faults, mut round) = (0, 0, 0);
    while Instant::now() < until && faults < ENOUGH {
        let (done, fault) = one_child(door, seed + round, until, &place)?;
        round += 1;
        inputs += done;
        let Some(fault) = fault else {
            continue;
        };
        faults += 1;
        let bytes = fs::read(&place).unwrap_or_default();
        let kept = artifacts.join(format!("{fault}-{seed}-{round}"));
        fs::write(&kept, bytes)?;
        say(&format!("{fault}: {}", kept.display()));
    }
    // not there when no child lived long enough
    drop(fs::remove_file(&place));
    say(&format!(
        "{door}: {inputs} inputs in {} s, {faults} faults (seed {seed})",
        time.as_secs()
    ));
    if faults > 0 {
        bail!(
            "{faults} inputs are to be looked at in {}",
            artifacts.display()
        );
    }
    Ok(())
}

/// How many inputs a child got through, and what ended it when it was not the time.
fn one_child(
    door: &str,
    seed: u64,
    until: Instant,
    place: &Path,
) -> Result<(u64, Option<&'static str>)> {
    let mut child = Command::new(std::env::current_exe()?)
        .args(["fuzz", door, "--inside", "--seed", &seed.to_string()])
        .arg("--place")
        .arg(place)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .context("a child cannot be started")?;
    let stdout = child.stdout.take().context("a child has no output")?;
    let (sender, lines) = channel();
    let listening = std::thread::spawn(move || {
        for line in BufReader::new(stdout).lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                break;
            }
        }
    });
    let (mut inputs, mut spent) = (0, 0.0);
    let fault = loop {
        match lines.recv_timeout(TICK) {
            Ok(line) => {
                inputs = line.trim().parse().unwrap_or(inputs);
                spent = processor_seconds(child.id()).unwrap_or(spent);
            }
            Err(RecvTimeoutError::Disconnected) => break Some("panic"),
            Err(RecvTimeoutError::Timeout) => {}
        }
        if Instant::now() >= until {
            break None;
        }
        // a line comes every so many inputs: this much time between two of them is one that does not end
        if processor_seconds(child.id()).is_some_and(|now| now - spent > NO_END_SECONDS) {
            break Some("no-end");
        }
    };
    // dead already where it ended itself
    drop(child.kill());
    let status = child.wait()?;
    drop(listening.join());
    let fault = fault.map(|fault| match fault {
        "panic" if status.code().is_none() => "abort",
        other => other,
    });
    Ok((inputs, fault))
}

/// User and system time of a process so far.
fn processor_seconds(pid: u32) -> Option<f64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let mut fields = stat.rsplit(')').next()?.split_whitespace().skip(11);
    let user: f64 = fields.next()?.parse().ok()?;
    let system: f64 = fields.next()?.parse().ok()?;
    Some((user + system) / rustix::param::clock_ticks_per_second() as f64)
}

/// Changes files and sends them through the door for ever; the parent ends it, or a fault does.
#[expect(clippy::print_stdout, reason = "the parent reads it")]
fn inside(door: &str, seed: u64, seeds: &[Vec<u8>], place: &Path) -> Result<()> {
    let mut chance = Chance(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    for done in 0_u64.. {
        if done % INPUTS_A_LINE == 0 {
            println!("{done}");
        }
        let input = chance.changed(seeds);
        fs::write(place, &input)?;
        through(door, input)?;
    }
    Ok(())
}

fn through(door: &str, input: Vec<u8>) -> Result<()> {
    let door = door.to_owned();
    let thread = std::thread::Builder::new()
        .stack_size(STACK_BYTES)
        .spawn(move || entries::enter(&door, &input))?;
    match thread.join() {
        Ok(_) => Ok(()),
        Err(_) => bail!("an input panics"),
    }
}

fn seeds(folder: &Path, door: &str) -> Result<Vec<Vec<u8>>> {
    let folder = folder.join("seeds").join(door);
    let listed =
        fs::read_dir(&folder).with_context(|| format!("cannot list {}", folder.display()))?;
    let mut paths: Vec<PathBuf> = listed.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    let seeds: Vec<Vec<u8>> = paths.iter().map(fs::read).collect::<std::io::Result<_>>()?;
    if seeds.is_empty() {
        bail!("{} holds nothing to begin with", folder.display());
    }
    Ok(seeds)
}

/// A small generator of chance: the same seed, the same inputs.
struct Chance(u64);

impl Chance {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, most: usize) -> usize {
        (self.next() % most.max(1) as u64) as usize
    }

    /// A seed with a few changes made to it.
    fn changed(&mut self, seeds: &[Vec<u8>]) -> Vec<u8> {
        let mut bytes = seeds[self.below(seeds.len())].clone();
        for _ in 0..=self.below(6) {
            self.change(&mut bytes, seeds);
        }
        bytes.truncate(LONGEST);
        bytes
    }

    fn change(&mut self, bytes: &mut Vec<u8>, seeds: &[Vec<u8>]) {
        const TELLING: [u64; 10] = [
            0,
            1,
            0x7f,
            0x80,
            0xff,
            0x7fff,
            0xffff,
            0x7fff_ffff,
            0xffff_ffff,
            u64::MAX,
        ];
        if bytes.is_empty() {
            bytes.push(0);
        }
        let at = self.below(bytes.len());
        let length = (1 + self.below(32)).min(bytes.len() - at);
        match self.below(9) {
            0 => bytes[at] ^= 1 << self.below(8),
            1 => bytes[at] = self.next() as u8,
            2 => drop(bytes.drain(at..at + length)),
            3 => {
                let again = bytes[at..at + length].to_vec();
                let to = self.below(bytes.len());
                bytes.splice(to..to, again);
            }
            4 => {
                let value = TELLING[self.below(TELLING.len())];
                let raw = if self.below(2) == 0 {
                    value.to_le_bytes()
                } else {
                    value.to_be_bytes()
                };
                for (place, byte) in bytes[at..].iter_mut().zip(raw).take(length.min(8)) {
                    *place = byte;
                }
            }
            // a number in text becomes another
            5 => {
                let digits = bytes[at..]
                    .iter()
                    .position(u8::is_ascii_digit)
                    .map(|d| at + d);
                if let Some(from) = digits {
                    let to = from
                        + bytes[from..]
                            .iter()
                            .take_while(|b| b.is_ascii_digit())
                            .count();
                    let value = match self.below(4) {
                        0 => self.below(12) as u64,
                        1 => self.next() % 100_000,
                        _ => TELLING[self.below(TELLING.len())],
                    };
                    bytes.splice(from..to, value.to_string().into_bytes());
                }
            }
            6 => bytes.truncate(at),
            // a piece of another seed
            7 => {
                let other = &seeds[self.below(seeds.len())];
                if !other.is_empty() {
                    let from = self.below(other.len());
                    let to = (from + 1 + self.below(200)).min(other.len());
                    bytes.splice(at..at + length, other[from..to].iter().copied());
                }
            }
            // the same many times: what nests, nests deeply
            _ => {
                let piece = bytes[at..at + length].to_vec();
                let many = piece.repeat(1 + self.below(300));
                bytes.splice(at..at, many);
            }
        }
    }
}
