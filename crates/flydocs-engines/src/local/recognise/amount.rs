//! Numbers and amounts of money, with either decimal separator.

use std::sync::LazyLock;

use regex::Regex;

use super::{Found, after, before, currency::currency_of, expression};

/// A number as printed.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Amount {
    /// The number.
    pub value: f64,
    /// Digits after the separator.
    pub decimals: usize,
    /// ISO 4217 code of the sign or code beside it.
    pub currency: Option<&'static str>,
    /// Followed by a per cent sign.
    pub percent: bool,
    /// Bytes of the number without currency.
    pub bare: (usize, usize),
}

/// The decimal separator of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DecimalStyle {
    /// 1,234.50
    Point,
    /// 1.234,50
    Comma,
}

static NUMBER: LazyLock<Regex> = LazyLock::new(|| {
    expression(
        r"\d{1,3}(?:[.,'’]\d{3})+(?:[.,]\d{1,4})?\b|\d{1,3}(?:[  ]\d{3})+[.,]\d{2}\b|\d+[.,]\d{1,6}|\d+|[.,]\d{2}\b",
    )
});
static SPACED: LazyLock<Regex> = LazyLock::new(|| {
    expression(
        r"\d{1,3}(?:[.,'’]\d{3})+[.,] ?\d{2}\b|\d{1,3}(?:[.,'’]\d{3})+(?:[.,]\d{1,4})?\b|\d{1,5} ?[.,] ?\d{2}\b|\d+[.,]\d{1,6}|\d+|[.,]\d{2}\b",
    )
});
static BEFORE: LazyLock<Regex> = LazyLock::new(|| {
    expression(
        r"(?i)(?:^|[^\p{L}\d])(([-–−(] ?)?(€|\$|£|¥|₹|zł|rm|rs\.?|inr|eur|usd|gbp|chf|myr|sgd|aud|cad|pln|us\$)? ?([-–−(] ?)?)$",
    )
});
static AFTER: LazyLock<Regex> = LazyLock::new(|| {
    expression(
        r"(?i)^ ?(?:(%)|(€|\$|£|¥|₹|zł|eur(?:os?)?\b|usd\b|gbp\b|chf\b|pln\b|myr\b|kr\b)|(-(?:[\s)]|$)|\)|cr\b))",
    )
});

/// Every number of a text. `style` decides what a single separator before three digits means.
pub(crate) fn amounts(text: &str, style: Option<DecimalStyle>) -> Vec<Found<Amount>> {
    find(text, style, &NUMBER)
}

/// The same for recognised text, where blanks may stand around the decimal separator.
pub(crate) fn recognised_amounts(text: &str, style: Option<DecimalStyle>) -> Vec<Found<Amount>> {
    find(text, style, &SPACED)
}

fn find(text: &str, style: Option<DecimalStyle>, numbers: &Regex) -> Vec<Found<Amount>> {
    let mut found = Vec::new();
    if !text.bytes().any(|b| b.is_ascii_digit()) {
        return found;
    }
    for m in numbers.find_iter(text) {
        if let Some(hit) = amount(text, m.range(), style) {
            found.push(hit);
        }
    }
    found
}

fn amount(
    text: &str,
    mut range: std::ops::Range<usize>,
    style: Option<DecimalStyle>,
) -> Option<Found<Amount>> {
    let lead = text.get(..range.start)?;
    let tail = text.get(range.end..)?;
    let bare = (range.start, range.end);
    let mut form: f64 = 1.0;
    // A number inside a word, a date, a time, an article number is no amount.
    match lead.chars().next_back() {
        Some(c) if c.is_alphabetic() && !BEFORE.is_match(lead) => {
            // Letters glued to an amount with cents: a currency, perhaps misread.
            let glued = lead.chars().rev().take_while(|c| c.is_alphabetic()).count();
            let cents = text.get(range.clone()).is_some_and(|n| {
                n.rsplit(['.', ','])
                    .next()
                    .is_some_and(|f| f.trim_start().len() == 2)
                    && n.contains(['.', ','])
            });
            if glued > 3 || !cents {
                return None;
            }
            form *= 0.7;
        }
        Some('.' | ',' | '/' | ':' | '#' | '_' | '+' | '*') if lead.len() > 1 => {
            let ends_label = lead.ends_with(':')
                && !lead.chars().nth_back(1).is_some_and(|c| c.is_ascii_digit());
            if !ends_label {
                form *= 0.3;
            }
        }
        Some('-' | '–') if lead.chars().nth_back(1).is_some_and(char::is_alphanumeric) => {
            form *= 0.2;
        }
        _ => {}
    }
    match tail.chars().next() {
        Some('/' | ':' | '_' | '#') => form *= 0.3,
        Some('-') if tail.chars().nth(1).is_some_and(char::is_alphanumeric) => form *= 0.2,
        Some('.' | ',') if tail.chars().nth(1).is_some_and(|c| c.is_ascii_digit()) => form *= 0.3,
        Some(c) if c.is_alphabetic() && !AFTER.is_match(tail) => form *= 0.4,
        _ => {}
    }
    let (mut value, decimals) = parse(text.get(range.clone())?, style)?;
    let mut code = None;
    let mut negative = false;
    if let Some(c) = BEFORE.captures(lead) {
        if let Some(sign) = c.get(3) {
            code = currency_of(sign.as_str());
        }
        negative = c.get(2).or(c.get(4)).is_some();
        if let Some(all) = c.get(1)
            && !all.is_empty()
        {
            range.start = all.start();
        }
    }
    let mut percent = false;
    if let Some(c) = AFTER.captures(tail) {
        percent = c.get(1).is_some();
        if let Some(sign) = c.get(2) {
            code = code.or_else(|| currency_of(sign.as_str()));
        }
        if let Some(minus) = c.get(3)
            && (minus.as_str().starts_with('-')
                || negative
                || minus.as_str().eq_ignore_ascii_case("cr"))
        {
            negative = true;
        }
        range.end += c.get_match().as_str().trim_end().len();
    } else if before(text, range.start + 1) == Some('(') && after(text, range.end) != Some(')') {
        negative = false;
    }
    if negative {
        value = -value;
    }
    if code.is_some() {
        form = form.max(0.9);
    } else if decimals != 2 {
        form *= if decimals == 0 { 0.6 } else { 0.8 };
    }
    let digits = text
        .get(bare.0..bare.1)?
        .bytes()
        .filter(u8::is_ascii_digit)
        .count();
    if digits > 9 && decimals == 0 {
        form *= 0.2;
    }
    Some(Found::new(
        range,
        Amount {
            value,
            decimals,
            currency: code,
            percent,
            bare,
        },
        form,
    ))
}

