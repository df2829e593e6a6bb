//! The HTTP surface as a caller meets it, on a real store.

mod actions;
mod admission;
mod bodies;
mod events;
mod extract;
mod house;
mod openapi;
mod pages;
mod paper;
mod problems;
mod queries;
mod results;
mod service;
mod shapes;
mod submit;
mod webhooks;
