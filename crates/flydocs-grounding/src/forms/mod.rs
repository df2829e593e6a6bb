//! Other ways to write the same value: dates in the forms of many languages, numbers with any grouping.

pub(crate) mod dates;
mod months;
pub(crate) mod numbers;
