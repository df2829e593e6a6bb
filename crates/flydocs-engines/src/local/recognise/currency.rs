//! Currencies by sign, code and name.

use std::sync::LazyLock;

use regex::Regex;

use super::{Found, expression};

/// An ISO 4217 code.
pub(crate) type Currency = &'static str;

const SIGNS: &[(&str, Currency)] = &[
    ("€", "EUR"),
    ("euro", "EUR"),
    ("euros", "EUR"),
    ("us$", "USD"),
    ("$", "USD"),
    ("us dollars", "USD"),
    ("dollars", "USD"),
    ("£", "GBP"),
    ("¥", "JPY"),
    ("円", "JPY"),
    ("元", "CNY"),
    ("₹", "INR"),
    ("rs", "INR"),
    ("rs.", "INR"),
    ("rupees", "INR"),
    ("rm", "MYR"),
    ("ringgit", "MYR"),
    ("zł", "PLN"),
    ("zl", "PLN"),
    ("₩", "KRW"),
    ("r$", "BRL"),
    ("s$", "SGD"),
    ("a$", "AUD"),
    ("c$", "CAD"),
    ("hk$", "HKD"),
    ("kč", "CZK"),
    ("₽", "RUB"),
    ("₺", "TRY"),
    ("fr.", "CHF"),
    ("sfr", "CHF"),
    ("₪", "ILS"),
    ("฿", "THB"),
    ("₫", "VND"),
    ("₱", "PHP"),
    ("₴", "UAH"),
];

const CODES: &[Currency] = &[
    "AED", "AFN", "ALL", "AMD", "AOA", "ARS", "AUD", "AWG", "AZN", "BAM", "BBD", "BDT", "BGN",
    "BHD", "BIF", "BMD", "BND", "BOB", "BRL", "BSD", "BTN", "BWP", "BYN", "BZD", "CAD", "CDF",
    "CHF", "CLP", "CNY", "COP", "CRC", "CUP", "CVE", "CZK", "DJF", "DKK", "DOP", "DZD", "EGP",
    "ERN", "ETB", "EUR", "FJD", "FKP", "GBP", "GEL", "GHS", "GIP", "GMD", "GNF", "GTQ", "GYD",
    "HKD", "HNL", "HTG", "HUF", "IDR", "ILS", "INR", "IQD", "IRR", "ISK", "JMD", "JOD", "JPY",
    "KES", "KGS", "KHR", "KMF", "KPW", "KRW", "KWD", "KYD", "KZT", "LAK", "LBP", "LKR", "LRD",
    "LSL", "LYD", "MAD", "MDL", "MGA", "MKD", "MMK", "MNT", "MOP", "MRU", "MUR", "MVR", "MWK",
    "MXN", "MYR", "MZN", "NAD", "NGN", "NIO", "NOK", "NPR", "NZD", "OMR", "PAB", "PEN", "PGK",
    "PHP", "PKR", "PLN", "PYG", "QAR", "RON", "RSD", "RUB", "RWF", "SAR", "SBD", "SCR", "SDG",
    "SEK", "SGD", "SHP", "SLE", "SOS", "SRD", "SSP", "STN", "SVC", "SYP", "SZL", "THB", "TJS",
    "TMT", "TND", "TOP", "TRY", "TTD", "TWD", "TZS", "UAH", "UGX", "USD", "UYU", "UZS", "VES",
    "VND", "VUV", "WST", "XAF", "XCD", "XOF", "XPF", "YER", "ZAR", "ZMW", "ZWL",
];

/// The code of a sign, a code or a name.
pub(crate) fn currency_of(sign: &str) -> Option<Currency> {
    let lower = sign.trim().to_lowercase();
    SIGNS
        .iter()
        .find(|(s, _)| *s == lower)
        .map(|(_, code)| *code)
        .or_else(|| {
            CODES
                .iter()
                .copied()
                .find(|c| c.eq_ignore_ascii_case(&lower))
        })
}

static SIGN: LazyLock<Regex> = LazyLock::new(|| {
    expression(
        r"US\$|HK\$|R\$|S\$|A\$|C\$|[€$£¥₹₩₽₺₪฿₫₱₴円元]|zł|Kč|\b(?:RM|Rs\.?|Fr\.)(?:\b|[ \d(]|$)|\b[A-Z]{3}\b|(?i:\b(?:euros?|us dollars|rupees|ringgit)\b)",
    )
});

/// Every currency of a text.
pub(crate) fn currencies(text: &str) -> Vec<Found<Currency>> {
    SIGN.find_iter(text)
        .filter_map(|m| {
            let word = m
                .as_str()
                .trim_end_matches(|c: char| c == ' ' || c == '(' || c.is_ascii_digit());
            let code = currency_of(word)?;
            // Three capitals that are a word of their own language elsewhere ("ALL", "TOP", "TRY").
            let form = match word {
                "ALL" | "TOP" | "TRY" | "CUP" | "MOP" | "PEN" | "RON" => 0.2,
                w if w.len() == 3 && w.is_ascii() => 1.0,
                "Rs" | "Rs." | "RM" | "Fr." => 0.8,
                _ => 0.9,
            };
            Some(Found::new(m.start()..m.start() + word.len(), code, form))
        })
        .collect()
}
