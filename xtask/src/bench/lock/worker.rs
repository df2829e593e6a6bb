//! The measured work, in processes of its own.

use std::{
    future::Future,
    io::Write,
    os::fd::OwnedFd,
    path::{Path, PathBuf},
    pin::pin,
    process::{Command, Stdio},
    sync::Arc,
    task::{Context, Poll, Wake, Waker},
    thread::Thread,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use anyhow::{Context as _, Result, bail, ensure};
use lockfn::{LockDir, LockFile, lock_function};
use rustix::{
    fs::{FlockOperation, Mode, OFlags},
    time::{ClockId, clock_gettime},
};

use super::{Costs, Seen, median};

/// `uncontended DIR PAIRS` or `contend WAY DIR START SECONDS HOLD THINK`.
pub(super) fn run(words: &[String]) -> Result<()> {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let answer = match words.as_slice() {
        ["uncontended", dir, pairs] => {
            serde_json::to_string(&uncontended(Path::new(dir), pairs.parse()?)?)?
        }
        ["contend", way, dir, start, seconds, hold, think] => {
            let [start, seconds, hold, think] = [
                start.parse()?,
                seconds.parse()?,
                hold.parse()?,
                think.parse()?,
            ];
            let times = Times {
                start: UNIX_EPOCH + Duration::try_from_secs_f64(start)?,
                run: Duration::try_from_secs_f64(seconds)?,
                hold: Duration::try_from_secs_f64(hold)?,
                think: Duration::try_from_secs_f64(think)?,
            };
            serde_json::to_string(&contend(way, Path::new(dir), &times)?)?
        }
        words => bail!("no such work: {words:?}"),
    };
    writeln!(std::io::stdout(), "{answer}")?;
    Ok(())
}

fn uncontended(dir: &Path, pairs: usize) -> Result<Costs> {
    let locks = LockDir::private(dir.join("private"))?;
    let record = locks.lock("full");
    let bare = locks.lock("bare").holder_record(false);
    if locks.clone().make_default().is_err() {
        bail!("the lock directory is set already");
    }
    // All in one directory, and under names of one length: the same path to walk.
    let raw = locks.lock("raw0").path().to_owned();
    let fd_lock = locks.lock("fdlo").path().to_owned();
    let mut cases: Vec<Case<'_>> = vec![
        Case::new("raw open+flock+close", || raw_flock(&raw).map(drop)),
        Case::new("fd-lock, with open", || {
            let mut options = std::fs::File::options();
            options.read(true).write(true).create(true).truncate(false);
            let mut lock = fd_lock::RwLock::new(options.open(&fd_lock)?);
            drop(lock.try_write()?);
            Ok(())
        }),
        Case::new("lockfn, verified", || taken(bare.try_lock()?)),
        Case::new("lockfn, with holder record", || taken(record.try_lock()?)),
        Case::new("attribute, wait", || Ok(by_waiting()?)),
        Case::new("attribute, skip", || Ok(by_skipping()?)),
        Case::new("attribute, key", || Ok(by_key(7)?)),
        Case::new("attribute, async", || Ok(block_on(by_awaiting())?)),
    ];
    // In small turns, so that whatever else the machine does befalls all alike.
    let turn = pairs / TURNS;
    for _ in 0..TURNS {
        for case in &mut cases {
            let start = cpu_ns();
            for _ in 0..turn {
                (case.pair)()?;
            }
            case.costs.push((cpu_ns() - start) as f64 / turn as f64);
        }
    }
    Ok(cases
        .into_iter()
        .map(|case| (case.name.to_owned(), median(case.costs)))
        .collect())
}

const TURNS: usize = 40;

struct Case<'a> {
    name: &'static str,
    pair: Box<dyn FnMut() -> Result<()> + 'a>,
    costs: Vec<f64>,
}

impl<'a> Case<'a> {
    fn new(name: &'static str, pair: impl FnMut() -> Result<()> + 'a) -> Self {
        Self {
            name,
            pair: Box::new(pair),
            costs: Vec::new(),
        }
    }
}

#[expect(clippy::needless_pass_by_value, reason = "the hold ends here")]
fn taken(guard: Option<lockfn::LockGuard>) -> Result<()> {
    ensure!(guard.is_some(), "somebody else holds the benchmark's lock");
    Ok(())
}

// The attribute in its forms.

