//! The stages of an extraction, in order, with trace and failure isolation.
//!
//! [`Pipeline::run`] takes a request and its files to an `ExtractionResult`; [`Pipeline::refine`] grounds the boxes
//! of one afterwards. [`validate`] says what is wrong with a request before any work. Knows neither table nor topic
//! nor provider: reader, engines, clock and progress come in as ports.

mod ask;
mod checks;
mod error;
mod failure;
mod grounding;
mod input;
mod ledger;
mod measure;
mod options;
mod patterns;
mod pipeline;
mod placement;
mod ports;
mod refine;
mod rewrite;
mod rules;
mod run;
mod scope;
mod shape;
mod stage;
mod stages;
mod transformations;
pub mod validate;
pub mod validators;
mod words;

pub use error::{Error, Result};
pub use input::{Input, InputFile, Mode, RefineInput, Request};
pub use options::Options;
pub use pipeline::Pipeline;
pub use ports::{Clock, EngineSource, Progress, Silent, SystemClock};
