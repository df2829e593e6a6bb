//! Check boxes: signs that mean ticked or empty.

use crate::local::layout::{Document, Token};

/// The state of a box.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tick {
    /// Marked.
    On,
    /// Empty.
    Off,
}

/// What a word says as the content of a box. A text layer writes the ticks of symbol fonts as digits.
pub(crate) fn tick_of(token: &Token, symbols: bool) -> Option<Tick> {
    match token
        .text
        .trim_matches(|c: char| matches!(c, '(' | ')' | '[' | ']' | '{' | '}' | '|'))
    {
        "☑" | "☒" | "✓" | "✔" | "✗" | "✘" | "✕" | "✖" | "■" | "▣" | "◉" | "●" | "\u{f0fe}"
        | "\u{f0fc}" | "\u{f052}" => Some(Tick::On),
        "x" | "X" | "×" | "XX" | "√" | "v" | "V" => Some(Tick::On),
        "☐" | "□" | "◻" | "▢" | "○" | "❏" | "❑" | "\u{f0a8}" | "\u{f06f}" => {
            Some(Tick::Off)
        }
        "" if !token.text.is_empty() && token.text.len() <= 3 => Some(Tick::Off),
        "4" | "3" | "8" if symbols && token.text.len() == 1 => Some(Tick::On),
        _ => None,
    }
}

/// Every sign of a box, by token.
pub(crate) fn ticks(document: &Document) -> Vec<(usize, Tick)> {
    document
        .tokens
        .iter()
        .enumerate()
        .filter_map(|(at, token)| tick_of(token, false).map(|tick| (at, tick)))
        .collect()
}
