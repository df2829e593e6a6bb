//! Dates as people write them, in many languages, to `YYYY-MM-DD`.

use std::{fmt, sync::LazyLock};

use chrono::NaiveDate;
use regex::Regex;

use super::{Found, after, before, expression};
use crate::local::text::{fold, similar};

/// Which of two numbers is the day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DayOrder {
    /// 31/12/2020.
    DayFirst,
    /// 12/31/2020.
    MonthFirst,
}

/// A date; when both orders are possible, both readings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Date {
    day_first: Option<NaiveDate>,
    month_first: Option<NaiveDate>,
    /// The month was written as a word before the day.
    month_leads: bool,
}

impl Date {
    const fn sure(date: NaiveDate) -> Self {
        Self {
            day_first: Some(date),
            month_first: Some(date),
            month_leads: false,
        }
    }

    /// The date in the order of the document.
    pub(crate) fn read(&self, order: DayOrder) -> Option<NaiveDate> {
        match order {
            DayOrder::DayFirst => self.day_first.or(self.month_first),
            DayOrder::MonthFirst => self.month_first.or(self.day_first),
        }
    }
}

impl fmt::Display for Date {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.day_first.or(self.month_first) {
            Some(date) => write!(f, "{}", date.format("%Y-%m-%d")),
            None => f.write_str("?"),
        }
    }
}

const MONTHS: [&[&str]; 12] = [
    &[
        "january", "jan", "januar", "janvier", "enero", "ene", "gennaio", "gen", "janeiro",
        "januari", "stycznia", "styczen", "janner", "janv",
    ],
    &[
        "february",
        "feb",
        "februar",
        "fevrier",
        "fev",
        "febrero",
        "febbraio",
        "fevereiro",
        "februari",
        "lutego",
        "luty",
        "febr",
    ],
    &[
        "march", "mar", "marz", "maerz", "mrz", "mars", "marzo", "marco", "maart", "mrt", "marca",
        "marzec",
    ],
    &[
        "april", "apr", "avril", "avr", "abril", "abr", "aprile", "kwietnia", "kwiecien",
    ],
    &[
        "may", "mai", "mayo", "maggio", "mag", "maio", "mei", "maja", "maj",
    ],
    &[
        "june", "jun", "juni", "juin", "junio", "giugno", "giu", "junho", "czerwca", "czerwiec",
    ],
    &[
        "july", "jul", "juli", "juillet", "juil", "julio", "luglio", "lug", "julho", "lipca",
        "lipiec",
    ],
    &[
        "august", "aug", "aout", "agosto", "ago", "augustus", "sierpnia", "sierpien",
    ],
    &[
        "september",
        "sep",
        "sept",
        "septembre",
        "septiembre",
        "settembre",
        "set",
        "setembro",
        "wrzesnia",
        "wrzesien",
    ],
    &[
        "october",
        "oct",
        "oktober",
        "okt",
        "octobre",
        "octubre",
        "ottobre",
        "ott",
        "outubro",
        "out",
        "pazdziernika",
    ],
    &[
        "november",
        "nov",
        "novembre",
        "noviembre",
        "novembro",
        "listopada",
        "listopad",
    ],
    &[
        "december",
        "dec",
        "dezember",
        "dez",
        "decembre",
        "diciembre",
        "dic",
        "dicembre",
        "dezembro",
        "grudnia",
        "grudzien",
    ],
];

static NUMERIC: LazyLock<Regex> =
    LazyLock::new(|| expression(r"(\d{1,4})( ?[-./] ?)(\d{1,2})( ?[-./] ?)(\d{1,4})"));
static WORDED: LazyLock<Regex> = LazyLock::new(|| {
    expression(
        r"(?i)(\d{1,2})(?:st|nd|rd|th|er|º|°|\.)?(?: day of |[ .,/-]+(?:de |of )?| ?)(\p{L}{3,12})[., /'-]*(?:de |del |of )?[, ]*(\d{4}|\d{2}\b)",
    )
});
static MONTH_FIRST: LazyLock<Regex> = LazyLock::new(|| {
    expression(
        r"(?i)(\p{L}{3,12})[. /-]{1,3}(\d{1,2})(?:st|nd|rd|th)?(?: ?[,.] ?| |/|-)+(\d{4}|\d{2}\b)",
    )
});
static EASTERN: LazyLock<Regex> =
    LazyLock::new(|| expression(r"(\d{4}) ?[年년] ?(\d{1,2}) ?[月월] ?(\d{1,2}) ?[日일]"));
static SPACED: LazyLock<Regex> = LazyLock::new(|| {
    expression(r"(?:^|[^\d.,/-] ?)((\d{2}) (\d{2}) ((?:19|20)\d{2}))(?:$|[^\d.,/-])")
});
static COMPACT: LazyLock<Regex> = LazyLock::new(|| expression(r"\b(?:19|20)\d{6}\b"));

