//! Check boxes: signs that mean ticked or empty.

use crate::local::layout::Token;

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
    if token.text.len() > 3 && token.text.is_ascii() {
        return None;
    }
    match token
        .text
        .trim_matches(|c: char| matches!(c, '(' | ')' | '[' | ']' | '{' | '}' | '|'))
    {
        "☑" | "☒" | "✓" | "✔" | "✗" | "✘" | "✕" | "✖" | "■" | "▣" | "◉" | "●" | "\u{f0fe}"
        | "\u{f0fc}" | "\u{f052}" | "x" | "X" | "×" | "XX" | "√" | "v" | "V" => Some(Tick::On),
        // Brackets with nothing between are an empty box.
        "" | "☐" | "□" | "◻" | "▢" | "○" | "❏" | "❑" | "\u{f0a8}" | "\u{f06f}" => {
            Some(Tick::Off)
        }
        "4" | "3" | "8" if symbols && token.text.len() == 1 => Some(Tick::On),
        _ => None,
    }
}
