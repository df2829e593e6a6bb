//! A page made ready for matching: its words in the forms the variants are compared in, each built once on demand.
//!
//! A [`Text`] is the words of a page joined by single spaces (or by nothing) with the way back from a place in
//! the string to the word it came from.

use std::{collections::HashMap, sync::OnceLock};

use flydocs_contract::PageWords;

use crate::{
    forms::numbers::NumberSpans,
    normalise::{is_currency_sign, is_edge, is_unspaced, normalise, without_punctuation},
};

/// A run of consecutive words: the first and the last, both inclusive, as positions in `PageWords::words`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Span {
    pub(crate) first: usize,
    pub(crate) last: usize,
}

impl Span {
    pub(crate) const fn overlaps(self, other: Self) -> bool {
        self.first <= other.last && other.first <= self.last
    }
}

/// Words in one form, joined.
#[derive(Debug, Default)]
pub(crate) struct Text {
    string: String,
    segments: Vec<Segment>,
    coded: OnceLock<Coded>,
}

/// One word (or piece of a word, or character) inside the joined string, in bytes.
#[derive(Debug, Clone, Copy)]
struct Segment {
    start: usize,
    end: usize,
    word: usize,
}

/// The joined string as numbers of an alphabet of its own, for the bit-parallel walk.
#[derive(Debug)]
pub(crate) struct Coded {
    pub(crate) ids: Vec<u32>,
    pub(crate) alphabet: Alphabet,
    /// Start and end of each segment in `ids`.
    pub(crate) segments: Vec<(usize, usize)>,
}

/// The characters of a text, numbered in the order in which they come.
#[derive(Debug)]
pub(crate) struct Alphabet {
    /// The number of each ASCII character plus one; 0 for those that are not there.
    ascii: [u32; 128],
    others: HashMap<char, u32>,
    size: u32,
}

impl Default for Alphabet {
    fn default() -> Self {
        Self {
            ascii: [0; 128],
            others: HashMap::new(),
            size: 0,
        }
    }
}

impl Alphabet {
    /// How many characters it has.
    pub(crate) const fn len(&self) -> usize {
        self.size as usize
    }

    /// The number of a character.
    pub(crate) fn get(&self, c: char) -> Option<u32> {
        match self.ascii.get(c as usize) {
            Some(number) => number.checked_sub(1),
            None => self.others.get(&c).copied(),
        }
    }

    fn enter(&mut self, c: char) -> u32 {
        let next = self.size;
        let number = match self.ascii.get_mut(c as usize) {
            Some(0) => {
                self.ascii[c as usize] = next + 1;
                next
            }
            Some(number) => return *number - 1,
            None => *self.others.entry(c).or_insert(next),
        };
        if number == next {
            self.size += 1;
        }
        number
    }
}

impl Text {
    fn joined(pieces: impl Iterator<Item = (usize, String)>, gap: &str) -> Self {
        let mut text = Self::default();
        for (word, piece) in pieces {
            if piece.is_empty() {
                continue;
            }
            if !text.string.is_empty() {
                text.string.push_str(gap);
            }
            let start = text.string.len();
            text.string.push_str(&piece);
            text.segments.push(Segment {
                start,
                end: text.string.len(),
                word,
            });
        }
        text
    }

    /// Every place where the needle stands from the start of a segment to the end of one, none overlapping.
    pub(crate) fn find(&self, needle: &str) -> Vec<Span> {
        self.find_where(needle, |_, _| true)
    }

    /// As [`Self::find`], where the characters before and after are to the taste of the caller.
    pub(crate) fn find_where(
        &self,
        needle: &str,
        accepts: impl Fn(Option<char>, Option<char>) -> bool,
    ) -> Vec<Span> {
        let mut found = Vec::new();
        let Some(step) = needle.chars().next().map(char::len_utf8) else {
            return found;
        };
        let finder = memchr::memmem::Finder::new(needle);
        let mut from = 0;
        while let Some(at) = self
            .string
            .as_bytes()
            .get(from..)
            .and_then(|rest| finder.find(rest))
        {
            let (start, end) = (from + at, from + at + needle.len());
            let before = self.string.get(..start).and_then(|s| s.chars().next_back());
            let after = self.string.get(end..).and_then(|s| s.chars().next());
            match self.whole_segments(start, end) {
                Some(span) if accepts(before, after) => {
                    found.push(span);
                    from = end;
                }
                _ => from = start + step,
            }
        }
        found
    }

