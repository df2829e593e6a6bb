//! The pipeline as its callers see it, on a reader and engines that live in memory.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::needless_pass_by_value,
    clippy::unnecessary_wraps,
    clippy::float_cmp,
    reason = "tests fail by panicking, also in what they share; JSON literals are handed over as they stand; figures are exact here"
)]

mod authenticity;
mod failures;
mod fakes;
mod judging;
mod refining;
mod rules;
mod stages;
mod transforming;
mod validating;
mod whole;
