//! Running a command in the lock.

use std::{
    os::unix::process::{CommandExt, ExitStatusExt},
    process::{Command, ExitStatus},
    sync::mpsc,
    time::Duration,
};

use lockfn::{
    __private::{Config, Entry, Times, enter_lock_telling},
    LockError, LockFile, LockGuard, Mode, Result,
};

use crate::{
    BUSY,
    options::{HandDown, Options},
    say,
};

/// After this long the holder is named once, asked for or not.
const LONG_WAIT: Duration = Duration::from_secs(5);

pub(crate) fn run(options: &Options) -> Result<u8> {
    let lock = options.lock()?.command(shown(options));
    let busy = options.code.unwrap_or(BUSY);
    let Some(guard) = take(options, &lock)? else {
        return Ok(busy);
    };
    let mut command = Command::new(
        options
            .command
            .first()
            .map_or("".as_ref(), |word| word.as_os_str()),
    );
    command
        .args(options.command.iter().skip(1))
        .env("LOCKFN_TOKEN", guard.token().to_string());
    if let Some(holder) = guard.abandoned() {
        say(&format!(
            "the previous run of `{}` died in its work: {holder}",
            lock.name()
        ));
        command.env("LOCKFN_ABANDONED", holder.pid.to_string());
    }
    let status = match options.hand_down {
        HandDown::Exec => {
            // Held by the descriptor until this process is the command, or gives up.
            let _held = guard.hand_over()?;
            Err(command.exec())
        }
        HandDown::Inherit => {
            // A killed wrapper does not release the lock under a running command...
            guard.inherit()?;
            let status = command.status();
            // ...and at a normal end this unlocks, whoever else still has the descriptor.
            drop(guard);
            status
        }
        HandDown::Keep => {
            let status = command.status();
            drop(guard);
            status
        }
    };
    match status {
        Ok(status) => Ok(code(status)),
        Err(error) => {
            let program = options
                .command
                .first()
                .map(|word| word.display().to_string());
            say(&format!("{}: {error}", program.unwrap_or_default()));
            Ok(if error.kind() == std::io::ErrorKind::NotFound {
                127
            } else {
                126
            })
        }
    }
}

fn code(status: ExitStatus) -> u8 {
    status
        .code()
        .unwrap_or_else(|| 128 + status.signal().unwrap_or(0)) as u8
}

/// The lock, or `None` if it was skipped or not free in time.
fn take(options: &Options, lock: &LockFile) -> Result<Option<LockGuard>> {
    let mode = options.mode();
    let config = Config {
        name: None,
        mode,
        reentrant: false,
        system: false,
        refuse_abandoned: false,
    };
    let times = Times {
        delay: options.delay,
        timeout: options.timeout,
        cooldown: options.cooldown,
    };
    let announced = || (mode == Mode::Wait).then(|| announce(options, lock));
    match enter_lock_telling(&config, lock.clone(), times, announced) {
        Ok(Entry::Run(hold)) => Ok(hold.into_guard()),
        Ok(Entry::Skip(skipped)) => {
            if options.verbose {
                say(&skipped.to_string());
            }
            Ok(None)
        }
        Err(error @ (LockError::Contended { .. } | LockError::CoolingDown { .. })) => {
            say(&error.to_string());
            Ok(None)
        }
        Err(error @ LockError::Timeout { .. }) => {
            if options.verbose {
                say(&error.to_string());
            }
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// Says who is waited for: at once if asked, otherwise when it takes long. Dropping it ends the
/// waiting.
fn announce(options: &Options, lock: &LockFile) -> Option<mpsc::Sender<()>> {
    let lock = lock.clone();
    let name_holder = move || match lock.holder() {
        Some(holder) => say(&format!(
            "waiting for lock `{}`, held by {holder}",
            lock.name()
        )),
        None => say(&format!("waiting for lock `{}`", lock.name())),
    };
    if options.verbose {
        name_holder();
        return None;
    }
    let (waiting, over) = mpsc::channel();
    let watcher = std::thread::Builder::new().spawn(move || {
        if over.recv_timeout(LONG_WAIT) == Err(mpsc::RecvTimeoutError::Timeout) {
            name_holder();
        }
    });
    // Without the thread, waiting is merely silent.
    watcher.ok().map(|_| waiting)
}

fn shown(options: &Options) -> String {
    let words: Vec<_> = options
        .command
        .iter()
        .map(|word| word.to_string_lossy())
        .collect();
    words.join(" ")
}
