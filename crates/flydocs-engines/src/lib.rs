//! Engines that read a document: the trait, and `local:layout`.
//!
//! An [`Engine`] answers questions about pages it is given; it knows neither table nor topic nor file format.

mod engine;
mod error;
mod local;
mod registry;

pub use engine::{
    Answer, CallUsage, ClassifyAnswer, ClassifyQuestion, Engine, ExtractQuestion, JudgeQuestion,
    PageImages, RulesQuestion, Segment, SplitQuestion, TransformQuestion, VisualQuestion,
};
pub use error::{Error, Result};
pub use local::{CandidateExplanation, Explanation, FieldExplanation, LocalLayout};
pub use registry::{DEFAULT_MODEL, Engines, Settings};
