//! The services against the real SQLite store and bus, with work that does what a test tells it.

mod cancel;
mod claims;
mod fleet;
mod health;
mod house;
mod reapers;
mod retries;
mod shutdown;
mod webhooks;
mod work;
