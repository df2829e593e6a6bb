//! The bus against real databases.

mod conformance;
mod houses;
