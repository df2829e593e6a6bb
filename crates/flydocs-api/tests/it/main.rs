//! The HTTP surface as a caller meets it, on a real store.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test says what it expected"
)]

mod actions;
mod admission;
mod bodies;
mod browsers;
mod events;
mod extract;
mod house;
mod openapi;
mod pages;
mod paper;
mod problems;
mod queries;
mod rates;
mod results;
mod service;
mod shapes;
mod submit;
mod webhooks;
