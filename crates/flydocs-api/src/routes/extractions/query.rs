//! Query strings, every fault at once. A key no route knows is passed over, as the reference does.

use std::{collections::BTreeMap, fmt::Display, str::FromStr, time::Duration};

use chrono::{DateTime, NaiveDate, NaiveDateTime, Utc};
use flydocs_contract::{Fault, Timestamp};

use crate::problem::{Answer, Refusal};

/// The parameters of one call.
#[derive(Debug)]
pub(super) struct Query {
    given: BTreeMap<String, String>,
    faults: Vec<Fault>,
}

impl Query {
    pub(super) fn new(text: Option<&str>) -> Self {
        let given = url::form_urlencoded::parse(text.unwrap_or_default().as_bytes())
            .into_owned()
            .filter(|(_, value)| !value.is_empty())
            .collect();
        Self {
            given,
            faults: Vec::new(),
        }
    }

    fn fault(&mut self, name: &str, message: impl Into<String>) {
        self.faults.push(Fault::new(name, message));
    }

    pub(super) fn text(&self, name: &str) -> Option<String> {
        self.given.get(name).cloned()
    }

    /// Words between commas.
    pub(super) fn words<T: FromStr<Err: Display>>(&mut self, name: &str) -> Vec<T> {
        let Some(list) = self.text(name) else {
            return Vec::new();
        };
        let mut words = Vec::new();
        for word in list.split(',').map(str::trim).filter(|w| !w.is_empty()) {
            match word.parse::<T>() {
                Ok(word) => words.push(word),
                Err(error) => self.fault(name, error.to_string()),
            }
        }
        words
    }

    /// A whole number in a range.
    pub(super) fn number(&mut self, name: &str, default: u64, least: u64, most: u64) -> u64 {
        let Some(text) = self.given.get(name) else {
            return default;
        };
        match text.parse::<u64>() {
            Ok(number) if (least..=most).contains(&number) => number,
            _ => {
                let range = if most == u64::MAX {
                    format!("must be a whole number of {least} or more")
                } else {
                    format!("must be a whole number from {least} to {most}")
                };
                self.fault(name, range);
                default
            }
        }
    }

    pub(super) fn flag(&mut self, name: &str) -> bool {
        let Some(text) = self.given.get(name) else {
            return false;
        };
        match text.to_ascii_lowercase().as_str() {
            "true" | "1" | "yes" | "on" => true,
            "false" | "0" | "no" | "off" => false,
            _ => {
                self.fault(name, "must be true or false");
                false
            }
        }
    }

    pub(super) fn seconds(&mut self, name: &str, default: u64, most: u64) -> Duration {
        let Some(text) = self.given.get(name) else {
            return Duration::from_secs(default);
        };
        let parsed = text
            .parse::<f64>()
            .ok()
            .filter(|s| *s <= most as f64)
            .and_then(|s| Duration::try_from_secs_f64(s).ok());
        parsed.unwrap_or_else(|| {
            self.fault(
                name,
                format!("must be a number of seconds from 0 to {most}"),
            );
            Duration::from_secs(default)
        })
    }

    /// RFC 3339; without an offset it is UTC, a date alone is its midnight.
    pub(super) fn time(&mut self, name: &str) -> Option<Timestamp> {
        let text = self.given.get(name)?;
        let time = a_time(text);
        if time.is_none() {
            self.fault(name, "must be a time such as 2026-01-31T12:00:00Z");
        }
        time
    }

    /// 400 with every fault.
    pub(super) fn finish(self) -> Answer<()> {
        if self.faults.is_empty() {
            Ok(())
        } else {
            Err(Refusal::invalid(&self.faults))
        }
    }
}

fn a_time(text: &str) -> Option<Timestamp> {
    // "+" of an offset that nobody escaped arrives as a space
    let escaped = match text.rsplit_once(' ') {
        Some((time, offset)) if time.contains('T') && offset.contains(':') => {
            format!("{time}+{offset}")
        }
        _ => text.to_owned(),
    };
    if let Ok(time) = DateTime::parse_from_rfc3339(&escaped) {
        return Some(time.with_timezone(&Utc));
    }
    for form in ["%Y-%m-%dT%H:%M:%S%.f", "%Y-%m-%d %H:%M:%S%.f"] {
        if let Ok(time) = NaiveDateTime::parse_from_str(text, form) {
            return Some(time.and_utc());
        }
    }
    let date = NaiveDate::parse_from_str(text, "%Y-%m-%d").ok()?;
    Some(date.and_hms_opt(0, 0, 0)?.and_utc())
}

#[cfg(test)]
mod tests {
    use flydocs_contract::Status;

    use super::*;

    #[test]
    fn a_query_names_every_fault() {
        let mut query = Query::new(Some(
            "status=queued,done&limit=501&created_after=yesterday&wait=perhaps&timeout=301&other=1",
        ));
        assert_eq!(query.words::<Status>("status"), [Status::Queued]);
        query.number("limit", 50, 1, 500);
        query.time("created_after");
        query.flag("wait");
        query.seconds("timeout", 60, 300);
        let problem = query.finish().unwrap_err().problem().clone();
        let paths: Vec<_> = problem.extensions["errors"]
            .as_array()
            .unwrap()
            .iter()
            .map(|e| e["path"].as_str().unwrap().to_owned())
            .collect();
        assert_eq!(
            paths,
            ["status", "limit", "created_after", "wait", "timeout"]
        );
    }

    #[test]
    fn times_are_read_in_their_usual_forms() {
        let noon = DateTime::parse_from_rfc3339("2026-01-31T12:00:00Z").unwrap();
        for text in [
            "2026-01-31T12:00:00Z",
            "2026-01-31T13:00:00 01:00",
            "2026-01-31T12:00:00",
            "2026-01-31 12:00:00.000",
        ] {
            assert_eq!(a_time(text).unwrap(), noon, "{text}");
        }
        assert!(a_time("2026-01-31").is_some());
        assert!(a_time("2026-02-30").is_none());
    }
}