    fn whole_segments(&self, start: usize, end: usize) -> Option<Span> {
        let first = self
            .segments
            .binary_search_by_key(&start, |segment| segment.start)
            .ok()?;
        let last = self
            .segments
            .binary_search_by_key(&end, |segment| segment.end)
            .ok()?;
        (first <= last).then(|| self.span(first, last))?
    }

    /// The words of the segments `first..=last`.
    pub(crate) fn span(&self, first: usize, last: usize) -> Option<Span> {
        Some(Span {
            first: self.segments.get(first)?.word,
            last: self.segments.get(last)?.word,
        })
    }

    /// The text between two segments, both inclusive.
    pub(crate) fn between(&self, first: usize, last: usize) -> &str {
        match (self.segments.get(first), self.segments.get(last)) {
            (Some(first), Some(last)) => self.string.get(first.start..last.end).unwrap_or(""),
            _ => "",
        }
    }

    /// The text as numbers.
    pub(crate) fn coded(&self) -> &Coded {
        self.coded.get_or_init(|| {
            let mut alphabet = Alphabet::default();
            let mut ids = Vec::with_capacity(self.string.len());
            let mut segments = Vec::with_capacity(self.segments.len());
            let mut starts = self.segments.iter().peekable();
            let mut open = None;
            for (byte, c) in self.string.char_indices() {
                if let Some((start, _)) = open.take_if(|(_, end)| *end == byte) {
                    segments.push((start, ids.len()));
                }
                if let Some(segment) = starts.next_if(|segment| segment.start == byte) {
                    open = Some((ids.len(), segment.end));
                }
                ids.push(alphabet.enter(c));
            }
            if let Some((start, _)) = open {
                segments.push((start, ids.len()));
            }
            Coded {
                ids,
                alphabet,
                segments,
            }
        })
    }
}

/// A page made ready for matching.
#[derive(Debug)]
pub(crate) struct PageIndex<'a> {
    pub(crate) page: &'a PageWords,
    normal: Vec<String>,
    literal: OnceLock<Text>,
    trimmed: OnceLock<Text>,
    plain: OnceLock<Text>,
    trimmed_pieces: OnceLock<Option<Text>>,
    plain_pieces: OnceLock<Option<Text>>,
    characters: OnceLock<Text>,
    numbers: OnceLock<NumberSpans>,
    vocabulary: OnceLock<HashMap<String, Vec<usize>>>,
}

impl<'a> PageIndex<'a> {
    pub(crate) fn new(page: &'a PageWords) -> Self {
        Self {
            page,
            normal: page.words.iter().map(|w| normalise(&w.text)).collect(),
            literal: OnceLock::new(),
            trimmed: OnceLock::new(),
            plain: OnceLock::new(),
            trimmed_pieces: OnceLock::new(),
            plain_pieces: OnceLock::new(),
            characters: OnceLock::new(),
            numbers: OnceLock::new(),
            vocabulary: OnceLock::new(),
        }
    }

    fn words(&self) -> impl Iterator<Item = (usize, &str)> {
        self.normal.iter().map(String::as_str).enumerate()
    }

    /// The words as they are.
    pub(crate) fn literal(&self) -> &Text {
        self.literal
            .get_or_init(|| Text::joined(self.words().map(|(at, w)| (at, w.to_owned())), " "))
    }

    /// The words without the marks around them.
    pub(crate) fn trimmed(&self) -> &Text {
        self.trimmed
            .get_or_init(|| Text::joined(self.words().map(|(at, w)| (at, trim(w).to_owned())), " "))
    }

    /// The words with spaces for punctuation.
    pub(crate) fn plain(&self) -> &Text {
        self.plain.get_or_init(|| {
            Text::joined(
                self.words()
                    .map(|(at, w)| (at, without_punctuation(trim(w)))),
                " ",
            )
        })
    }

    /// As [`Self::trimmed`], with words cut where a label is glued to its value (`Total:12.50`); `None` when no
    /// word of the page is to be cut.
    pub(crate) fn trimmed_pieces(&self) -> Option<&Text> {
        self.trimmed_pieces
            .get_or_init(|| self.pieces(|piece| trim(piece).to_owned()))
            .as_ref()
    }

    /// As [`Self::plain`], with words cut likewise.
    pub(crate) fn plain_pieces(&self) -> Option<&Text> {
        self.plain_pieces
            .get_or_init(|| self.pieces(|piece| without_punctuation(trim(piece))))
            .as_ref()
    }

