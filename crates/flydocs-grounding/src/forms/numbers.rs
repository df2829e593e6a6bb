//! Numbers: what a value is, and every number that stands on a page, found by its joined digits.
//!
//! A number on a page is read with either separator, so `1,234.50`, `1.234,50`, `1 234,50` and `1'234.5` are one.

use std::collections::HashMap;

use flydocs_contract::PageWords;

use crate::{
    index::{Span, is_tight},
    normalise::{digits, is_currency_sign, is_edge, is_unspaced},
};

/// A run of more words than this is no number.
const MOST_WORDS: usize = 8;

/// A decimal number as its digits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Number {
    pub(crate) negative: bool,
    /// Digits before the point, no leading zeros but for a lone one.
    pub(crate) whole: String,
    /// Digits after the point, no trailing zeros.
    pub(crate) fraction: String,
}

impl Number {
    /// Reads the plain form: an optional sign, digits, an optional point and digits.
    pub(crate) fn from_plain(text: &str) -> Option<Self> {
        let (negative, text) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
        let plain = |part: &str| part.chars().all(|c| c.is_ascii_digit());
        if whole.is_empty() || !plain(whole) || !plain(fraction) {
            return None;
        }
        Some(Self {
            negative,
            whole: without_leading_zeros(whole).to_owned(),
            fraction: fraction.trim_end_matches('0').to_owned(),
        })
    }

    /// Reads a text that can only be an amount: it has a separator, and just one reading of it.
    pub(crate) fn from_written(text: &str) -> Option<Self> {
        let (negative, text) = match text.strip_prefix(['-', '\u{2212}']) {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let text = text.trim();
        if !text.starts_with(|c: char| c.is_ascii_digit())
            || !text.ends_with(|c: char| c.is_ascii_digit())
            || !text.chars().all(|c| c.is_ascii_digit() || is_group_mark(c))
        {
            return None;
        }
        let parts: Vec<&str> = text.split(is_group_mark).collect();
        let marks: Vec<char> = text.chars().filter(|c| is_group_mark(*c)).collect();
        let (last, last_mark) = (*parts.last()?, *marks.last()?);
        let earlier = marks.get(..marks.len() - 1)?;
        let is_decimal = matches!(last_mark, '.' | ',')
            && !earlier.contains(&last_mark)
            && (last.len() != 3 || !earlier.is_empty() || parts.first()?.len() > 3);
        let (grouped, group_marks) = if is_decimal {
            (parts.get(1..parts.len() - 1)?, earlier)
        } else {
            (parts.get(1..)?, marks.as_slice())
        };
        // Two amounts side by side are no amount: one mark groups, and the last group has three digits.
        if group_marks
            .windows(2)
            .any(|pair| pair.first() != pair.last())
            || grouped.last().is_some_and(|group| group.len() != 3)
        {
            return None;
        }
        if grouped.iter().any(|part| !matches!(part.len(), 2 | 3))
            || parts
                .first()
                .is_some_and(|p| p.len() > 1 && p.starts_with('0'))
        {
            return None;
        }
        let (whole, fraction) = if is_decimal {
            (parts.get(..parts.len() - 1)?.concat(), last)
        } else {
            (parts.concat(), "")
        };
        Some(Self {
            negative,
            whole: without_leading_zeros(&whole).to_owned(),
            fraction: fraction.trim_end_matches('0').to_owned(),
        })
    }

    /// True when a number as printed says this value, whatever its separators.
    fn is_read_from(&self, printed: &str) -> bool {
        let all = digits(printed);
        let marks: Vec<(usize, char)> = printed
            .char_indices()
            .filter(|(_, c)| matches!(c, '.' | ','))
            .collect();
        let Some((at, mark)) = marks.last().copied() else {
            return self.fraction.is_empty() && without_leading_zeros(&all) == self.whole;
        };
        let before = digits(printed.get(..at).unwrap_or(""));
        let after = digits(printed.get(at..).unwrap_or(""));
        // `1.234` is both 1234 and 1.234: only its neighbours could tell, so either value may be read from it.
        let repeated = marks.iter().filter(|(_, c)| *c == mark).count() > 1;
        let as_decimal = !repeated
            && without_leading_zeros(&before) == self.whole
            && after.trim_end_matches('0') == self.fraction;
        let as_group = after.len() == 3
            && self.fraction.is_empty()
            && without_leading_zeros(&all) == self.whole;
        as_decimal || as_group
    }
}

fn without_leading_zeros(digits: &str) -> &str {
    let kept = digits.trim_start_matches('0');
    if kept.is_empty() && !digits.is_empty() {
        "0"
    } else {
        kept
    }
}

const fn is_group_mark(c: char) -> bool {
    matches!(c, '.' | ',' | '\'' | '\u{2019}' | ' ')
}

/// One number on a page.
#[derive(Debug)]
struct NumberSpan {
    span: Span,
    printed: String,
    negative: bool,
    /// True when letters were cut off (`USD12`, `12kg`).
    glued: bool,
    /// True when the words beside it go on with the same number (the `1` of `1 234`).
    partial: bool,
}

/// A number found: where, and what speaks against it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Found {
    pub(crate) span: Span,
    pub(crate) glued: bool,
    pub(crate) partial: bool,
    pub(crate) other_sign: bool,
}

