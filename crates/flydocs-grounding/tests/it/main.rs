//! The grounding as its callers see it.

mod paper;
mod properties;
mod variants;
mod walk;
