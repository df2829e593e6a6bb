//! Numbers of documents, orders, customers: words with digits.

use super::Found;

/// Every word that can be an identifier: it has a digit, or is capitals with a hyphen.
pub(crate) fn identifiers(text: &str) -> Vec<Found<String>> {
    let mut found = Vec::new();
    let mut start = 0;
    for part in text.split_inclusive([' ', '\t']) {
        let word = part.trim();
        let inner = word.trim_matches(|c: char| {
            matches!(c, ',' | ';' | ':' | '.' | '(' | ')' | '"' | '\'' | '*')
        });
        if looks_like_identifier(inner) {
            let at = start + part.find(inner).unwrap_or(0);
            let letters = inner.chars().any(char::is_alphabetic);
            let digits = inner.chars().filter(char::is_ascii_digit).count();
            let form = match (letters, digits) {
                (true, 2..) => 1.0,
                (false, 4..) => 0.9,
                (false, 2..) => 0.6,
                _ => 0.4,
            };
            found.push(Found::new(at..at + inner.len(), inner.to_owned(), form));
        }
        start += part.len();
    }
    found
}

/// Whether a word can be an identifier by its shape.
fn looks_like_identifier(word: &str) -> bool {
    let digits = word.chars().filter(char::is_ascii_digit).count();
    let odd = word.chars().any(|c| {
        !(c.is_alphanumeric() || matches!(c, '-' | '/' | '_' | '.' | '#' | '+' | '\\' | ':'))
    });
    let trailing_decimals = word.rsplit_once([',']).is_some_and(|(_, f)| f.len() == 2);
    digits > 0 && !odd && !trailing_decimals && word.len() <= 40
}
