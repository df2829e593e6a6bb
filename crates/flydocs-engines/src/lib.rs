//! Engines that read a document: the trait, and `local:layout`.
//!
//! An [`Engine`] answers questions about pages it is given; it knows neither table nor topic nor file format.

mod engine;
mod error;

pub use engine::{
    Answer, CallUsage, ClassifyAnswer, ClassifyQuestion, Engine, ExtractQuestion, JudgeQuestion,
    PageImages, RulesQuestion, Segment, SplitQuestion, TransformQuestion, VisualQuestion,
};
pub use error::{Error, Result};
