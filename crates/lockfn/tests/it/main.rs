//! What lockfn promises, with real processes.
//!
//! A test that needs other processes starts this very program again in a role (`actor`).

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::disallowed_methods,
    reason = "a test fails by panicking, an actor reports on its output and is told by its environment"
)]

mod actor;
mod calls;
mod chain;
mod command;
mod convoy;
mod core;
mod deletion;
mod fair;
mod fork;
mod hostile;
mod kernel;
mod line;
mod macros;
mod meeting;
mod modes;
mod names;
mod overlap;
mod pauses;
mod shapes;
mod tasks;
mod users;
