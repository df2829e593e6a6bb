//! Confidence: the share of values of this look that are right, by a calibration that is part of the sources.

mod features;
mod model;

pub(crate) use features::Features;
pub(crate) use model::confidence;
