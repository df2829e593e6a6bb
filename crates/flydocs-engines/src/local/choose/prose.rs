//! What contracts say in sentences: when, between whom, how long, under whose law.

use std::{ops::Range, sync::LazyLock};

use flydocs_contract::FieldValue;
use regex::Regex;

use super::{
    Reader,
    candidate::{Candidate, Evidence, Place},
};
use crate::local::{
    label::Query,
    layout::{Document, Span},
    recognise::{dates, spoken_number},
};

/// The text of the document as one string, for expressions that run over line ends.
#[derive(Debug, Default)]
pub(crate) struct Prose {
    text: String,
    starts: Vec<(usize, usize)>,
}

impl Prose {
    /// Joins all rows; a blank between words, also at the end of a line.
    pub(crate) fn new(document: &Document) -> Self {
        let mut prose = Self::default();
        for (at, token) in document.tokens.iter().enumerate() {
            if !prose.text.is_empty() {
                prose.text.push(' ');
            }
            prose.starts.push((prose.text.len(), at));
            prose.text.push_str(&token.text);
        }
        prose
    }

    /// The spans behind some bytes, one a row.
    fn spans(&self, document: &Document, range: &Range<usize>) -> Vec<Span> {
        let from = self
            .starts
            .partition_point(|(s, _)| *s <= range.start)
            .saturating_sub(1);
        let mut spans: Vec<Span> = Vec::new();
        for (start, at) in self
            .starts
            .iter()
            .skip(from)
            .take_while(|(s, _)| *s < range.end)
        {
            let length = document.tokens[*at].text.len();
            let head = range.start.saturating_sub(*start).min(length);
            let tail = (range.end - start).min(length);
            if head >= tail {
                continue;
            }
            match spans.last_mut() {
                Some(span) if document.tokens[span.last].row == document.tokens[*at].row => {
                    span.last = *at;
                    span.tail = tail;
                }
                _ => spans.push(Span {
                    first: *at,
                    last: *at,
                    head,
                    tail,
                }),
            }
        }
        spans
    }

    /// Whether the document is running text rather than a form.
    pub(crate) fn is_prose(&self) -> bool {
        self.starts.len() > 250
    }
}

fn pattern(text: &str) -> Regex {
    Regex::new(text).unwrap_or_else(|error| {
        tracing::error!(%error, "an expression for sentences does not compile");
        #[expect(clippy::expect_used, reason = "a literal that is known to compile")]
        Regex::new("[^\\s\\S]").expect("a class without characters")
    })
}

static LAW: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?i:laws?|internal laws|substantive laws) (?:and (?:the )?courts )?(?i:of|in effect in|prevailing in) (?i:the )?(?:(?i:state|commonwealth|province|republic|country|kingdom|district) (?i:of) )?((?:the )?\p{Lu}[\p{L}.]+(?: (?:and |of )?\p{Lu}\p{L}+){0,3})",
    )
});
static NAMED_LAW: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?:governed by|accordance with|under)(?: and construed (?:in accordance with|under))?(?: the)? (\p{Lu}\p{L}+(?: \p{Lu}\p{L}+){0,2}) laws?\b",
    )
});
static LENGTH: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?i)\b(?:(\p{L}+(?:-\p{L}+)?) ?\( ?(\d{1,3}) ?\)|(\d{1,3})|(\p{L}+(?:-\p{L}+)?))[ -](?:full |calendar |consecutive )?(years?|months?|days?|weeks?)\b",
    )
});
static BETWEEN: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?i:by and between|by and among|between|by and amongst|among)[: ]+(?:(?i:the following parties|the parties)[: ]*)?",
    )
});

/// Candidates that sentences give for a text or date field of a contract.
pub(crate) fn sentences(reader: &Reader<'_>, query: &Query, found: &mut Vec<Candidate>) {
    if !reader.prose.is_prose() || query.quoted {
        return;
    }
    let has = |words: &[&str]| words.iter().any(|w| query.words.iter().any(|q| q == w));
    if query.concept_name() == "effective_date" {
        effective_date(reader, found);
    } else if has(&["jurisdiction", "law", "governing", "governs"]) {
        jurisdiction(reader, found);
    } else if has(&["term", "duration", "length", "period"]) {
        term(reader, found);
    }
}

