//! Dates: an ISO date as people write it, in the forms of the languages flydocs reads.
//!
//! The forms are plain (spaces for punctuation), so `03/01/2026`, `03.01.2026` and `03-01-2026` are one form.

use std::collections::HashSet;

use super::months::MONTHS;

/// A day of the calendar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Date {
    year: u32,
    month: u32,
    day: u32,
}

/// One written form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Form {
    /// The form, folded and plain.
    pub(crate) text: String,
    /// True when the same digits are more often another date here (month and day swapped).
    pub(crate) unlikely: bool,
    /// True for a form with a long month name, which may be looked for fuzzily.
    pub(crate) fuzzy: bool,
}

/// Which of two readings of `03/01/2026` is usual.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    /// 3 January.
    DayFirst,
    /// 1 March.
    MonthFirst,
    /// Nothing says so.
    Unknown,
}

impl Order {
    /// From the country of the document type and the hint for its language.
    pub(crate) fn of(country: Option<&str>, language: Option<&str>) -> Self {
        match country.map(str::to_ascii_uppercase).as_deref() {
            Some("US" | "PH" | "FM" | "MH" | "PW") => return Self::MonthFirst,
            Some(_) => return Self::DayFirst,
            None => {}
        }
        match language.map(str::to_ascii_lowercase).as_deref() {
            None | Some("en") => Self::Unknown,
            Some(hint) if hint.starts_with("en-us") => Self::MonthFirst,
            Some(_) => Self::DayFirst,
        }
    }
}

impl Date {
    /// Reads `YYYY-MM-DD`, alone or before a time.
    pub(crate) fn from_iso(text: &str) -> Option<Self> {
        let (date, rest) = text.split_at_checked(10)?;
        if !(rest.is_empty() || rest.starts_with(['T', 't', ' '])) {
            return None;
        }
        let mut parts = date.split('-');
        let mut part = |length: usize| {
            let part = parts.next()?;
            let is_plain = part.len() == length && part.chars().all(|c| c.is_ascii_digit());
            is_plain.then(|| part.parse::<u32>().ok())?
        };
        let (year, month, day) = (part(4)?, part(2)?, part(2)?);
        ((1..=12).contains(&month) && (1..=31).contains(&day)).then_some(Self { year, month, day })
    }

    /// Its forms, most usual first, none twice.
    pub(crate) fn forms(self, order: Order) -> Vec<Form> {
        let mut forms = Forms::default();
        self.push_numeric(&mut forms, order);
        for months in MONTHS {
            let Some(name) = months.names.get(self.month as usize - 1) else {
                continue;
            };
            self.push_worded(&mut forms, months.language, name);
        }
        self.push_east_asian(&mut forms);
        forms.list
    }

    fn push_numeric(self, forms: &mut Forms, order: Order) {
        let Self { year, month, day } = self;
        let short = year % 100;
        // With a day beyond 12 only one reading is a date, and 02/02 is the same in both.
        let ambiguous = day <= 12 && day != month;
        let rare_day_first = ambiguous && order == Order::MonthFirst;
        let rare_month_first = ambiguous && order == Order::DayFirst;
        forms.push(format!("{year} {month:02} {day:02}"), false, false);
        forms.push(format!("{year} {month} {day}"), false, false);
        for (first, second, unlikely) in
            [(day, month, rare_day_first), (month, day, rare_month_first)]
        {
            forms.push(format!("{first:02} {second:02} {year}"), unlikely, false);
            forms.push(format!("{first} {second} {year}"), unlikely, false);
            forms.push(format!("{first:02} {second} {year}"), unlikely, false);
            forms.push(format!("{first} {second:02} {year}"), unlikely, false);
            forms.push(
                format!("{first:02} {second:02} {short:02}"),
                unlikely,
                false,
            );
            forms.push(format!("{first} {second} {short:02}"), unlikely, false);
        }
        forms.push(format!("{year}{month:02}{day:02}"), false, false);
        forms.push(format!("{day:02}{month:02}{year}"), true, false);
        forms.push(format!("{short:02} {month:02} {day:02}"), true, false);
    }

    fn push_worded(self, forms: &mut Forms, language: &str, name: &str) {
        let Self { year, day, .. } = self;
        let short = year % 100;
        let fuzzy = name.chars().count() >= 5;
        forms.push(format!("{day} {name} {year}"), false, fuzzy);
        forms.push(format!("{day:02} {name} {year}"), false, false);
        forms.push(format!("{name} {day} {year}"), false, fuzzy);
        forms.push(format!("{name} {day:02} {year}"), false, false);
        forms.push(format!("{year} {name} {day}"), false, false);
        forms.push(format!("{year} {name} {day:02}"), false, false);
        forms.push(format!("{day} {name} {short:02}"), false, false);
        forms.push(format!("{day:02} {name} {short:02}"), false, false);
        forms.push(format!("{day:02}{name}{year}"), false, false);
        match language {
            "en" => {
                let ordinal = ordinal(day);
                forms.push(format!("{day}{ordinal} {name} {year}"), false, false);
                forms.push(format!("{day}{ordinal} of {name} {year}"), false, false);
                forms.push(format!("{day}{ordinal} day of {name} {year}"), false, false);
                forms.push(format!("{name} {day}{ordinal} {year}"), false, false);
            }
            "es" | "pt" | "gl" | "ca" => {
                for day in [format!("{day}"), format!("{day:02}")] {
                    forms.push(format!("{day} de {name} de {year}"), false, fuzzy);
                    forms.push(format!("{day} de {name} del {year}"), false, false);
                    forms.push(format!("{day} de {name} {year}"), false, false);
                    // d'abril, and its typographic apostrophe, are spaces here
                    forms.push(format!("{day} d {name} de {year}"), false, false);
                    forms.push(format!("{day} d {name} del {year}"), false, false);
                }
            }
            "fr" if day == 1 => forms.push(format!("1er {name} {year}"), false, fuzzy),
            "it" if day == 1 => forms.push(format!("1\u{b0} {name} {year}"), false, fuzzy),
            "eu" => {
                forms.push(format!("{year}ko {name} {day}a"), false, fuzzy);
                forms.push(format!("{year}ko {name} {day}"), false, false);
                forms.push(format!("{year} ko {name} {day} a"), false, false);
                forms.push(format!("{year} ko {name} {day}"), false, false);
            }
            _ => {}
        }
    }

