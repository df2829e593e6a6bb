//! What a person or a program reads: data on stdout, everything else on stderr.

pub(crate) mod deliveries;
pub(crate) mod explanation;
pub(crate) mod extraction;
pub(crate) mod ops;
pub(crate) mod paint;
pub(crate) mod progress;
pub(crate) mod result;
pub(crate) mod rows;
pub(crate) mod streams;

pub(crate) use paint::Paint;
pub(crate) use streams::{Out, Say};
