//! From glyphs to words: a glyph joins the word whose pen it continues.

use std::{borrow::Cow, collections::HashMap};

use kurbo::Rect;
use unicode_normalization::UnicodeNormalization;

use super::glyphs::{Glyph, Hidden};
use crate::script::{is_rtl, logical};

/// A wider step of the pen (in em) begins a new word.
const GAP: f64 = 0.15;

/// A word on the page, in points, before reading order.
#[derive(Debug, Clone)]
pub(super) struct Piece {
    pub(super) text: String,
    pub(super) rect: Rect,
    pub(super) heading: Heading,
    pub(super) bold: bool,
    pub(super) rtl: bool,
}

/// Which way the text runs on the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Heading {
    Right,
    Down,
    Left,
    Up,
}

impl Heading {
    pub(super) const ALL: [Self; 4] = [Self::Right, Self::Down, Self::Left, Self::Up];

    /// How far along the text a box reaches.
    fn end_of(self, rect: Rect) -> f64 {
        match self {
            Self::Right => rect.x1,
            Self::Down => rect.y1,
            Self::Left => -rect.x0,
            Self::Up => -rect.y0,
        }
    }

    fn of(glyph: &Glyph) -> Self {
        let step = glyph.end - glyph.origin;
        match (step.x.abs() >= step.y.abs(), step.x >= 0.0, step.y >= 0.0) {
            (true, true, _) => Self::Right,
            (true, false, _) => Self::Left,
            (false, _, true) => Self::Down,
            (false, _, false) => Self::Up,
        }
    }
}

/// Groups glyphs in drawing order. `keep` says which hidden glyphs count.
pub(super) fn group(glyphs: Vec<Glyph>, keep: impl Fn(Hidden) -> bool) -> Vec<Piece> {
    let mut grouper = Grouper::default();
    for glyph in glyphs {
        if keep(glyph.hidden) {
            grouper.add(glyph);
        }
    }
    grouper.finish()
}

#[derive(Default)]
struct Grouper {
    done: Vec<Piece>,
    open: Vec<Glyph>,
    /// Glyphs drawn so far, by text and place, and the word each went to.
    seen: HashMap<(u64, i64, i64), usize>,
}

impl Grouper {
    fn add(&mut self, mut glyph: Glyph) {
        let cleaned = match clean(&glyph.text) {
            Cow::Owned(text) => Some(text),
            Cow::Borrowed(_) => None,
        };
        if let Some(text) = cleaned {
            glyph.text = text;
        }
        if glyph.text.chars().all(char::is_whitespace) {
            self.close();
            return;
        }
        let key = (
            fingerprint(&glyph.text),
            (glyph.origin.x * 4.0).round() as i64,
            (glyph.origin.y * 4.0).round() as i64,
        );
        if let Some(word) = self.seen.get(&key) {
            // drawn twice in place: a poor man's bold
            if let Some(done) = self.done.get_mut(*word) {
                done.bold = true;
            } else {
                self.open.iter_mut().for_each(|glyph| glyph.bold = true);
            }
            return;
        }
        if glyph.text.contains(char::is_whitespace) {
            self.add_split(&glyph);
            return;
        }
        if let Some(last) = self.open.last_mut() {
            if let Some(composed) = compose(last, &glyph) {
                *last = composed;
                return;
            }
            if !continues(last, &glyph) {
                self.close();
            }
        }
        self.seen.insert(key, self.done.len());
        self.open.push(glyph);
    }

    /// A glyph whose text holds a space is several words: its box is shared out by characters.
    fn add_split(&mut self, glyph: &Glyph) {
        let text = glyph.text.as_str();
        let total = text.chars().count().max(1) as f64;
        let step = glyph.end - glyph.origin;
        let mut at = 0;
        for part in text.split_inclusive(char::is_whitespace) {
            let word = part.trim_end();
            let (from, to) = (
                f64::from(at) / total,
                (f64::from(at) + word.chars().count() as f64) / total,
            );
            at += part.chars().count() as i32;
            if word.is_empty() {
                self.close();
                continue;
            }
            let (origin, end) = (glyph.origin + step * from, glyph.origin + step * to);
            let mut rect = glyph.rect;
            if step.x.abs() >= step.y.abs() {
                (rect.x0, rect.x1) = (origin.x.min(end.x), origin.x.max(end.x));
            } else {
                (rect.y0, rect.y1) = (origin.y.min(end.y), origin.y.max(end.y));
            }
            let piece = Glyph {
                text: word.to_owned(),
                rect,
                origin,
                end,
                ..glyph.clone()
            };
            if self
                .open
                .last()
                .is_some_and(|last| !continues(last, &piece))
            {
                self.close();
            }
            self.open.push(piece);
            if part.len() > word.len() {
                self.close();
            }
        }
    }

