//! The binary: parses the command line, reads the settings, runs one command, ends with its exit code.

mod cli;
mod client;
mod commands;
mod exit;
mod failure;
mod files;
mod output;
mod roles;
mod settings;
mod types_file;

use std::process::ExitCode;

use clap::Parser;

use crate::{exit::Exit, failure::Failure, output::Say};

fn main() -> ExitCode {
    let first = std::env::args_os().nth(1);
    if first.is_some_and(|first| first == flydocs_pages::isolated::CHILD_ARGUMENT) {
        return commands::pages_child::run();
    }
    // one TLS provider for everything, before anybody makes a client; a second call keeps the first
    drop(rustls::crypto::ring::default_provider().install_default());
    let cli = cli::Cli::parse();
    let say = Say::new(cli.global.quiet);
    let exit = match commands::run(cli, say) {
        Ok(exit) => exit,
        Err(failure) => {
            say.fail(&failure);
            failure.exit
        }
    };
    exit.into()
}

/// What a command comes to.
type Outcome = Result<Exit, Failure>;