fn candidate(
    reader: &Reader<'_>,
    range: &Range<usize>,
    value: FieldValue,
    score: f64,
) -> Option<Candidate> {
    let spans = reader.prose.spans(reader.document, range);
    Candidate::new(
        reader.document,
        spans,
        value,
        score,
        Evidence::unlabelled(Place::Sentence, 0.8),
    )
}

fn effective_date(reader: &Reader<'_>, found: &mut Vec<Candidate>) {
    let text = &reader.prose.text;
    for (nth, date) in dates(text).into_iter().enumerate().take(40) {
        let Some(value) = date.value.read(reader.order) else {
            continue;
        };
        let lead = lower_before(text, date.range.start, 90);
        let tail = lower_after(text, date.range.end, 60);
        let mut score: f64 = 0.3 - 0.01 * nth as f64;
        if date.range.start < text.len() / 8
            && (lead.contains("made")
                || lead.contains("dated")
                || lead.contains("as of")
                || lead.contains("entered"))
        {
            score += 0.2;
        }
        if lead.trim_end().ends_with("as of")
            || lead.trim_end().ends_with("dated")
            || lead.contains("effective")
            || lead.contains("entered into")
            || lead.contains("made")
        {
            score += 0.35;
        }
        if tail.contains("effective date") {
            score += 0.25;
        }
        if lead.contains("amended")
            || lead.contains("act of")
            || lead.contains("filed")
            || lead.contains("expire")
        {
            score -= 0.3;
        }
        if date.range.start > text.len() / 3 {
            score *= 0.7;
        }
        let iso = FieldValue::String(value.format("%Y-%m-%d").to_string());
        found.extend(candidate(reader, &date.range, iso, score.clamp(0.0, 0.95)));
    }
}

fn jurisdiction(reader: &Reader<'_>, found: &mut Vec<Candidate>) {
    let text = &reader.prose.text;
    for c in LAW.captures_iter(text).chain(NAMED_LAW.captures_iter(text)) {
        let (Some(all), Some(name)) = (c.get(0), c.get(1)) else {
            continue;
        };
        let lead = lower_before(text, all.start(), 140);
        let mut score: f64 = 0.45;
        if lead.contains("govern") || lead.contains("construed") || lead.contains("accordance") {
            score += 0.4;
        }
        if lead.contains("organized")
            || lead.contains("existing under")
            || lead.contains("incorporated")
        {
            score -= 0.25;
        }
        let mut range = name.range();
        for tail in [" without", " applicable", " and the", " Each", " Any"] {
            if let Some(at) = text.get(range.clone()).and_then(|t| t.find(tail)) {
                range.end = range.start + at;
            }
        }
        for lead in ["the ", "State of ", "Commonwealth of "] {
            if text.get(range.clone()).is_some_and(|t| t.starts_with(lead)) {
                range.start += lead.len();
            }
        }
        while text
            .get(range.clone())
            .is_some_and(|t| t.ends_with(['.', ',', ';']))
        {
            range.end -= 1;
        }
        let Some(value) = text.get(range.clone()) else {
            continue;
        };
        found.extend(candidate(
            reader,
            &range,
            FieldValue::String(value.to_owned()),
            score,
        ));
    }
}

fn term(reader: &Reader<'_>, found: &mut Vec<Candidate>) {
    let text = &reader.prose.text;
    for c in LENGTH.captures_iter(text) {
        let Some(all) = c.get(0) else { continue };
        let count = c
            .get(2)
            .or(c.get(3))
            .and_then(|m| m.as_str().parse::<u32>().ok())
            .or_else(|| c.get(4).and_then(|m| spoken_number(m.as_str())));
        let Some(count) = count.filter(|n| *n > 0) else {
            continue;
        };
        let unit = c[5].to_lowercase();
        let unit = unit.trim_end_matches('s');
        let lead = lower_before(text, all.start(), 220);
        let tail = lower_after(text, all.end(), 140);
        let mut score: f64 = 0.2;
        let near = lower_before(text, all.start(), 40);
        for (word, weight) in [
            ("term", 0.15),
            ("terminate", 0.15),
            ("expire", 0.2),
            ("remain in effect", 0.2),
            ("in force", 0.15),
            ("obligations", 0.1),
            ("confidential", 0.08),
            ("shall continue", 0.12),
            ("survive", 0.05),
        ] {
            if lead.contains(word) || tail.contains(word) {
                score += weight;
            }
        }
        if near.contains("period of") || near.contains("term of") || near.contains("for a") {
            score += 0.08;
        }
        if tail.contains("from the date")
            || tail.contains("following the date")
            || tail.contains("after the date")
            || tail.contains("anniversary")
            || tail.contains("effective date")
        {
            score += 0.15;
        }
        for word in [
            "solicit",
            "hire",
            "employ",
            "notice",
            "standstill",
            "prior to",
            "within",
            "acquire",
        ] {
            if lower_before(text, all.start(), 160).contains(word)
                || lower_after(text, all.end(), 60).contains(word)
            {
                score -= 0.12;
            }
        }
        if unit == "day" || unit == "week" {
            score -= 0.25;
        }
        let value = format!("{count} {unit}{}", if count == 1 { "" } else { "s" });
        found.extend(candidate(
            reader,
            &all.range(),
            FieldValue::String(value),
            score.clamp(0.0, 0.9),
        ));
    }
}

