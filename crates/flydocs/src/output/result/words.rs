//! Small things as people write them: shares, places, sizes, values.

use console::measure_text_width;
use flydocs_contract::{BoundingBox, BoxSource, FieldValue};

use crate::output::rows::wrap;

pub(super) const fn rule_word(rule: flydocs_contract::result::ValidationRule) -> &'static str {
    use flydocs_contract::result::ValidationRule as Rule;
    match rule {
        Rule::Required => "required",
        Rule::Type => "type",
        Rule::Pattern => "pattern",
        Rule::Format => "format",
        Rule::Enum => "enum",
        Rule::Minimum => "minimum",
        Rule::Maximum => "maximum",
        Rule::Validator => "validator",
    }
}

/// A value as text.
pub(crate) fn shown(value: &FieldValue) -> String {
    match value {
        FieldValue::Boolean(yes) => yes.to_string(),
        FieldValue::Integer(number) => number.to_string(),
        FieldValue::Number(number) => number.to_string(),
        FieldValue::String(text) => text.clone(),
        FieldValue::Fields(members) => {
            let parts: Vec<String> = members
                .iter()
                .filter_map(|m| {
                    m.value
                        .as_ref()
                        .map(|v| format!("{}: {}", m.name, shown(v)))
                })
                .collect();
            parts.join(", ")
        }
    }
}

/// Edges in per cent of the page; "?" when only an engine said so.
pub(super) fn place(bbox: &BoundingBox) -> String {
    let p = |side: f64| format!("{:.1}", side * 100.0);
    let doubt = if bbox.source == BoxSource::Llm {
        "?"
    } else {
        ""
    };
    format!(
        "{},{}–{},{}{doubt}",
        p(bbox.xmin),
        p(bbox.ymin),
        p(bbox.xmax),
        p(bbox.ymax)
    )
}

pub(super) fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

pub(super) fn counted(n: usize, noun: &str) -> String {
    if n == 1 {
        format!("1 {noun}")
    } else {
        format!("{n} {noun}s")
    }
}

pub(super) fn page_list(pages: &[u32]) -> String {
    match pages {
        [] => "no page".to_owned(),
        [one] => format!("page {one}"),
        [first, .., last] if (last - first) as usize + 1 == pages.len() => {
            format!("pages {first}–{last}")
        }
        several => {
            let list: Vec<String> = several.iter().map(u32::to_string).collect();
            format!("pages {}", list.join(", "))
        }
    }
}

/// A size in the unit that reads best.
pub(crate) fn size(bytes: u64) -> String {
    match bytes {
        0..1_000 => format!("{bytes} B"),
        1_000..1_000_000 => format!("{:.0} kB", bytes as f64 / 1e3),
        _ => format!("{:.1} MB", bytes as f64 / 1e6),
    }
}

pub(super) fn only(wanted: bool, make: impl FnOnce() -> String) -> String {
    if wanted { make() } else { String::new() }
}

pub(super) fn wrap_indented(name: &str, width: usize, indent: usize) -> Vec<String> {
    if measure_text_width(name) <= width {
        return vec![name.to_owned()];
    }
    wrap(name.trim_start(), width.saturating_sub(indent))
        .into_iter()
        .map(|line| format!("{}{line}", " ".repeat(indent)))
        .collect()
}
