//! Real servers for tests, started by the test itself and gone with it, however it ends.
//!
//! `[dev-dependencies]` only. A test asks for a database of its own:
//! `let database = flydocs_testkit::postgres::database().await?;`

pub mod cable;
pub mod kafka;
pub mod pgbouncer;
pub mod postgres;
mod program;
pub mod redis;
pub mod tls;
