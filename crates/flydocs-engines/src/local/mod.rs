//! `local:layout`: reads labels, types and layout of a page. Deterministic, offline, without a model.
//!
//! In the flow: words of pages come in ([`layout`]), typed values are recognised ([`recognise`], [`pool`]), labels are
//! found ([`label`]), a value is chosen for each field ([`choose`]) and its certainty stated ([`confidence`]).

mod choose;
mod classify;
mod confidence;
mod engine;
mod explain;
mod infer;
mod kinds;
mod label;
mod layout;
mod merge;
mod pool;
mod read;
mod recognise;
mod split;
mod text;

pub use engine::LocalLayout;
pub use explain::{CandidateExplanation, Explanation, FieldExplanation};
