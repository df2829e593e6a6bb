//! The command line as a person and a script meet it: stdout, stderr and exit code of every command.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test says what it expected"
)]

mod batch;
mod configuration;
mod desk;
mod extract;
mod files;
mod help;
mod input;
mod ops;
mod paper;
mod readme;
mod server;
mod types_infer;
#[cfg(target_os = "linux")]
mod uploads;
mod webhooks;
