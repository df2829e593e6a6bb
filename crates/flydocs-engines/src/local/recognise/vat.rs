//! VAT ids of the member states and neighbours, by shape and, where the scheme has one, by check digit.

use std::sync::LazyLock;

use regex::Regex;

use super::{Found, after, expression};

static VAT: LazyLock<Regex> = LazyLock::new(|| {
    expression(
        r"(?x)\b(?:
        ATU\ ?\d{8} | BE\ ?[01]?\d{3}[. ]?\d{3}[. ]?\d{3} | BG\ ?\d{9,10} | CY\ ?\d{8}[A-Z] | CZ\ ?\d{8,10} | DE\ ?\d{3}\ ?\d{3}\ ?\d{3}
        | DK\ ?\d{2}\ ?\d{2}\ ?\d{2}\ ?\d{2} | EE\ ?\d{9} | EL\ ?\d{9} | ES\ ?-?[A-Z0-9]\d{7}[A-Z0-9] | FI\ ?\d{8}
        | FR\ ?[A-Z0-9]{2}\ ?\d{3}\ ?\d{3}\ ?\d{3} | FR\ ?\d{3}\ ?\d{3}\ ?\d{3}\ ?\d{2} | GB\ ?\d{3}\ ?\d{4}\ ?\d{2}(?:\ ?\d{3})? | HR\ ?\d{11} | HU\ ?\d{8}
        | IE\ ?\d[A-Z0-9+*]\d{5}[A-Z]{1,2} | IT\ ?\d{11} | LT\ ?(?:\d{12}|\d{9}) | LU\ ?\d{8} | LV\ ?\d{11} | MT\ ?\d{8}
        | NL\ ?\d{9}\ ?B\ ?\d{2} | NL\ ?\d{4}\.?\d{2}\.?\d{3}\.?B\.?\d{2} | PL\ ?\d{10} | PT\ ?\d{9} | RO\ ?\d{2,10} | SE\ ?\d{12} | SI\ ?\d{8} | SK\ ?\d{10}
        | CHE[- ]?\d{3}\.?\d{3}\.?\d{3}(?:\ ?(?:MWST|TVA|IVA))? | NO\ ?\d{9}\ ?MVA
        )\b",
    )
});
static INDIAN: LazyLock<Regex> =
    LazyLock::new(|| expression(r"\b\d{2}[A-Z]{5}\d{4}[A-Z][A-Z0-9]Z[A-Z0-9]\b"));

/// Every VAT id of a text, without spaces and points.
pub(crate) fn vat_ids(text: &str) -> Vec<Found<String>> {
    VAT.find_iter(text)
        .chain(INDIAN.find_iter(text))
        .filter(|m| !matches!(after(text, m.end()), Some('-')))
        .map(|m| {
            let code: String = m
                .as_str()
                .chars()
                .filter(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '*'))
                .collect();
            // The IBAN of the same country begins like its VAT id and goes on.
            let longer = text.get(m.end()..).is_some_and(|t| {
                t.strip_prefix(' ')
                    .unwrap_or(t)
                    .bytes()
                    .take_while(u8::is_ascii_digit)
                    .count()
                    >= 2
                    && !t.starts_with(|c: char| c.is_whitespace() && c != ' ')
            });
            Found::new(m.range(), code, if longer { 0.3 } else { 1.0 })
        })
        .collect()
}