    fn push_east_asian(self, forms: &mut Forms) {
        let Self { year, month, day } = self;
        for (y, m, d) in [
            ("\u{5e74}", "\u{6708}", "\u{65e5}"),
            ("\u{b144}", "\u{c6d4}", "\u{c77c}"),
        ] {
            forms.push(format!("{year}{y}{month}{m}{day}{d}"), false, false);
            forms.push(format!("{year}{y}{month:02}{m}{day:02}{d}"), false, false);
        }
        for (era, before, first) in [
            ("\u{4ee4}\u{548c}", 2018, 20_190_501),
            ("\u{5e73}\u{6210}", 1988, 19_890_108),
        ] {
            if year * 10_000 + month * 100 + day >= first {
                let (y, m, d) = ("\u{5e74}", "\u{6708}", "\u{65e5}");
                let of_era = year - before;
                forms.push(format!("{era}{of_era}{y}{month}{m}{day}{d}"), false, false);
                if of_era == 1 {
                    forms.push(format!("{era}\u{5143}{y}{month}{m}{day}{d}"), false, false);
                }
            }
        }
    }

    /// True when a word names a month other than this one in every language that has it.
    pub(crate) fn is_other_month(self, word: &str) -> bool {
        let mut named = false;
        for months in MONTHS {
            for (at, name) in months.names.iter().enumerate() {
                if *name == word {
                    if at + 1 == self.month as usize {
                        return false;
                    }
                    named = true;
                }
            }
        }
        named
    }
}

#[derive(Default)]
struct Forms {
    list: Vec<Form>,
    known: HashSet<String>,
}

impl Forms {
    fn push(&mut self, text: String, unlikely: bool, fuzzy: bool) {
        if self.known.insert(text.clone()) {
            self.list.push(Form {
                text,
                unlikely,
                fuzzy,
            });
        }
    }
}

const fn ordinal(day: u32) -> &'static str {
    match (day % 10, day) {
        (_, 11..=13) => "th",
        (1, _) => "st",
        (2, _) => "nd",
        (3, _) => "rd",
        _ => "th",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::normalise::{normalise, without_punctuation};

    #[test]
    fn a_date_is_known_in_the_forms_people_write() {
        let forms = Date::from_iso("2026-01-03").unwrap().forms(Order::Unknown);
        for written in [
            "2026-01-03",
            "03/01/2026",
            "3.1.2026",
            "01/03/2026",
            "03-01-26",
            "3 Jan 2026",
            "Jan. 3, 2026",
            "January 3rd, 2026",
            "3. Januar 2026",
            "3 de enero de 2026",
            "3 de gener de 2026",
            "3 janvier 2026",
            "03-JAN-2026",
            "3 gennaio 2026",
            "3 de janeiro de 2026",
            "3 januari 2026",
            "2026ko urtarrilaren 3a",
            "3 stycznia 2026",
            "3 \u{44f}\u{43d}\u{432}\u{430}\u{440}\u{44f} 2026",
            "2026\u{5e74}1\u{6708}3\u{65e5}",
            "\u{4ee4}\u{548c}8\u{5e74}1\u{6708}3\u{65e5}",
            "2026\u{b144}1\u{c6d4}3\u{c77c}",
            "20260103",
        ] {
            let plain = without_punctuation(&normalise(written));
            assert!(forms.iter().any(|f| f.text == plain), "{written}");
        }
        assert!(!forms.iter().any(|f| f.text == "4 jan 2026"));
    }

    #[test]
    fn the_country_says_which_number_is_the_day() {
        let unlikely = |order| {
            let forms = Date::from_iso("2026-01-03").unwrap().forms(order);
            let of = |text: &str| forms.iter().find(|f| f.text == text).unwrap().unlikely;
            (of("03 01 2026"), of("01 03 2026"))
        };
        assert_eq!(unlikely(Order::of(Some("ES"), None)), (false, true));
        assert_eq!(unlikely(Order::of(Some("US"), None)), (true, false));
        assert_eq!(unlikely(Order::of(None, Some("en"))), (false, false));
        assert_eq!(unlikely(Order::of(None, Some("de"))), (false, true));
    }

    #[test]
    fn what_is_no_iso_date_is_no_date() {
        for text in [
            "2026-13-01",
            "2026-1-3",
            "26-01-03",
            "2026-01-03x",
            "",
            "2026-01-3\u{e9}",
        ] {
            assert_eq!(Date::from_iso(text), None, "{text}");
        }
        assert!(Date::from_iso("2026-01-03T10:00:00Z").is_some());
    }

    #[test]
    fn another_month_is_told_from_noise() {
        let june = Date::from_iso("2026-06-15").unwrap();
        assert!(june.is_other_month("julio"));
        assert!(!june.is_other_month("junio"));
        assert!(!june.is_other_month("junlo"));
    }
}