/// Every number of a page by its joined digits, without leading zeros.
#[derive(Debug, Default)]
pub(crate) struct NumberSpans {
    by_digits: HashMap<String, Vec<NumberSpan>>,
}

impl NumberSpans {
    pub(crate) fn read(page: &PageWords, normal: &[String]) -> Self {
        let cores: Vec<Option<Core<'_>>> = normal.iter().map(|word| Core::of(word)).collect();
        let tight: Vec<bool> = (0..cores.len())
            .map(|at| {
                is_tight(
                    page,
                    Span {
                        first: at,
                        last: at + 1,
                    },
                )
            })
            .collect();
        let goes_on: Vec<bool> = cores
            .windows(2)
            .zip(&tight)
            .map(|(pair, tight)| match pair {
                [Some(before), Some(after)] => *tight && before.is_continued_by(after),
                _ => false,
            })
            .collect();
        let goes_on = |at: usize| goes_on.get(at).copied().unwrap_or(false);
        let mut spans = Self::default();
        for first in 0..cores.len() {
            let (mut joined, mut printed) = (String::new(), String::new());
            let (mut negative, mut glued) = (false, false);
            for last in first..cores.len().min(first + MOST_WORDS) {
                let Some(Some(core)) = cores.get(last) else {
                    break;
                };
                if last > first {
                    if !tight.get(last - 1).copied().unwrap_or(false) {
                        break;
                    }
                    printed.push(' ');
                }
                joined.push_str(&core.digits);
                printed.push_str(core.printed);
                negative |= core.negative;
                glued |= core.glued;
                if core.digits.is_empty() {
                    continue;
                }
                spans
                    .by_digits
                    .entry(without_leading_zeros(&joined).to_owned())
                    .or_default()
                    .push(NumberSpan {
                        span: Span { first, last },
                        printed: printed.clone(),
                        negative,
                        glued,
                        partial: goes_on(last) || (first > 0 && goes_on(first - 1)),
                    });
            }
        }
        spans
    }

    /// Where the number stands, in reading order.
    pub(crate) fn of_number(&self, number: &Number) -> Vec<Found> {
        let mut found = Vec::new();
        // The printed form may carry more zeros after the point than the value does.
        for zeros in 0..=4 {
            let key = format!("{}{}{:0<zeros$}", number.whole, number.fraction, "");
            for span in self.spans(&key) {
                if number.is_read_from(&span.printed) {
                    found.push(Found {
                        span: span.span,
                        glued: span.glued,
                        partial: span.partial,
                        other_sign: span.negative != number.negative,
                    });
                }
            }
        }
        found.sort_by_key(|found| found.span);
        found.dedup_by_key(|found| found.span);
        found
    }

    /// Where these digits stand, however they are grouped, in reading order.
    pub(crate) fn of_digits(&self, wanted: &str) -> Vec<Found> {
        self.spans(wanted)
            .iter()
            .filter(|span| digits(&span.printed) == wanted)
            .map(|span| Found {
                span: span.span,
                glued: span.glued,
                partial: span.partial,
                other_sign: false,
            })
            .collect()
    }

    fn spans(&self, joined: &str) -> &[NumberSpan] {
        self.by_digits
            .get(without_leading_zeros(joined))
            .map_or(&[], Vec::as_slice)
    }
}

/// What of a word can be part of a number.
#[derive(Debug)]
struct Core<'a> {
    printed: &'a str,
    digits: String,
    negative: bool,
    glued: bool,
}

impl<'a> Core<'a> {
    /// True for a group of up to three digits before a group of just three.
    fn is_continued_by(&self, after: &Self) -> bool {
        let group = after
            .printed
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(after.printed.len());
        let is_group = |c: char| c.is_ascii_digit();
        group == 3 && self.printed.len() <= 3 && self.printed.chars().all(is_group)
    }

