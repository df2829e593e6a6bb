//! The command line.

use std::{ffi::OsString, path::PathBuf, time::Duration};

use lexopt::{Arg, Parser, ValueExt};
use lockfn::{LockDir, LockFile, Mode, Result};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Action {
    #[default]
    Run,
    Status,
    List,
    Collect,
    Doctor,
    Help,
    Version,
}

/// How the command gets the lock's descriptor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum HandDown {
    #[default]
    Inherit,
    Exec,
    Keep,
}

#[derive(Debug, Default)]
pub(crate) struct Options {
    pub(crate) action: Action,
    pub(crate) name: Option<String>,
    pub(crate) key: Option<String>,
    pub(crate) file: Option<PathBuf>,
    pub(crate) system: bool,
    pub(crate) allow_network: bool,
    pub(crate) mode: Option<Mode>,
    pub(crate) timeout: Option<Duration>,
    pub(crate) delay: Duration,
    pub(crate) cooldown: Duration,
    pub(crate) code: Option<u8>,
    pub(crate) hand_down: HandDown,
    pub(crate) verbose: bool,
    pub(crate) older_than: Option<Duration>,
    pub(crate) command: Vec<OsString>,
}

impl Options {
    pub(crate) fn parse(arguments: impl Iterator<Item = OsString>) -> Result<Self, String> {
        let mut options = Self::default();
        let mut parser = Parser::from_args(arguments);
        let mut first = true;
        loop {
            // lexopt hides `--`: whatever comes after it is the command.
            if let Some(rest) = parser.try_raw_args()
                && rest.peek().is_some_and(|next| next == "--")
            {
                options.command = rest.skip(1).collect();
                break;
            }
            let Some(argument) = parser.next().map_err(text)? else {
                break;
            };
            match argument {
                Arg::Value(word) if first => options.action = action(&word)?,
                Arg::Value(word) => {
                    return Err(format!(
                        "unexpected {}: put -- before the command",
                        word.display()
                    ));
                }
                option => {
                    let option = option_name(&option);
                    options.set(&option, &mut parser)?;
                }
            }
            first = false;
        }
        options.check()?;
        Ok(options)
    }

    fn set(&mut self, option: &str, parser: &mut Parser) -> Result<(), String> {
        match option {
            "n" | "name" => self.name = Some(word(parser)?),
            "k" | "key" => self.key = Some(word(parser)?),
            "f" | "file" => self.file = Some(parser.value().map_err(text)?.into()),
            "system" => self.system = true,
            "allow-network" => self.allow_network = true,
            "wait" => self.set_mode(Mode::Wait)?,
            "skip" => self.set_mode(Mode::Skip)?,
            "try" => self.set_mode(Mode::Try)?,
            "timeout" => self.timeout = Some(seconds(parser, "--timeout")?),
            "delay" => self.delay = seconds(parser, "--delay")?,
            "cooldown" => self.cooldown = seconds(parser, "--cooldown")?,
            "older-than" => self.older_than = Some(seconds(parser, "--older-than")?),
            "E" | "code" => {
                let code = word(parser)?;
                self.code = Some(
                    code.parse()
                        .map_err(|_| format!("-E {code}: expected 0 to 255"))?,
                );
            }
            "exec" => self.hand_down = HandDown::Exec,
            "no-inherit" => self.hand_down = HandDown::Keep,
            "v" | "verbose" => self.verbose = true,
            "h" | "help" => self.action = Action::Help,
            "V" | "version" => self.action = Action::Version,
            option if option.chars().count() == 1 => {
                return Err(format!("unknown option -{option}"));
            }
            option => return Err(format!("unknown option --{option}")),
        }
        Ok(())
    }

    fn set_mode(&mut self, mode: Mode) -> Result<(), String> {
        if self.mode.replace(mode).is_some_and(|other| other != mode) {
            return Err("give only one of --wait, --skip and --try".to_owned());
        }
        Ok(())
    }

    fn check(&self) -> Result<(), String> {
        let named = match self.action {
            Action::Help | Action::Version => return Ok(()),
            Action::Run | Action::Status => true,
            Action::List | Action::Collect | Action::Doctor => false,
        };
        let wrong = |what: &str| Err(what.to_owned());
        match (&self.name, &self.file, named) {
            (Some(_), Some(_), true) | (None, None, true) => {
                return wrong("give exactly one of -n NAME and -f FILE");
            }
            (None, None, false) | (_, _, true) => {}
            (_, _, false) => {
                return wrong("ls, gc and doctor are about all locks: leave out -n and -f");
            }
        }
        if self.name.as_deref() == Some("") {
            return wrong("a lock's name cannot be empty");
        }
        if self.file.is_some() && (self.key.is_some() || self.system) {
            return wrong("-f names the lock file itself: -k and --system go with -n");
        }
        if self.action == Action::Run && self.command.is_empty() {
            return wrong("no command: lockfn -n NAME -- COMMAND");
        }
        if self.action != Action::Run && !self.command.is_empty() {
            return wrong("a command goes with `run` only");
        }
        let mode = self.mode();
        if mode == Mode::Try && (self.timeout.is_some() || !self.delay.is_zero()) {
            return wrong("--try never waits: leave out --timeout and --delay");
        }
        if mode == Mode::Skip && self.timeout.is_some() && self.delay.is_zero() {
            return wrong("--skip without --delay never waits: leave out --timeout");
        }
        Ok(())
    }

    pub(crate) fn mode(&self) -> Mode {
        self.mode.unwrap_or(Mode::Wait)
    }

    /// The directory of the named locks.
    pub(crate) fn dir(&self) -> Result<LockDir> {
        if self.system {
            return LockDir::system();
        }
        if self.allow_network {
            let path = LockDir::user_default_path(std::env::var_os("LOCKFN_DIR"));
            return LockDir::private_on_network(path);
        }
        LockDir::user_default().cloned()
    }

    /// The lock meant.
    pub(crate) fn lock(&self) -> Result<LockFile> {
        let lock = match (&self.name, &self.key, &self.file) {
            (_, _, Some(file)) => LockFile::at(file),
            (name, Some(key), _) => self.dir()?.keyed(name.as_deref().unwrap_or_default(), key),
            (name, None, _) => self.dir()?.lock(name.as_deref().unwrap_or_default()),
        };
        Ok(lock.allow_network(self.allow_network))
    }
}

fn action(word: &OsString) -> Result<Action, String> {
    match word.to_str() {
        Some("run") => Ok(Action::Run),
        Some("status") => Ok(Action::Status),
        Some("ls") => Ok(Action::List),
        Some("gc") => Ok(Action::Collect),
        Some("doctor") => Ok(Action::Doctor),
        Some("help") => Ok(Action::Help),
        _ => Err(format!(
            "unknown command {}: expected run, status, ls, gc or doctor; put -- before the command to run",
            word.display()
        )),
    }
}

fn option_name(argument: &Arg<'_>) -> String {
    match argument {
        Arg::Short(letter) => letter.to_string(),
        Arg::Long(word) => (*word).to_owned(),
        Arg::Value(word) => word.display().to_string(),
    }
}

fn word(parser: &mut Parser) -> Result<String, String> {
    parser.value().map_err(text)?.string().map_err(text)
}

fn seconds(parser: &mut Parser, option: &str) -> Result<Duration, String> {
    let value = word(parser)?;
    value
        .parse()
        .ok()
        .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
        .ok_or_else(|| format!("{option} {value}: expected seconds, such as 2 or 0.5"))
}

#[expect(clippy::needless_pass_by_value, reason = "for map_err")]
fn text(error: lexopt::Error) -> String {
    error.to_string()
}
