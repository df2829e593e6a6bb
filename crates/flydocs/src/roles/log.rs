//! The log: to stderr, as text or JSON. Never document text, never secrets.

use std::io::IsTerminal;

use flydocs_contract::{ErrorCode, Fault};
use tracing_subscriber::EnvFilter;

use crate::{
    cli::Global,
    exit::Exit,
    failure::Failure,
    settings::{LogFormat, Settings},
};

/// Who logs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum For {
    /// A command: only what a person must hear.
    Command,
    /// A service: what the settings say.
    Service,
}

/// The rooms below the rooms say too much at info.
const QUIETER: &str = "sqlx=warn,hyper=warn,h2=warn,tower=warn,reqwest=warn";

/// Starts the log of this process.
pub(crate) fn start(settings: &Settings, global: &Global, who: For) -> Result<(), Failure> {
    let level = match (global.quiet, global.verbose, who) {
        (true, ..) => "error",
        (_, 0, For::Command) => "off",
        (_, 0, For::Service) => settings.log.as_str(),
        (_, 1, _) => "info",
        (_, 2.., _) => "debug",
    };
    let filter = EnvFilter::try_new(format!("{QUIETER},{level}")).map_err(|error| {
        Failure::new(
            ErrorCode::InvalidSetting,
            "a setting is wrong",
            Exit::Settings,
        )
        .with_faults(vec![Fault::new("FLYDOCS_LOG", error.to_string())])
    })?;
    let base = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr);
    let started = match settings.log_format {
        LogFormat::Text => base
            .with_ansi(std::io::stderr().is_terminal() && console::colors_enabled_stderr())
            .try_init(),
        LogFormat::Json => base.json().flatten_event(true).try_init(),
    };
    started.map_err(|error| anyhow::anyhow!("the log cannot be started: {error}").into())
}