/// Every date of a text.
pub(crate) fn dates(text: &str) -> Vec<Found<Date>> {
    let mut found: Vec<Found<Date>> = Vec::new();
    if !text.bytes().any(|b| b.is_ascii_digit()) {
        return found;
    }
    let mut keep = |hit: Option<Found<Date>>| {
        if let Some(hit) = hit
            && !found
                .iter()
                .any(|f| f.range.start < hit.range.end && hit.range.start < f.range.end)
        {
            found.push(hit);
        }
    };
    for c in EASTERN.captures_iter(text) {
        let range = c.get_match().range();
        keep(ymd(&c[1], &c[2], &c[3]).map(|d| Found::new(range, Date::sure(d), 1.0)));
    }
    let mut from = 0;
    while let Some(c) = NUMERIC.captures_at(text, from) {
        let range = c.get_match().range();
        let hit = numeric(text, &c);
        from = if hit.is_some() {
            range.end
        } else {
            c.get(1).map_or(range.end, |m| m.end())
        };
        keep(hit);
    }
    for c in WORDED.captures_iter(text) {
        let range = c.get_match().range();
        keep(worded(text, range, &c[1], &c[2], &c[3]));
    }
    for c in MONTH_FIRST.captures_iter(text) {
        let range = c.get_match().range();
        keep(worded(text, range, &c[2], &c[1], &c[3]).map(|mut f| {
            f.value.month_leads = true;
            f
        }));
    }
    for m in COMPACT.find_iter(text) {
        let d = m.as_str();
        keep(
            ymd(&d[..4], &d[4..6], &d[6..])
                .map(|date| Found::new(m.range(), Date::sure(date), 0.4)),
        );
    }
    for c in SPACED.captures_iter(text) {
        let (day_first, month_first) = (ymd(&c[4], &c[3], &c[2]), ymd(&c[4], &c[2], &c[3]));
        if day_first.is_some() || month_first.is_some() {
            let date = Date {
                day_first,
                month_first,
                month_leads: false,
            };
            keep(c.get(1).map(|m| Found::new(m.range(), date, 0.6)));
        }
    }
    found.sort_by_key(|f| f.range.start);
    found
}

fn numeric(text: &str, c: &regex::Captures<'_>) -> Option<Found<Date>> {
    let range = c.get_match().range();
    let (a, b, d) = (&c[1], &c[3], &c[5]);
    let (first, second) = (c[2].trim(), c[4].trim());
    let touching = |ch: Option<char>| ch.is_some_and(|ch| ch.is_alphanumeric() || ch == '/');
    if touching(before(text, range.start))
        && !before(text, range.start).is_some_and(char::is_alphabetic)
        || after(text, range.end).is_some_and(|ch| ch.is_ascii_digit())
        || (first != second && !(matches!(first, "." | "-" | "/") && a.len() < 3))
    {
        return None;
    }
    let spaced = c[2].len() > 1 || c[4].len() > 1;
    if a.len() == 4 {
        let date = ymd(a, b, d)?;
        return Some(Found::new(range, Date::sure(date), 1.0));
    }
    if a.len() > 2 || d.len() == 3 || d.len() == 1 {
        return None;
    }
    let day_first = ymd(d, b, a);
    let month_first = ymd(d, a, b);
    if day_first.is_none() && month_first.is_none() {
        return None;
    }
    let mut form = if d.len() == 4 { 1.0 } else { 0.8 };
    if first != second || (spaced && d.len() == 2) {
        form *= 0.7;
    }
    if d.len() == 2 && first == "." && spaced {
        return None;
    }
    Some(Found::new(
        range,
        Date {
            day_first,
            month_first,
            month_leads: false,
        },
        form,
    ))
}

fn worded(
    text: &str,
    range: std::ops::Range<usize>,
    day: &str,
    month: &str,
    year: &str,
) -> Option<Found<Date>> {
    if before(text, range.start).is_some_and(char::is_alphanumeric) {
        return None;
    }
    let month = month_number(month)?;
    let date = ymd(year, &month.to_string(), day)?;
    Some(Found::new(
        range,
        Date::sure(date),
        if year.len() == 4 { 1.0 } else { 0.85 },
    ))
}

/// 1 to 12 for the name of a month in one of the languages, also abbreviated or with a misread letter.
fn month_number(name: &str) -> Option<u32> {
    let name = fold(name);
    let exact = MONTHS
        .iter()
        .position(|names| names.contains(&name.as_str()));
    exact
        .or_else(|| {
            (name.len() >= 5)
                .then(|| {
                    MONTHS.iter().position(|names| {
                        names
                            .iter()
                            .any(|n| n.len() >= 5 && similar(n, &name) > 0.8)
                    })
                })
                .flatten()
        })
        .map(|at| at as u32 + 1)
}

fn ymd(year: &str, month: &str, day: &str) -> Option<NaiveDate> {
    let mut y: i32 = year.parse().ok()?;
    if year.len() <= 2 {
        y += if y < 70 { 2000 } else { 1900 };
    }
    if !(1900..=2100).contains(&y) {
        return None;
    }
    NaiveDate::from_ymd_opt(y, month.parse().ok()?, day.parse().ok()?)
}

/// The order the dates of a document are written in, when one of them tells.
pub(crate) fn day_order<'a>(dates: impl IntoIterator<Item = &'a Date>) -> Option<DayOrder> {
    let (mut day, mut month, mut leads) = (0, 0, 0);
    for date in dates {
        match (date.day_first, date.month_first) {
            (Some(_), None) => day += 1,
            (None, Some(_)) => month += 1,
            _ => {}
        }
        leads += usize::from(date.month_leads);
    }
    if day == 0 && month == 0 && leads > 0 {
        return Some(DayOrder::MonthFirst);
    }
    match day.cmp(&month) {
        std::cmp::Ordering::Greater => Some(DayOrder::DayFirst),
        std::cmp::Ordering::Less => Some(DayOrder::MonthFirst),
        std::cmp::Ordering::Equal => None,
    }
}
