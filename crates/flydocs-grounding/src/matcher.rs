//! One value on one page: every place where it stands best.
//!
//! Literal places and equal written forms are found by substring search; only when none is there do windows of the
//! page compete by similarity, most of them struck out by their characters before a single comparison.

use flydocs_contract::{BoxSource, Field, FieldValue, PageWords, Rect};

use crate::{
    forms::{dates::Order, numbers::Found},
    index::{PageIndex, Span, Text},
    label::Labels,
    normalise::digits,
    quality::four_decimals,
    target::{Kind, Target},
    windows::Best,
};

/// A value found among the words of a page.
#[derive(Debug, Clone, PartialEq)]
pub struct Hit {
    /// The page, from 1.
    pub page: u32,
    /// The union of the boxes of its words, cut to the page.
    pub rect: Rect,
    /// How well the words match, 0 to 1, four decimals.
    pub score: f64,
    /// Where the words of the page come from.
    pub source: BoxSource,
    /// Its first and last word in `PageWords::words`.
    pub words: std::ops::RangeInclusive<usize>,
}

/// A page made ready to match many values.
#[derive(Debug)]
pub struct Matcher<'a> {
    index: PageIndex<'a>,
    threshold: f64,
}

impl<'a> Matcher<'a> {
    /// Reads the page once.
    pub fn new(page: &'a PageWords, threshold: f64) -> Self {
        Self {
            index: PageIndex::new(page),
            threshold,
        }
    }

    /// Where the value stands best; the field's name and description choose among equal places.
    pub fn find(&self, value: &FieldValue, field: Option<&Field>) -> Option<Hit> {
        let target = Target::new(value, Order::Unknown)?;
        let places = places(&self.index, &target, self.threshold)?;
        let labels = Labels::of(field, "");
        let chosen = crate::label::nearest(&self.index, &places.spans, &labels)?;
        places.hit(&self.index, chosen)
    }
}

/// The best places of a value on a page, all of the same score and rank, in reading order.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Places {
    pub(crate) score: f64,
    pub(crate) spans: Vec<Span>,
}

impl Places {
    fn literal(spans: Vec<Span>) -> Option<Self> {
        (!spans.is_empty()).then_some(Self { score: 1.0, spans })
    }

    /// The hit at one of the places; `None` when its words have no area on the page.
    pub(crate) fn hit(&self, index: &PageIndex<'_>, span: Span) -> Option<Hit> {
        Some(Hit {
            page: index.page.page,
            rect: rect_of(index.page, span)?,
            score: four_decimals(self.score),
            source: index.page.source.into(),
            words: span.first..=span.last,
        })
    }
}

/// The union of the words' boxes, cut to the page.
pub(crate) fn rect_of(page: &PageWords, span: Span) -> Option<Rect> {
    let words = page.words.get(span.first..=span.last)?;
    Rect::around(words.iter().map(|word| &word.rect))?.clipped()
}

/// Finds the best places; `floor` is the least score worth reporting.
pub(crate) fn places(index: &PageIndex<'_>, target: &Target, floor: f64) -> Option<Places> {
    let mut found = if target.is_unspaced() {
        by_characters(index, target, floor)
    } else {
        exact(index, target).or_else(|| fuzzy(index, target, floor))
    }?;
    found
        .spans
        .retain(|span| rect_of(index.page, *span).is_some());
    (found.score >= floor && !found.spans.is_empty()).then_some(found)
}

/// Places that say just this value, by falling faithfulness: as written, in another written form, with other
/// punctuation, glued to a label.
fn exact(index: &PageIndex<'_>, target: &Target) -> Option<Places> {
    if target.trimmed.is_empty() {
        return Places::literal(index.literal().find(&target.literal));
    }
    match &target.kind {
        Kind::Text => Places::literal(index.trimmed().find(&target.trimmed))
            .or_else(|| Places::literal(index.plain().find(&target.plain)))
            .or_else(|| Places::literal(index.trimmed_pieces()?.find(&target.trimmed)))
            .or_else(|| Places::literal(index.plain_pieces()?.find(&target.plain))),
        Kind::Number(number) => {
            let found = index.numbers().of_number(number);
            let ranks: [fn(&Found) -> bool; 4] = [
                |found| !found.glued && !found.partial && !found.other_sign,
                |found| !found.partial && !found.other_sign,
                |found| !found.other_sign,
                |_| true,
            ];
            ranks.into_iter().find_map(|rank| {
                let spans = found.iter().filter(|found| rank(found));
                Places::literal(shortest(spans.map(|found| found.span)))
            })
        }
        Kind::Digits(wanted) => {
            Places::literal(tight(index, index.trimmed().find(&target.trimmed)))
                .or_else(|| Places::literal(tight(index, index.plain().find(&target.plain))))
                .or_else(|| {
                    let found = index.numbers().of_digits(wanted);
                    let bare = found.iter().filter(|found| !found.glued);
                    Places::literal(shortest(bare.map(|found| found.span)))
                        .or_else(|| Places::literal(shortest(found.iter().map(|found| found.span))))
                })
                .or_else(|| Places::literal(index.trimmed_pieces()?.find(&target.trimmed)))
        }
        Kind::Date(_, forms) => {
            let likely = |unlikely: bool, text: &Text| {
                let mut spans: Vec<Span> = forms
                    .iter()
                    .filter(|form| form.unlikely == unlikely)
                    .flat_map(|form| text.find(&form.text))
                    .filter(|span| index.is_tight(*span))
                    .collect();
                spans.sort_unstable();
                spans.dedup();
                Places::literal(spans)
            };
            Places::literal(tight(index, index.trimmed().find(&target.trimmed)))
                .map(|places| with_more(places, likely(false, index.plain())))
                .or_else(|| likely(false, index.plain()))
                .or_else(|| likely(false, index.plain_pieces()?))
                .or_else(|| east_asian(index, forms))
                .or_else(|| likely(true, index.plain()))
                .or_else(|| likely(true, index.plain_pieces()?))
        }
    }
}