    fn pieces(&self, form: impl Fn(&str) -> String) -> Option<Text> {
        if !self.words().any(|(_, word)| pieces(trim(word)).len() > 1) {
            return None;
        }
        let pieces = self.words().flat_map(|(at, word)| {
            let pieces = pieces(word).into_iter();
            pieces.map(move |piece| (at, piece))
        });
        Some(Text::joined(
            pieces.map(|(at, piece)| (at, form(piece))),
            " ",
        ))
    }

    /// Each character alone, without spaces.
    pub(crate) fn characters(&self) -> &Text {
        self.characters.get_or_init(|| {
            Text::joined(
                self.words().flat_map(|(at, w)| {
                    w.chars()
                        .filter(|c| !c.is_whitespace())
                        .map(move |c| (at, c.to_string()))
                }),
                "",
            )
        })
    }

    /// The numbers of the page.
    pub(crate) fn numbers(&self) -> &NumberSpans {
        self.numbers
            .get_or_init(|| NumberSpans::read(self.page, &self.normal))
    }

    /// Where each plain word of the page stands.
    pub(crate) fn places(&self, plain_word: &str) -> &[usize] {
        self.vocabulary
            .get_or_init(|| {
                let mut places: HashMap<String, Vec<usize>> = HashMap::new();
                for (at, word) in self.words() {
                    for token in without_punctuation(word).split(' ') {
                        if !token.is_empty() {
                            places.entry(token.to_owned()).or_default().push(at);
                        }
                    }
                }
                places
            })
            .get(plain_word)
            .map_or(&[], Vec::as_slice)
    }

    /// True when the words of a run stand on one line with no more than a space between them.
    pub(crate) fn is_tight(&self, span: Span) -> bool {
        is_tight(self.page, span)
    }
}

/// See [`PageIndex::is_tight`].
pub(crate) fn is_tight(page: &PageWords, span: Span) -> bool {
    let Some(words) = page.words.get(span.first..=span.last) else {
        return false;
    };
    words.windows(2).all(|pair| {
        let [a, b] = pair else { return true };
        let (a, b) = (a.rect, b.rect);
        let height = a.height().max(b.height()) * page.height;
        let gap = (b.xmin - a.xmax).max(a.xmin - b.xmax) * page.width;
        let on_one_line = a.ymin < b.ymax && b.ymin < a.ymax;
        on_one_line && gap <= 1.5 * height
    })
}

/// The word without the marks around it.
pub(crate) fn trim(word: &str) -> &str {
    word.trim_matches(is_edge)
}

/// The word cut at the marks that glue a label to its value, and where the script changes.
fn pieces(word: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    let mut start = 0;
    let mut before: Option<char> = None;
    let mut chars = word.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let after = chars.peek().map(|(_, c)| *c);
        let between_digits =
            before.is_some_and(|c| c.is_ascii_digit()) && after.is_some_and(|c| c.is_ascii_digit());
        let is_cut = is_currency_sign(c)
            || matches!(
                c,
                '=' | '#' | '(' | ')' | '[' | ']' | '{' | '}' | '"' | '|' | ';' | '\u{ff1a}'
            )
            || (c == ':' && !between_digits);
        if is_cut {
            pieces.extend(word.get(start..at));
            start = at + c.len_utf8();
        } else if before.is_some_and(|b| is_unspaced(b) != is_unspaced(c)) {
            pieces.extend(word.get(start..at));
            start = at;
        }
        before = Some(c);
    }
    pieces.extend(word.get(start..));
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_cut_where_a_label_is_glued_to_it() {
        for (word, wanted) in [
            ("total:12.50", vec!["total", "12.50"]),
            ("12:30", vec!["12:30"]),
            ("no.(7)", vec!["no.", "7", ""]),
            (
                "\u{5408}\u{8a08}1000\u{5186}",
                vec!["\u{5408}\u{8a08}", "1000", "\u{5186}"],
            ),
            ("eur\u{20ac}5", vec!["eur", "5"]),
        ] {
            assert_eq!(pieces(word), wanted);
        }
    }

    #[test]
    fn a_rejected_place_hides_no_later_one() {
        let text = Text::joined(
            ["11", "1", "1"]
                .into_iter()
                .enumerate()
                .map(|(at, w)| (at, w.to_owned())),
            " ",
        );
        assert_eq!(text.find("1 1"), [Span { first: 1, last: 2 }]);
        assert_eq!(text.coded().segments, [(0, 2), (3, 4), (5, 6)]);
    }
}