    fn close(&mut self) {
        let Some(first) = self.open.first() else {
            return;
        };
        let rect = self.open.iter().fold(first.rect, |r, g| r.union(g.rect));
        let bold = self.open.iter().filter(|g| g.bold).count() * 2 > self.open.len();
        let rtl = self.open.iter().any(|g| g.text.contains(is_rtl));
        let heading = self
            .open
            .iter()
            .find(|g| g.origin.distance(g.end) > 1e-6)
            .map_or(Heading::Right, Heading::of);
        if rtl {
            // whatever order they were drawn in: from right to left, as the text lies on the page
            self.open
                .sort_by(|a, b| heading.end_of(b.rect).total_cmp(&heading.end_of(a.rect)));
        }
        let parts: Vec<&str> = self.open.iter().map(|g| g.text.as_str()).collect();
        let text: String = if rtl { logical(&parts) } else { parts.concat() };
        let text: String = text.nfc().collect();
        self.open.clear();
        if !text.is_empty() {
            self.done.push(Piece {
                text,
                rect,
                heading,
                bold,
                rtl,
            });
        }
    }

    fn finish(mut self) -> Vec<Piece> {
        self.close();
        self.done
    }
}

/// True when `next` goes on where the pen stood after `last`.
fn continues(last: &Glyph, next: &Glyph) -> bool {
    let step = last.end - last.origin;
    let length = step.hypot();
    let size = last.size.max(next.size).max(0.1);
    let along = if length > 1e-6 {
        step / length
    } else {
        kurbo::Vec2::new(1.0, 0.0)
    };
    let away = next.origin - last.end;
    let across = away.cross(along).abs();
    if across >= 0.35 * size {
        return false;
    }
    let forward = away.dot(along);
    if forward > -0.5 * size && forward < GAP * size {
        return true;
    }
    // vowel signs are set over the middle of their letter
    if (is_mark(&last.text) || is_mark(&next.text)) && forward.abs() < 0.9 * size {
        return true;
    }
    // right-to-left text whose glyphs are drawn one by one, the pen moving left
    let backward = (last.origin - next.end).dot(along);
    (last.text.contains(is_rtl) || next.text.contains(is_rtl))
        && backward > -0.5 * size
        && backward < GAP * size
}

/// Only signs that are set over or under a letter of Hebrew or Arabic.
fn is_mark(text: &str) -> bool {
    !text.is_empty()
        && text.chars().all(|ch| {
            matches!(ch, '\u{591}'..='\u{5bd}' | '\u{5bf}'..='\u{5c7}' | '\u{610}'..='\u{61a}'
                | '\u{64b}'..='\u{65f}' | '\u{670}' | '\u{6d6}'..='\u{6ed}')
        })
}

/// Letter and accent drawn as two glyphs over each other, in either order, become one.
fn compose(last: &Glyph, next: &Glyph) -> Option<Glyph> {
    let (letter, mark) = match (combining(&last.text), combining(&next.text)) {
        (Some(mark), None) => (next, mark),
        (None, Some(mark)) => (last, mark),
        _ => return None,
    };
    let base = letter.text.chars().last()?;
    if !base.is_alphabetic() {
        return None;
    }
    let accent = if std::ptr::eq(letter, last) {
        next
    } else {
        last
    };
    let shared = accent.rect.x1.min(letter.rect.x1) - accent.rect.x0.max(letter.rect.x0);
    if shared < 0.5 * accent.rect.width().min(letter.rect.width()).max(0.01)
        || (accent.rect.center().y - letter.rect.center().y).abs() > letter.size
    {
        return None;
    }
    let base = match base {
        '\u{131}' => 'i',
        '\u{237}' => 'j',
        other => other,
    };
    let mut text = letter.text.clone();
    text.pop();
    text.push(base);
    text.push(mark);
    Some(Glyph {
        text: text.nfc().collect(),
        ..letter.clone()
    })
}

/// The combining form of an accent that stands alone.
fn combining(text: &str) -> Option<char> {
    let mut chars = text.chars();
    let (Some(ch), None) = (chars.next(), chars.next()) else {
        return None;
    };
    Some(match ch {
        '\u{60}' | '\u{2cb}' => '\u{300}',
        '\u{b4}' | '\u{2ca}' => '\u{301}',
        '\u{2c6}' => '\u{302}',
        '\u{2dc}' => '\u{303}',
        '\u{af}' | '\u{2c9}' => '\u{304}',
        '\u{2d8}' => '\u{306}',
        '\u{2d9}' => '\u{307}',
        '\u{a8}' => '\u{308}',
        '\u{2da}' => '\u{30a}',
        '\u{2dd}' => '\u{30b}',
        '\u{2c7}' => '\u{30c}',
        '\u{b8}' => '\u{327}',
        '\u{2db}' => '\u{328}',
        '\u{300}'..='\u{36f}' => ch,
        _ => return None,
    })
}

/// The text as a number: equal texts have equal ones, and others hardly ever.
fn fingerprint(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// Ligatures and presentation forms taken apart, marks that are not printed dropped.
fn clean(text: &str) -> Cow<'_, str> {
    if text.is_ascii() && !text.bytes().any(|b| b.is_ascii_control()) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    for ch in text.chars() {
        match ch {
            '\u{ad}' | '\u{2010}' | '\u{2011}' => out.push('-'),
            '\u{200b}'..='\u{200f}'
            | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{feff}' => {}
            '\u{fb00}'..='\u{fdff}' | '\u{fe70}'..='\u{fefc}' => {
                out.extend(std::iter::once(ch).nfkc());
            }
            c if c.is_control() && !c.is_whitespace() => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    Cow::Owned(out)
}
