//! The HTTP surface: routes, request decoding, problem+json, OpenAPI and its viewer.
//!
//! [`Api`] is built on the ports of the rooms below, [`router`] makes its routes and [`serve`] answers on a
//! socket. Every answer passes `context::finish`; every error is a [`Refusal`].

mod context;
mod cors;
mod decode;
mod keys;
mod landing;
mod negotiate;
pub mod openapi;
mod options;
mod problem;
mod rate;
mod refusals;
mod routes;
mod server;
mod state;
pub mod wire;

pub use cors::{InvalidOrigin, Origins};
pub use decode::{json_value, request_without_files};
pub use keys::{Holder, InvalidKeys, Keys};
pub use options::{Limits, Options};
pub use problem::Refusal;
pub use routes::router;
pub use server::serve;
pub use state::{Api, MetricsText, Mint, Ports, SystemMint};