/// A date is as good in one written form as in another.
fn with_more(mut places: Places, more: Option<Places>) -> Places {
    places
        .spans
        .extend(more.into_iter().flat_map(|more| more.spans));
    places.spans.sort_unstable();
    places.spans.dedup();
    places
}

/// Dates of scripts without spaces stand anywhere between other characters.
fn east_asian(index: &PageIndex<'_>, forms: &[crate::forms::dates::Form]) -> Option<Places> {
    let unspaced = forms
        .iter()
        .filter(|form| crate::normalise::is_unspaced_text(&form.text));
    let mut spans: Vec<Span> = unspaced
        .flat_map(|form| whole_characters(index.characters(), &form.text))
        .collect();
    spans.sort_unstable();
    spans.dedup();
    Places::literal(spans)
}

/// Keeps digits that stand together: two columns of a table are not one number.
fn tight(index: &PageIndex<'_>, mut spans: Vec<Span>) -> Vec<Span> {
    spans.retain(|span| index.is_tight(*span));
    spans
}

/// Of overlapping places the shortest: marks around a number are not part of it.
fn shortest(spans: impl Iterator<Item = Span>) -> Vec<Span> {
    let mut kept: Vec<Span> = Vec::new();
    for span in spans {
        match kept.last_mut() {
            Some(last) if last.overlaps(span) => {
                if span.last - span.first < last.last - last.first {
                    *last = span;
                }
            }
            _ => kept.push(span),
        }
    }
    kept
}

/// The characters of a text without spaces, found anywhere but in the middle of a longer number.
fn whole_characters(text: &Text, needle: &str) -> Vec<Span> {
    text.find_where(needle, |before, after| {
        let cuts = |inside: Option<char>, outside: Option<char>| {
            inside.is_some_and(|c| c.is_ascii_digit())
                && outside.is_some_and(|c| c.is_ascii_digit())
        };
        !cuts(needle.chars().next(), before) && !cuts(needle.chars().next_back(), after)
    })
}

/// Scripts without spaces: windows of characters.
fn by_characters(index: &PageIndex<'_>, target: &Target, floor: f64) -> Option<Places> {
    let needle: String = target.literal.split(' ').collect();
    let text = index.characters();
    Places::literal(whole_characters(text, &needle)).or_else(|| {
        let mut best = Best::new(floor);
        best.search(text, &needle, usize::MAX, |_| true);
        places_of(best)
    })
}

/// Windows of words by similarity.
fn fuzzy(index: &PageIndex<'_>, target: &Target, floor: f64) -> Option<Places> {
    let mut best = Best::new(floor);
    let agrees = |window: &str| match target.kind {
        Kind::Text => true,
        // What has no letters was read as a number already, and says another one.
        Kind::Number(_) => {
            window.chars().any(char::is_alphabetic) && has_same_digits(&target.literal, window)
        }
        Kind::Digits(_) | Kind::Date(..) => has_same_digits(&target.literal, window),
    };
    // Without marks of its own a value is never nearer to the words with their marks than to those without.
    if target.literal != target.plain {
        let most = most_words(&target.literal);
        best.search(index.literal(), &target.literal, most, agrees);
    }
    best.search(
        index.plain(),
        &target.plain,
        most_words(&target.plain),
        agrees,
    );
    if let Kind::Date(date, forms) = &target.kind {
        for form in forms.iter().filter(|form| form.fuzzy) {
            best.search(
                index.plain(),
                &form.text,
                most_words(&form.text),
                |window| {
                    has_same_digits(&form.text, window)
                        && !window.split(' ').any(|word| date.is_other_month(word))
                },
            );
        }
    }
    places_of(best)
}

fn places_of(best: Best) -> Option<Places> {
    let (score, spans) = best.settle()?;
    Some(Places { score, spans })
}

/// The longest window worth comparing with a target, in words.
fn most_words(target: &str) -> usize {
    let words = target.split(' ').count();
    (3 * words).max(words + 2)
}

/// Two numbers that differ in a digit are two numbers. A digit that was recognised as a letter may be missing.
fn has_same_digits(target: &str, window: &str) -> bool {
    let (wanted, printed) = (digits(target), digits(window));
    if window.chars().any(char::is_alphabetic) {
        let mut rest = wanted.chars();
        !printed.is_empty() && printed.chars().all(|digit| rest.any(|c| c == digit))
    } else {
        wanted == printed
    }
}
