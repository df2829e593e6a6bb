//! Telephone and fax numbers.

use std::sync::LazyLock;

use regex::Regex;

use super::{Found, before, expression};

static PHONE: LazyLock<Regex> = LazyLock::new(|| {
    expression(
        r"(?:\+ ?\d{1,3}[ .()/-]*)?(?:\(\d{1,5}\)[ .-]*)?\d{1,5}(?:[ ./-]{1,3}\d{1,5}){1,6}|\+?\d{7,14}",
    )
});

/// Every telephone number of a text, as printed.
pub(crate) fn phones(text: &str) -> Vec<Found<String>> {
    PHONE
        .find_iter(text)
        .filter_map(|m| {
            let part = m.as_str().trim();
            let digits = part.bytes().filter(u8::is_ascii_digit).count();
            if !(6..=15).contains(&digits)
                || before(text, m.start()).is_some_and(char::is_alphanumeric)
            {
                return None;
            }
            let form = if part.starts_with('+') {
                1.0
            } else if part.starts_with('(') {
                0.9
            } else if part.contains(['-', ' ', '/']) {
                0.6
            } else {
                0.4
            };
            Some(Found::new(m.range(), part.to_owned(), form))
        })
        .collect()
}
