//! Rules over fields, checks and other rules: order, facts, and what can be decided without a model.
//!
//! `docs/rules.md` is the manual of the deterministic form.

pub(crate) mod answer;
pub(crate) mod decide;
pub(crate) mod facts;
pub(crate) mod levels;
mod parse;
mod value;

#[cfg(test)]
mod tests;
