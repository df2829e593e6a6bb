//! BICs (SWIFT codes).

use std::sync::LazyLock;

use regex::Regex;

use super::{Found, expression};

static BIC: LazyLock<Regex> =
    LazyLock::new(|| expression(r"\b[A-Z]{4} ?[A-Z]{2} ?[A-Z0-9]{2}(?: ?[A-Z0-9]{3})?\b"));

const COUNTRIES: &str = "AD AE AR AT AU BA BE BG BR BY CA CH CL CN CY CZ DE DK EE EG ES FI FR GB GI GR HK HR HU ID IE IL IN IS IT JP KR KZ LI LT LU LV MA MC MD ME MK MT MX MY NL NO NZ PE PH PK PL PT QA RO RS RU SA SE SG SI SK SM TH TN TR TW UA US VN ZA";

/// Every BIC of a text. A word of eight or eleven capitals alone is a weak one.
pub(crate) fn bics(text: &str) -> Vec<Found<String>> {
    BIC.find_iter(text)
        .filter_map(|m| {
            let code: String = m.as_str().split(' ').collect();
            let country = code.get(4..6)?;
            if !COUNTRIES.split(' ').any(|c| c == country) {
                return None;
            }
            let labelled = text.get(..m.start()).is_some_and(|t| {
                let t = t.to_ascii_lowercase();
                let t = t.trim_end_matches(|c: char| !c.is_alphanumeric());
                t.ends_with("bic") || t.ends_with("swift") || t.ends_with("code")
            });
            let has_digit = code.bytes().any(|b| b.is_ascii_digit()) || code.ends_with("XXX");
            let form = if labelled {
                1.0
            } else if has_digit {
                0.6
            } else {
                0.15
            };
            Some(Found::new(m.range(), code, form))
        })
        .collect()
}
