//! The command `lockfn`: the same locks from the shell.

mod doctor;
mod options;
mod report;
mod run;

use std::{io::Write, process::ExitCode};

use options::{Action, Options};

/// Exit codes of the command itself, from sysexits.h.
const USAGE: u8 = 64;
const LOCK_ERROR: u8 = 71;
const BUSY: u8 = 75;

const HELP: &str = include_str!("help.txt");

fn main() -> ExitCode {
    let options = match Options::parse(std::env::args_os().skip(1)) {
        Ok(options) => options,
        Err(message) => {
            say(&format!("{message}\nTry 'lockfn --help'."));
            return ExitCode::from(USAGE);
        }
    };
    let result = match options.action {
        Action::Help => {
            print(HELP);
            Ok(0)
        }
        Action::Version => {
            print(concat!("lockfn ", env!("CARGO_PKG_VERSION"), "\n"));
            Ok(0)
        }
        Action::Run => run::run(&options),
        Action::Status => report::status(&options),
        Action::List => report::list(&options),
        Action::Collect => report::collect(&options),
        Action::Doctor => Ok(doctor::doctor(&options)),
    };
    ExitCode::from(result.unwrap_or_else(|error| {
        let source = std::error::Error::source(&error).map(|source| format!(": {source}"));
        say(&format!("{error}{}", source.unwrap_or_default()));
        LOCK_ERROR
    }))
}

/// To standard output; a reader who has gone is no error.
fn print(text: &str) {
    std::io::stdout()
        .write_all(text.as_bytes())
        .unwrap_or_default();
}

/// To standard error.
fn say(text: &str) {
    std::io::stderr()
        .write_all(format!("lockfn: {text}\n").as_bytes())
        .unwrap_or_default();
}
