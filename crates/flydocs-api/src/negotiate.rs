//! Content negotiation: 406 when the caller accepts nothing of what a route can answer.

use axum::http::{HeaderMap, header};
use flydocs_contract::ErrorCode;

use crate::problem::Refusal;

/// Checks that the caller takes one of these types; no `Accept` takes everything.
pub(crate) fn accepts(headers: &HeaderMap, offered: &[&str]) -> Result<(), Refusal> {
    let mut asked = headers.get_all(header::ACCEPT).iter().peekable();
    if asked.peek().is_none() {
        return Ok(());
    }
    let mut empty = true;
    for value in asked {
        let Ok(text) = value.to_str() else { continue };
        for range in text.split(',').map(str::trim).filter(|r| !r.is_empty()) {
            empty = false;
            let mut parts = range.split(';').map(str::trim);
            let kind = parts.next().unwrap_or_default();
            let refused = parts.any(|p| {
                p.strip_prefix("q=")
                    .is_some_and(|q| q.parse::<f32>().is_ok_and(|q| q <= 0.0))
            });
            if !refused && offered.iter().any(|o| covers(kind, o)) {
                return Ok(());
            }
        }
    }
    if empty {
        return Ok(());
    }
    Err(Refusal::new(
        ErrorCode::NotAcceptable,
        format!("this route answers {}", offered.join(" or ")),
    )
    .with(
        "available",
        offered.iter().map(|&o| o.to_owned()).collect::<Vec<_>>(),
    ))
}

fn covers(range: &str, offered: &str) -> bool {
    if range == "*/*" || range.eq_ignore_ascii_case(offered) {
        return true;
    }
    range.strip_suffix("/*").is_some_and(|family| {
        offered
            .split_once('/')
            .is_some_and(|(mine, _)| mine.eq_ignore_ascii_case(family))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_caller_that_takes_none_is_refused() {
        let json = &["application/json", "application/problem+json"];
        for (accept, fits) in [
            ("*/*", true),
            ("application/*;q=0.5", true),
            ("text/html, application/json", true),
            ("APPLICATION/JSON", true),
            ("application/problem+json", true),
            ("", true),
            ("text/html", false),
            ("application/json;q=0", false),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(header::ACCEPT, accept.parse().unwrap());
            assert_eq!(accepts(&headers, json).is_ok(), fits, "{accept}");
        }
        assert!(accepts(&HeaderMap::new(), json).is_ok());
    }
}
