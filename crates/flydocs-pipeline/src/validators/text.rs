//! Validators of the forms of texts: mail and web addresses, names in URLs, UUIDs, JSON, colours.

use flydocs_contract::FieldValue;

use super::{Subject, Verdict};

pub(super) fn email(subject: Subject<'_>) -> Verdict {
    is_email(subject.text()?)
        .then_some(())
        .ok_or("not a mail address")
}

/// Local part, @, domain with a dot and a top level of at least two letters.
pub(crate) fn is_email(text: &str) -> bool {
    let Some((local, domain)) = text.rsplit_once('@') else {
        return false;
    };
    let is_local = |c: char| c.is_alphanumeric() || "!#$%&'*+-/=?^_`{|}~.".contains(c);
    let local_fits = !local.is_empty()
        && local.len() <= 64
        && local.chars().all(is_local)
        && !local.starts_with('.')
        && !local.ends_with('.')
        && !local.contains("..");
    let top = domain.rsplit_once('.').map(|(_, top)| top);
    let top_fits = top.is_some_and(|top| {
        top.chars().count() >= 2
            && (top.chars().all(char::is_alphabetic) || top.starts_with("xn--"))
    });
    local_fits && top_fits && is_domain(domain)
}

pub(super) fn uri(subject: Subject<'_>) -> Verdict {
    is_uri(subject.text()?)
        .then_some(())
        .ok_or("not a URI with scheme and host")
}

/// A scheme and a host, and nothing a URI must not hold.
pub(crate) fn is_uri(text: &str) -> bool {
    // The URL parser mends what it can; a value is held to what it says.
    let is_printed = !text.chars().any(|c| c.is_whitespace() || c.is_control());
    let authority = text.split_once("://").map(|(_, rest)| rest);
    let has_authority = authority.is_some_and(|a| !a.is_empty() && !a.starts_with(['/', '?', '#']));
    is_printed && has_authority && url::Url::parse(text).is_ok_and(|url| url.has_host())
}

pub(super) fn domain(subject: Subject<'_>) -> Verdict {
    is_domain(subject.text()?)
        .then_some(())
        .ok_or("not a domain name")
}

fn is_domain(text: &str) -> bool {
    let is_label = |label: &str| {
        (1..=63).contains(&label.chars().count())
            && label.chars().all(|c| c.is_alphanumeric() || c == '-')
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    text.len() <= 253 && text.contains('.') && text.split('.').all(is_label)
}

pub(super) fn slug(subject: Subject<'_>) -> Verdict {
    let is_group = |group: &str| {
        !group.is_empty()
            && group
                .bytes()
                .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
    };
    let fits = subject.text()?.split('-').all(is_group);
    fits.then_some(())
        .ok_or("not a slug (lower-case letters and digits joined by single hyphens)")
}

pub(super) fn uuid(subject: Subject<'_>) -> Verdict {
    is_uuid(subject.text()?).then_some(()).ok_or("not a UUID")
}

/// 32 hex digits, plain or in groups of 8-4-4-4-12, bare, in braces or as a URN.
pub(crate) fn is_uuid(text: &str) -> bool {
    let text = text.strip_prefix("urn:uuid:").unwrap_or(text);
    let text = text
        .strip_prefix('{')
        .and_then(|t| t.strip_suffix('}'))
        .unwrap_or(text);
    let groups: Vec<_> = text.split('-').collect();
    let lengths: Vec<_> = groups.iter().map(|g| g.len()).collect();
    let is_hex = groups
        .iter()
        .all(|g| g.bytes().all(|b| b.is_ascii_hexdigit()));
    is_hex && (lengths == [32] || lengths == [8, 4, 4, 4, 12])
}

pub(super) fn json(subject: Subject<'_>) -> Verdict {
    match subject.value {
        FieldValue::Fields(_) => Ok(()),
        FieldValue::String(text) => {
            let parsed = serde_json::from_str::<serde::de::IgnoredAny>(text);
            parsed.map(|_| ()).map_err(|_| "not JSON")
        }
        FieldValue::Boolean(_) | FieldValue::Integer(_) | FieldValue::Number(_) => {
            Err("not JSON in a text, nor an object or list")
        }
    }
}

pub(super) fn hex_color(subject: Subject<'_>) -> Verdict {
    let text = subject.text()?;
    let digits = text.strip_prefix('#').unwrap_or(text);
    let fits = matches!(digits.len(), 3 | 6 | 8) && digits.bytes().all(|b| b.is_ascii_hexdigit());
    fits.then_some(())
        .ok_or("not a colour of 3, 6 or 8 hex digits")
}
