//! Mail addresses.

use std::sync::LazyLock;

use regex::Regex;

use super::{Found, expression};

static EMAIL: LazyLock<Regex> =
    LazyLock::new(|| expression(r"(?i)\b[\p{L}0-9._%+-]+ ?@ ?[\p{L}0-9-]+(?:\.[\p{L}0-9-]+)+\b"));

/// Every mail address of a text.
pub(crate) fn emails(text: &str) -> Vec<Found<String>> {
    if !text.contains('@') {
        return Vec::new();
    }
    EMAIL
        .find_iter(text)
        .map(|m| Found::new(m.range(), m.as_str().split(' ').collect::<String>(), 1.0))
        .collect()
}