/// The parties of a contract, in order.
pub(crate) fn contract_parties(reader: &Reader<'_>) -> Vec<Candidate> {
    let text = &reader.prose.text;
    let mut parties: Vec<Candidate> = Vec::new();
    if !reader.prose.is_prose() {
        return parties;
    }
    for m in BETWEEN.find_iter(text).take(12) {
        if m.start() > text.len() / 3 {
            break;
        }
        let Some(tail) = text.get(m.end()..) else {
            continue;
        };
        let window: String = tail.chars().take(700).collect();
        let names = names_of(&window);
        if names.len() >= 2 {
            for range in names {
                let range = range.start + m.end()..range.end + m.end();
                let Some(value) = text.get(range.clone()) else {
                    continue;
                };
                let value = FieldValue::String(value.to_owned());
                parties.extend(candidate(reader, &range, value, 0.7));
            }
            return parties;
        }
    }
    parties
}

static NAME: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"\p{Lu}[\p{L}\d&.'’-]*(?:,? (?:\p{Lu}[\p{L}\d&.'’-]*|&|of|and(?: \p{Lu})|de|du|von))*(?:,? (?:Inc|LLC|L\.L\.C|Ltd|Corp|Co|LP|L\.P|N\.A|PLC|plc|S\.A|GmbH|AG|B\.V|N\.V)\b\.?)?",
    )
});

/// The names of a passage that begins after "between": each up to its description.
fn names_of(window: &str) -> Vec<Range<usize>> {
    let mut names: Vec<Range<usize>> = Vec::new();
    let mut at = 0;
    while names.len() < 4 {
        let Some(m) = NAME.find_at(window, at) else {
            break;
        };
        at = m.end().max(at + 1);
        let mut range = m.range();
        let lead: String = window
            .get(..range.start)
            .unwrap_or_default()
            .chars()
            .rev()
            .take(6)
            .collect::<String>()
            .chars()
            .rev()
            .collect();
        let first = names.is_empty();
        let joined = lead.trim_end().ends_with("and")
            || lead.trim_end().ends_with(';')
            || lead.trim_end().ends_with('&');
        let skip = if first { range.start > 40 } else { !joined };
        if skip {
            if first {
                break;
            }
            continue;
        }
        while window
            .get(range.clone())
            .is_some_and(|t| t.ends_with([',', ';', ' ']))
        {
            range.end -= 1;
        }
        let name = window.get(range.clone()).unwrap_or_default();
        if name.split(' ').count() <= 9 && name.chars().count() > 2 {
            names.push(range);
        }
    }
    names
}

/// The two parties as candidates of fields that name one of them.
pub(crate) fn party_sentences(reader: &Reader<'_>, query: &Query, found: &mut Vec<Candidate>) {
    let has = |word: &str| query.words.iter().any(|w| w == word);
    if !has("party") && !has("parties") && !has("disclosing") && !has("receiving") {
        return;
    }
    for (nth, mut party) in contract_parties(reader).into_iter().enumerate() {
        let second = has("second") || has("receiving") || has("2") || has("b");
        party.score = if second == (nth == 1) { 0.6 } else { 0.35 };
        found.push(party);
    }
}

fn lower_before(text: &str, at: usize, bytes: usize) -> String {
    let mut from = at.saturating_sub(bytes);
    while !text.is_char_boundary(from) {
        from += 1;
    }
    text.get(from..at).unwrap_or_default().to_lowercase()
}

fn lower_after(text: &str, at: usize, bytes: usize) -> String {
    let mut to = (at + bytes).min(text.len());
    while !text.is_char_boundary(to) {
        to -= 1;
    }
    text.get(at..to).unwrap_or_default().to_lowercase()
}