    fn of(word: &'a str) -> Option<Self> {
        let start = word.find(|c: char| c.is_ascii_digit())?;
        let end = word.rfind(|c: char| c.is_ascii_digit())? + 1;
        let (before, printed, after) =
            (word.get(..start)?, word.get(start..end)?, word.get(end..)?);
        let is_joint = |c: char| c.is_ascii_digit() || is_group_mark(c) || is_edge(c);
        if !printed.chars().all(is_joint) {
            return None;
        }
        let is_mark = |c: char| is_edge(c) || matches!(c, '+' | '%' | '\u{b0}' | '\u{2030}' | '~');
        let (marks_before, marks_after) = (before.chars().all(is_mark), after.chars().all(is_mark));
        let unit = |letters: &str| {
            let letters = letters.trim_matches(is_mark);
            letters.chars().count() <= 3 && letters.chars().all(char::is_alphabetic)
                || letters.chars().all(is_unspaced)
        };
        let label = |letters: &str| {
            // `usd12` and `total:12`, but not the `ab12` of an id.
            let letters = letters.trim_start_matches(is_mark);
            letters.ends_with([':', '=', '\u{ff1a}'])
                || letters.ends_with(is_currency_sign)
                || letters.chars().next_back().is_some_and(is_unspaced)
                || (letters.len() == 3 && CURRENCIES.contains(&letters))
        };
        if !(marks_before || label(before)) || !(marks_after || unit(after)) {
            return None;
        }
        let minus = |c: char| matches!(c, '-' | '\u{2212}' | '\u{2013}');
        Some(Self {
            printed,
            digits: digits(printed),
            negative: before.contains(minus)
                || after == "-"
                || (before.contains('(') && after.contains(')') && printed.contains(['.', ','])),
            glued: !(marks_before && marks_after),
        })
    }
}

/// Codes that are often printed without a space before the amount (folded).
const CURRENCIES: [&str; 24] = [
    "aud", "brl", "cad", "chf", "cny", "czk", "dkk", "eur", "gbp", "hkd", "huf", "inr", "jpy",
    "krw", "mxn", "nok", "nzd", "pln", "rub", "sek", "sgd", "try", "usd", "zar",
];

#[cfg(test)]
mod tests {
    use super::*;

    fn number(text: &str) -> Number {
        Number::from_plain(text).unwrap()
    }

    #[test]
    fn a_printed_number_is_read_with_either_separator() {
        for (value, printed, wanted) in [
            ("1234.5", "1,234.50", true),
            ("1234.5", "1.234,50", true),
            ("1234.5", "1 234,50", true),
            ("1234.5", "1'234.5", true),
            ("1234.5", "12345", false),
            ("1234.5", "1.2345", false),
            ("1234", "1,234", true),
            ("1234", "1.234", true),
            ("1.234", "1.234", true),
            ("1234", "1234.00", true),
            ("1234", "1.234,00", true),
            ("15", "1.5", false),
            ("1234567", "12,34,567", true),
            ("100", "1000", false),
            ("0.5", "0,50", true),
            ("0", "0.00", true),
            ("7", "007", true),
        ] {
            assert_eq!(
                number(value).is_read_from(printed),
                wanted,
                "{value} from {printed}"
            );
        }
    }

    #[test]
    fn a_written_amount_has_one_reading_or_none() {
        for (text, wanted) in [
            ("1,234.50", Some(("1234", "5"))),
            ("1.234,50", Some(("1234", "5"))),
            ("1 234,50", Some(("1234", "5"))),
            ("1'234.00", Some(("1234", ""))),
            ("12,5", Some(("12", "5"))),
            ("1,234", Some(("1234", ""))),
            ("1,234,567", Some(("1234567", ""))),
            ("12.34.5678", None),
            ("1234", None),
            ("12/34", None),
            ("12,345.67 89,901.23", None),
            ("12 34", None),
            ("12,34,567.8", Some(("1234567", "8"))),
            ("03.50", None),
            ("1.", None),
        ] {
            let read = Number::from_written(text);
            assert_eq!(
                read.as_ref()
                    .map(|n| (n.whole.as_str(), n.fraction.as_str())),
                wanted,
                "{text}"
            );
        }
    }

    #[test]
    fn letters_may_stand_at_a_number_but_not_make_it_an_id() {
        for (word, wanted) in [
            ("$1,234.50", Some(("1,234.50", false, false))),
            ("-12", Some(("12", true, false))),
            ("(12.00)", Some(("12.00", true, false))),
            ("(12)", Some(("12", false, false))),
            ("12kg", Some(("12", false, true))),
            ("usd12", Some(("12", false, true))),
            ("total:12", Some(("12", false, true))),
            ("21%", Some(("21", false, false))),
            ("ab12", None),
            ("12abcd", None),
            ("1a2", None),
            ("x", None),
        ] {
            let core = Core::of(word);
            assert_eq!(
                core.as_ref().map(|c| (c.printed, c.negative, c.glued)),
                wanted,
                "{word}"
            );
        }
    }
}