/// A text that is one number, whatever stands around it.
pub(crate) fn parse_number(text: &str, style: Option<DecimalStyle>) -> Option<f64> {
    amounts(text, style)
        .into_iter()
        .max_by(|a, b| a.form.total_cmp(&b.form))
        .map(|f| f.value.value)
}

/// Value and count of decimals of digits with separators.
fn parse(number: &str, style: Option<DecimalStyle>) -> Option<(f64, usize)> {
    let last_point = number.rfind('.');
    let last_comma = number.rfind(',');
    let decimal = match (last_point, last_comma) {
        (Some(p), Some(c)) => Some(p.max(c)),
        (Some(at), None) | (None, Some(at)) => {
            let sign = number.get(at..=at)?;
            let fraction = number.get(at + 1..)?.trim_start().len();
            let groups = number.matches(sign).count();
            let whole = number.get(..at)?;
            let comma = sign == ",";
            let thousands = groups > 1
                || (fraction == 3
                    && whole.len() <= 3
                    && !whole.starts_with('0')
                    && match style {
                        Some(DecimalStyle::Comma) => !comma,
                        Some(DecimalStyle::Point) | None => comma,
                    });
            (!thousands).then_some(at)
        }
        (None, None) => None,
    };
    let (whole, fraction) = match decimal {
        Some(at) => (number.get(..at)?, number.get(at + 1..)?),
        None => (number, ""),
    };
    let digits: String = whole.chars().filter(char::is_ascii_digit).collect();
    let fraction: String = fraction.chars().filter(char::is_ascii_digit).collect();
    if digits.len() + fraction.len() > 15 {
        return None;
    }
    let value: f64 = format!(
        "{}.{}",
        if digits.is_empty() { "0" } else { &digits },
        if fraction.is_empty() { "0" } else { &fraction }
    )
    .parse()
    .ok()?;
    Some((value, fraction.len()))
}

static EVIDENCE: LazyLock<Regex> = LazyLock::new(|| {
    expression(r"(?:^|[^\d.,])\d{1,3}(?:[.,' ]?\d{3})*([.,])(\d{2})(?:[^\d.,]|$|[.,](?:\s|$))")
});

/// The separator that the unmistakable amounts of a document use.
pub(crate) fn decimal_style<'a>(lines: impl IntoIterator<Item = &'a str>) -> Option<DecimalStyle> {
    let (mut point, mut comma) = (0_usize, 0_usize);
    for line in lines {
        for c in EVIDENCE.captures_iter(line) {
            if &c[1] == "," { comma += 1 } else { point += 1 }
        }
    }
    match comma.cmp(&point) {
        std::cmp::Ordering::Greater => Some(DecimalStyle::Comma),
        std::cmp::Ordering::Less => Some(DecimalStyle::Point),
        std::cmp::Ordering::Equal => None,
    }
}

/// A number written out in English prose ("two", "eighteen"), as contracts do.
pub(crate) fn spoken_number(word: &str) -> Option<u32> {
    const WORDS: [&str; 21] = [
        "zero",
        "one",
        "two",
        "three",
        "four",
        "five",
        "six",
        "seven",
        "eight",
        "nine",
        "ten",
        "eleven",
        "twelve",
        "thirteen",
        "fourteen",
        "fifteen",
        "sixteen",
        "seventeen",
        "eighteen",
        "nineteen",
        "twenty",
    ];
    const TENS: [(&str, u32); 8] = [
        ("twenty", 20),
        ("thirty", 30),
        ("forty", 40),
        ("fifty", 50),
        ("sixty", 60),
        ("seventy", 70),
        ("eighty", 80),
        ("ninety", 90),
    ];
    let word = word.to_ascii_lowercase();
    if let Some(at) = WORDS.iter().position(|w| *w == word) {
        return Some(at as u32);
    }
    let (tens, ones) = word.split_once('-').unwrap_or((&word, ""));
    let tens = TENS.iter().find(|(w, _)| *w == tens)?.1;
    let ones = if ones.is_empty() {
        0
    } else {
        WORDS.iter().position(|w| *w == ones)? as u32
    };
    Some(tens + ones)
}
