//! Validators of dates and times in ISO 8601, and the narrower forms that a field's `format` asks for.

use chrono::{DateTime, NaiveDate, NaiveTime, Weekday};

use super::{Subject, Verdict};

pub(super) fn date(subject: Subject<'_>) -> Verdict {
    is_date(subject.text()?)
        .then_some(())
        .ok_or("not an ISO 8601 date")
}

pub(super) fn time(subject: Subject<'_>) -> Verdict {
    is_time(subject.text()?)
        .then_some(())
        .ok_or("not an ISO 8601 time")
}

pub(super) fn datetime(subject: Subject<'_>) -> Verdict {
    is_datetime(subject.text()?)
        .then_some(())
        .ok_or("not an ISO 8601 date and time")
}

pub(super) fn any(subject: Subject<'_>) -> Verdict {
    let text = subject.text()?;
    let fits = is_date(text) || is_datetime(text) || text.strip_prefix('T').is_some_and(is_time);
    fits.then_some(()).ok_or("not an ISO 8601 date or time")
}

/// `YYYY-MM-DD` alone.
pub(crate) fn is_calendar_date(text: &str) -> bool {
    calendar_date(text).is_some()
}

/// The date written `YYYY-MM-DD`.
pub(crate) fn calendar_date(text: &str) -> Option<NaiveDate> {
    let mut parts = text.split('-');
    let (year, month, day) = (parts.next()?, parts.next()?, parts.next()?);
    if parts.next().is_some() || (year.len(), month.len(), day.len()) != (4, 2, 2) {
        return None;
    }
    NaiveDate::from_ymd_opt(whole(year)? as i32, whole(month)?, whole(day)?)
}

/// RFC 3339.
pub(crate) fn is_rfc3339(text: &str) -> bool {
    text.is_ascii() && DateTime::parse_from_rfc3339(text).is_ok()
}

/// A date: calendar, week or ordinal, extended or basic.
fn is_date(text: &str) -> bool {
    if !text.is_ascii() {
        return false;
    }
    let is_extended = text.contains('-');
    let (Some(year), Some(rest)) = (text.get(..4).and_then(whole), text.get(4..)) else {
        return false;
    };
    let year = year as i32;
    let rest: String = if is_extended {
        let parts: Vec<_> = rest.split('-').collect();
        let lengths: Vec<_> = parts.iter().map(|p| p.len()).collect();
        if !matches!(*lengths, [0, 2, 2] | [0, 3] | [0, 3, 1]) {
            return false;
        }
        parts.concat()
    } else {
        rest.to_owned()
    };
    let part = |range: std::ops::Range<usize>| rest.get(range).and_then(whole);
    match (rest.len(), rest.starts_with('W')) {
        (4, false) => match (part(0..2), part(2..4)) {
            (Some(month), Some(day)) => NaiveDate::from_ymd_opt(year, month, day).is_some(),
            _ => false,
        },
        (3, false) => part(0..3).is_some_and(|day| NaiveDate::from_yo_opt(year, day).is_some()),
        (4, true) => match (part(1..3), part(3..4)) {
            (Some(week), Some(day @ 1..=7)) => {
                let day = Weekday::try_from((day - 1) as u8);
                day.is_ok_and(|day| NaiveDate::from_isoywd_opt(year, week, day).is_some())
            }
            _ => false,
        },
        (3, true) => part(1..3)
            .is_some_and(|week| NaiveDate::from_isoywd_opt(year, week, Weekday::Mon).is_some()),
        _ => false,
    }
}

/// A time of day, extended or basic, with or without seconds, fraction and zone.
pub(crate) fn is_time(text: &str) -> bool {
    if !text.is_ascii() {
        return false;
    }
    let (clock, zone_fits) = match text.find(['Z', '+', '-']) {
        Some(at) => {
            let (clock, zone) = text.split_at(at);
            (clock, is_zone(zone))
        }
        None => (text, true),
    };
    let (clock, fraction) = match clock.split_once(['.', ',']) {
        Some((clock, fraction)) => (clock, Some(fraction)),
        None => (clock, None),
    };
    let fraction_fits = fraction.is_none_or(|f| {
        !f.is_empty() && f.bytes().all(|b| b.is_ascii_digit()) && is_to_the_second(clock)
    });
    zone_fits && fraction_fits && is_clock(clock)
}

fn is_to_the_second(clock: &str) -> bool {
    clock.bytes().filter(u8::is_ascii_digit).count() == 6
}

fn is_clock(clock: &str) -> bool {
    let parts: Vec<&str> = if clock.contains(':') {
        clock.split(':').collect()
    } else {
        let bounds = (0..clock.len()).step_by(2);
        bounds.filter_map(|at| clock.get(at..at + 2)).collect()
    };
    let is_whole = parts.concat().len() == clock.replace(':', "").len();
    let numbers: Option<Vec<_>> = parts
        .iter()
        .map(|p| (p.len() == 2).then(|| whole(p)).flatten())
        .collect();
    let time = match numbers.as_deref() {
        // The end of a day.
        Some([24, 0] | [24, 0, 0]) => return is_whole,
        Some([hour, minute]) => NaiveTime::from_hms_opt(*hour, *minute, 0),
        // A leap second counts as its minute's last.
        Some([hour, minute, second]) => {
            let second = if *second == 60 { 59 } else { *second };
            NaiveTime::from_hms_opt(*hour, *minute, second)
        }
        _ => None,
    };
    is_whole && time.is_some()
}

fn is_zone(zone: &str) -> bool {
    if zone == "Z" {
        return true;
    }
    let digits = zone.get(1..).unwrap_or_default();
    let (hours, minutes) = match digits.split_once(':') {
        Some((hours, minutes)) => (hours, minutes),
        None if digits.len() == 4 => digits.split_at(2),
        None => (digits, "00"),
    };
    let in_range = |part: &str, most| part.len() == 2 && whole(part).is_some_and(|n| n <= most);
    in_range(hours, 23) && in_range(minutes, 59)
}

/// A date, `T` or a space, and a time.
fn is_datetime(text: &str) -> bool {
    text.split_once(['T', ' '])
        .is_some_and(|(date, time)| is_date(date) && is_time(time))
}

fn whole(text: &str) -> Option<u32> {
    let is_number = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    is_number.then(|| text.parse().ok()).flatten()
}
