//! IBANs, with the check of their digits.

use std::sync::LazyLock;

use regex::Regex;

use super::{Found, expression};

static IBAN: LazyLock<Regex> =
    LazyLock::new(|| expression(r"(?i)\b[A-Z]{2} ?\d{2}(?:[ -]?[A-Z0-9]{1,4}){2,8}\b"));

/// Lengths by country, for the countries that use IBANs most.
const LENGTHS: &[(&str, usize)] = &[
    ("AD", 24),
    ("AE", 23),
    ("AL", 28),
    ("AT", 20),
    ("AZ", 28),
    ("BA", 20),
    ("BE", 16),
    ("BG", 22),
    ("BH", 22),
    ("BR", 29),
    ("BY", 28),
    ("CH", 21),
    ("CR", 22),
    ("CY", 28),
    ("CZ", 24),
    ("DE", 22),
    ("DK", 18),
    ("DO", 28),
    ("EE", 20),
    ("EG", 29),
    ("ES", 24),
    ("FI", 18),
    ("FO", 18),
    ("FR", 27),
    ("GB", 22),
    ("GE", 22),
    ("GI", 23),
    ("GL", 18),
    ("GR", 27),
    ("GT", 28),
    ("HR", 21),
    ("HU", 28),
    ("IE", 22),
    ("IL", 23),
    ("IQ", 23),
    ("IS", 26),
    ("IT", 27),
    ("JO", 30),
    ("KW", 30),
    ("KZ", 20),
    ("LB", 28),
    ("LC", 32),
    ("LI", 21),
    ("LT", 20),
    ("LU", 20),
    ("LV", 21),
    ("MC", 27),
    ("MD", 24),
    ("ME", 22),
    ("MK", 19),
    ("MR", 27),
    ("MT", 31),
    ("MU", 30),
    ("NL", 18),
    ("NO", 15),
    ("PK", 24),
    ("PL", 28),
    ("PS", 29),
    ("PT", 25),
    ("QA", 29),
    ("RO", 24),
    ("RS", 22),
    ("SA", 24),
    ("SC", 31),
    ("SE", 24),
    ("SI", 19),
    ("SK", 24),
    ("SM", 27),
    ("ST", 25),
    ("SV", 28),
    ("TL", 23),
    ("TN", 24),
    ("TR", 26),
    ("UA", 29),
    ("VA", 22),
    ("VG", 24),
    ("XK", 20),
];

/// Every IBAN of a text, without spaces. `form` is 1 when length and check digits are right.
pub(crate) fn ibans(text: &str) -> Vec<Found<String>> {
    let mut found = Vec::new();
    for m in IBAN.find_iter(text) {
        let code: String = m
            .as_str()
            .chars()
            .filter(char::is_ascii_alphanumeric)
            .collect::<String>()
            .to_ascii_uppercase();
        let Some((_, length)) = LENGTHS.iter().find(|(c, _)| code.starts_with(c)) else {
            continue;
        };
        let digits = code.bytes().filter(u8::is_ascii_digit).count();
        if code.len() < *length {
            // A digit lost to the recogniser: still an IBAN by its shape.
            if code.len() + 2 >= *length && digits * 2 > code.len() {
                found.push(Found::new(m.range(), code, 0.35));
            }
            continue;
        }
        let cut: String = code.chars().take(*length).collect();
        let end = end_of(m.as_str(), *length) + m.start();
        let form = if checks(&cut) { 1.0 } else { 0.38 };
        found.push(Found::new(m.start()..end, cut, form));
    }
    found
}

/// The byte after the n-th letter or digit.
fn end_of(text: &str, count: usize) -> usize {
    text.char_indices()
        .filter(|(_, c)| c.is_ascii_alphanumeric())
        .nth(count.saturating_sub(1))
        .map_or(text.len(), |(at, c)| at + c.len_utf8())
}

/// ISO 7064, mod 97.
pub(crate) fn checks(iban: &str) -> bool {
    let Some((head, tail)) = iban.split_at_checked(4) else {
        return false;
    };
    let mut rest: u32 = 0;
    for c in tail.chars().chain(head.chars()) {
        let Some(digit) = c.to_digit(36) else {
            return false;
        };
        rest = if digit > 9 {
            (rest * 100 + digit) % 97
        } else {
            (rest * 10 + digit) % 97
        };
    }
    rest == 1
}
