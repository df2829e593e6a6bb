//! From a value and the words of a page to the box that surrounds it.
//!
//! [`ground`] walks the leaves of a document's groups, finds each value among the words of its pages and puts the
//! words' box in the place of the engine's; [`quality::judge`] says how plausible each box is by its shape. Both the
//! inline stage and the bbox worker call these. Pure and synchronous: pages come in through [`Pages`], one at a time
//! and only when they are asked for; run it on a blocking thread.

mod error;
mod forms;
mod index;
mod label;
mod lcs;
mod matcher;
mod normalise;
pub mod quality;
mod target;
mod walk;
mod windows;

pub use error::{Error, Result};
pub use matcher::{Hit, Matcher};
pub use normalise::normalise;
pub use walk::{Options, Pages, Report, candidate_pages, ground, match_value};

/// The threshold a match must reach: the default of `FLYDOCS_BBOX_REFINE_THRESHOLD`.
pub const DEFAULT_THRESHOLD: f64 = 0.85;