#[lock_function(mode = "wait")]
fn by_waiting() -> Result<(), lockfn::LockError> {
    Ok(())
}

#[lock_function]
fn by_skipping() -> Result<(), lockfn::LockError> {
    Ok(())
}

#[lock_function(mode = "wait", key = key)]
fn by_key(key: u8) -> Result<(), lockfn::LockError> {
    Ok(())
}

#[lock_function(mode = "wait")]
async fn by_awaiting() -> Result<(), lockfn::LockError> {
    Ok(())
}

fn raw_flock(path: &Path) -> Result<OwnedFd> {
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::CLOEXEC;
    let fd = rustix::fs::open(path, flags, Mode::from_raw_mode(0o600))?;
    rustix::fs::flock(&fd, FlockOperation::LockExclusive)?;
    Ok(fd)
}

struct Times {
    start: SystemTime,
    run: Duration,
    hold: Duration,
    think: Duration,
}

fn contend(way: &str, dir: &Path, times: &Times) -> Result<Seen> {
    let lock = LockFile::at(dir.join("it.lock"));
    let counter = dir.join("counter");
    sleep(
        times
            .start
            .duration_since(SystemTime::now())
            .unwrap_or_default(),
    );
    let start = Instant::now();
    let mut seen = Seen {
        entered: 0,
        longest_us: 0,
    };
    while start.elapsed() < times.run {
        let asked = Instant::now();
        let longest = &mut seen.longest_us;
        let mut body = || -> Result<()> {
            *longest = (*longest).max(asked.elapsed().as_micros() as u64);
            let value: u64 = std::fs::read_to_string(&counter)?.parse()?;
            sleep(times.hold);
            std::fs::write(&counter, (value + 1).to_string())?;
            Ok(())
        };
        match way {
            "raw flock" => {
                let _held = raw_flock(lock.path())?;
                body()?;
            }
            "lockfn sync" => {
                let _held = lock.lock()?;
                body()?;
            }
            "lockfn timed" => {
                let _held = lock
                    .lock_within(Duration::from_mins(1))?
                    .context("not free in a minute")?;
                body()?;
            }
            "lockfn async" => {
                let _held = block_on(lock.lock_async())?;
                body()?;
            }
            way => bail!("no such way: {way}"),
        }
        seen.entered += 1;
        sleep(times.think);
    }
    Ok(seen)
}

/// Microseconds of CPU and of wall time of one command, from many.
pub(super) fn time_command(words: &[&str], times: usize) -> Result<(f64, f64)> {
    let (program, arguments) = words.split_first().context("no command")?;
    let program = which(program)?;
    let (cpu, wall) = (children_cpu()?, Instant::now());
    for _ in 0..times {
        let status = Command::new(&program)
            .args(arguments)
            .stdin(Stdio::null())
            .status()?;
        ensure!(status.success(), "{} failed", program.display());
    }
    let each = 1e6 / times as f64;
    Ok((
        children_cpu()?.saturating_sub(cpu).as_secs_f64() * each,
        wall.elapsed().as_secs_f64() * each,
    ))
}

/// The program's own path, so that the search is not measured.
fn which(program: &str) -> Result<PathBuf> {
    if program.contains('/') {
        return Ok(program.into());
    }
    std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default())
        .map(|dir| dir.join(program))
        .find(|path| path.is_file())
        .with_context(|| format!("{program} is not installed"))
}

/// What the children that have ended used.
fn children_cpu() -> Result<Duration> {
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    let (_, fields) = stat
        .rsplit_once(')')
        .context("/proc/self/stat has another form")?;
    let ticks: u64 = fields
        .split_whitespace()
        .skip(13)
        .take(2)
        .map(|field| field.parse::<u64>().unwrap_or(0))
        .sum();
    Ok(Duration::from_millis(
        ticks * 1000 / rustix::param::clock_ticks_per_second(),
    ))
}

fn cpu_ns() -> i64 {
    let now = clock_gettime(ClockId::ProcessCPUTime);
    now.tv_sec * 1_000_000_000 + now.tv_nsec
}

#[expect(
    clippy::disallowed_methods,
    reason = "the load has a pace: it waits for nothing"
)]
fn sleep(time: Duration) {
    if !time.is_zero() {
        std::thread::sleep(time);
    }
}

fn block_on<F: Future>(future: F) -> F::Output {
    struct Unpark(Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(output) => return output,
            Poll::Pending => std::thread::park(),
        }
    }
}
