//! Times of day.

use std::sync::LazyLock;

use regex::Regex;

use super::{Found, before, expression};

static TIME: LazyLock<Regex> = LazyLock::new(|| {
    expression(
        r"(?i)\b([01]?\d|2[0-3]) ?[:h] ?([0-5]\d)(?: ?: ?([0-5]\d))?(?: ?([ap])\.? ?m\b\.?)?",
    )
});

/// Every time of a text as `HH:MM` or `HH:MM:SS`.
pub(crate) fn times(text: &str) -> Vec<Found<String>> {
    TIME.captures_iter(text)
        .filter_map(|c| {
            let range = c.get_match().range();
            if before(text, range.start).is_some_and(|b| matches!(b, ':' | '.' | ',')) {
                return None;
            }
            let mut hour: u32 = c[1].parse().ok()?;
            match c.get(4).map(|m| m.as_str().to_ascii_lowercase()).as_deref() {
                Some("p") if hour < 12 => hour += 12,
                Some("a") if hour == 12 => hour = 0,
                _ => {}
            }
            let mut time = format!("{hour:02}:{}", &c[2]);
            if let Some(seconds) = c.get(3) {
                time.push(':');
                time.push_str(seconds.as_str());
            }
            Some(Found::new(range, time, 0.9))
        })
        .collect()
}
