//! A row as text for the recognisers: a space between words, a tab between runs, and the way back.

use std::ops::Range;

use crate::local::layout::{Document, Span};

/// Some tokens as one text.
#[derive(Debug, Clone)]
pub(crate) struct LineText {
    /// The text.
    pub text: String,
    /// For each token: its first byte in the text, its index.
    starts: Vec<(usize, usize)>,
}

impl LineText {
    /// The text of some tokens of one row.
    pub(crate) fn new(document: &Document, tokens: Range<usize>) -> Self {
        let mut text = String::new();
        let mut starts = Vec::with_capacity(tokens.len());
        let mut run = None;
        for at in tokens {
            let token = &document.tokens[at];
            if let Some(previous) = run {
                text.push(if previous == token.run { ' ' } else { '\t' });
            }
            run = Some(token.run);
            starts.push((text.len(), at));
            text.push_str(&token.text);
        }
        Self { text, starts }
    }

    /// The span behind some bytes of the text, without white space at its ends.
    pub(crate) fn span(&self, document: &Document, range: Range<usize>) -> Option<Span> {
        let part = self.text.get(range.clone())?;
        let start = range.start + (part.len() - part.trim_start().len());
        let end = start + part.trim().len();
        if start >= end {
            return None;
        }
        let (head_at, first) = self.token_at(start)?;
        let (tail_at, last) = self.token_at(end - 1)?;
        let length = document.tokens.get(last)?.text.len();
        Some(Span {
            first,
            last,
            head: start - head_at,
            tail: (end - tail_at).min(length),
        })
    }

    /// The first token.
    pub(crate) fn first(&self) -> Option<usize> {
        self.starts.first().map(|(_, token)| *token)
    }

    fn token_at(&self, byte: usize) -> Option<(usize, usize)> {
        let after = self.starts.partition_point(|(start, _)| *start <= byte);
        self.starts.get(after.checked_sub(1)?).copied()
    }
}
