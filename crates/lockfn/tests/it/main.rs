//! What lockfn promises, with real processes.
//!
//! A test that needs other processes starts this very program again in a role (`actor`).

mod actor;
mod calls;
mod chain;
mod command;
mod convoy;
mod core;
mod deletion;
mod fork;
mod hostile;
mod kernel;
mod line;
mod macros;
mod modes;
mod names;
mod shapes;
mod tasks;
mod users;
