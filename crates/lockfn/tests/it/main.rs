//! What lockfn promises, with real processes.
//!
//! A test that needs other processes starts this very program again in a role (`actor`).

mod actor;
mod core;
mod line;
