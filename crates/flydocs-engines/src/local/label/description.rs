//! The labels a field's description speaks of: quoted, in its clauses, as a whole.

use crate::local::text::phrase_pieces;

const STOP: &[&str] = &[
    "the", "a", "an", "of", "for", "to", "in", "on", "is", "as", "at", "by", "with", "or", "and",
    "this", "that", "its", "was", "be", "from", "any", "value", "field", "printed", "checked",
    "box", "form", "document", "per", "if", "shall", "such", "whose", "which", "example",
];

/// What the description puts between quotation marks, unless it is given as an example.
pub(super) fn quotations(description: &str) -> Vec<String> {
    let mut quotes = Vec::new();
    let mut open: Option<usize> = None;
    for (at, c) in description.char_indices() {
        if !matches!(c, '"' | '“' | '”' | '„') {
            continue;
        }
        match open.take() {
            None => open = Some(at + c.len_utf8()),
            Some(start) => {
                let lead = description.get(..start).unwrap_or_default().to_lowercase();
                let label = [
                    "label", "labelled", "labeled", "marked", "headed", "titled", "heading",
                    "caption",
                ];
                let last: Vec<&str> = lead
                    .split(|c: char| !c.is_alphanumeric())
                    .filter(|w| !w.is_empty())
                    .collect();
                if last.iter().rev().take(3).any(|w| label.contains(w))
                    && let Some(quote) = description.get(start..at)
                {
                    quotes.push(quote.to_owned());
                }
            }
        }
    }
    quotes
}

/// The parts of a description that can be labels: cut at punctuation, without stop words at their ends.
pub(super) fn clauses(description: &str) -> Vec<Vec<String>> {
    let plain: String = description.split('(').next().unwrap_or_default().to_owned();
    plain
        .split([',', '.', ';', ':', '!', '?', '/'])
        .map(|clause| {
            let mut words = phrase_pieces(clause);
            while words.first().is_some_and(|w| STOP.contains(&w.as_str())) {
                words.remove(0);
            }
            while words.last().is_some_and(|w| STOP.contains(&w.as_str())) {
                words.pop();
            }
            words
        })
        .filter(|words| (1..=7).contains(&words.len()) && words.iter().any(|w| w.len() > 2))
        .collect()
}

/// What may be a label as it stands, marks and all: a short description, and what it has in brackets ("N° BL").
pub(super) fn wholes(description: &str) -> Vec<Vec<String>> {
    let (outside, rest) = description.split_once('(').unwrap_or((description, ""));
    let inside = rest.split(')').next().unwrap_or_default();
    [(outside, 6), (inside, 4)]
        .into_iter()
        .map(|(text, most)| (phrase_pieces(text), most))
        .filter(|(words, most)| (2..=*most).contains(&words.len()))
        .map(|(words, _)| words)
        .collect()
}
