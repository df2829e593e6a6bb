//! Web addresses.

use std::sync::LazyLock;

use regex::Regex;

use super::{Found, before, expression};

static URL: LazyLock<Regex> = LazyLock::new(|| {
    expression(
        r"(?i)\b(?:https?://|www\.)[^\s<>|]+|\b[a-z0-9-]{2,}(?:\.[a-z0-9-]{2,})*\.(?:com|org|net|de|fr|es|it|nl|pt|pl|eu|io|co\.uk|com\.my)\b(?:/[^\s<>|]*)?",
    )
});

/// Every web address of a text.
pub(crate) fn urls(text: &str) -> Vec<Found<String>> {
    URL.find_iter(text)
        .filter(|m| before(text, m.start()) != Some('@'))
        .map(|m| {
            let url = m.as_str().trim_end_matches(['.', ',', ';', ')']);
            let form = if url.contains("//") || url.starts_with("www") {
                1.0
            } else {
                0.7
            };
            Found::new(m.start()..m.start() + url.len(), url.to_owned(), form)
        })
        .collect()
}
