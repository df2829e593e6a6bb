//! National tax numbers: groups of digits with slashes, spaces or hyphens.

use std::sync::LazyLock;

use regex::Regex;

use super::{Found, expression};

static NUMBER: LazyLock<Regex> = LazyLock::new(|| {
    expression(
        r"\b(?:\d{2,3}[/ ]\d{3,4}[/ ]\d{4,5}|\d{2}-\d{6,7}|\d{3}-\d{2}-\d{4}|\d{3}-\d{4}-\d{2}|\d{2,3}-\d{3}-\d{4}|\d{8}[A-Z]|[A-Z]\d{7}[A-Z0-9]|\d{10,13})\b",
    )
});

/// Every national tax number of a text.
pub(crate) fn tax_numbers(text: &str) -> Vec<Found<String>> {
    NUMBER
        .find_iter(text)
        .map(|m| {
            let form = if m.as_str().contains(['/', '-']) {
                0.8
            } else {
                0.5
            };
            Found::new(m.range(), m.as_str().to_owned(), form)
        })
        .collect()
}
