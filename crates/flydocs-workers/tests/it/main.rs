//! The services against the real SQLite store and bus, with work that does what a test tells it.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod cancel;
mod claims;
mod fleet;
mod health;
mod house;
mod reapers;
mod receivers;
mod retries;
mod shutdown;
mod webhooks;
mod work;
