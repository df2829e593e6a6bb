//! Windows of a page compared with a target: the best of them, and how most are struck out unseen.
//!
//! A target of up to 64 characters is scanned for ends first, and only windows that end at such a place are compared.
//! A longer one is compared from every start whose next characters could do.

use crate::{
    index::{Coded, Span, Text},
    lcs::{EndScan, Pattern, Walk, similarity},
};

/// The best windows so far.
#[derive(Debug)]
pub(crate) struct Best {
    score: f64,
    spans: Vec<Span>,
}

/// One search: a text, and what is asked of its windows.
struct Search<'a, A> {
    text: &'a Text,
    coded: &'a Coded,
    /// The length of the target in characters.
    length: usize,
    most_segments: usize,
    agrees: A,
}

impl Best {
    /// Windows below `floor` do not count.
    pub(crate) const fn new(floor: f64) -> Self {
        Self {
            score: floor,
            spans: Vec::new(),
        }
    }

    /// The score and the windows that have it, in reading order, none overlapping; `None` when there is none.
    pub(crate) fn settle(mut self) -> Option<(f64, Vec<Span>)> {
        self.spans.sort_unstable();
        let mut kept: Vec<Span> = Vec::new();
        for span in self.spans {
            if !kept.last().is_some_and(|last| last.overlaps(span)) {
                kept.push(span);
            }
        }
        (!kept.is_empty()).then_some((self.score, kept))
    }

    /// Compares the target with every window of up to `most_segments` segments that could reach the best score so
    /// far; `agrees` has the last word on a window's text.
    pub(crate) fn search(
        &mut self,
        text: &Text,
        target: &str,
        most_segments: usize,
        agrees: impl Fn(&str) -> bool,
    ) {
        let coded = text.coded();
        let mut ids: Vec<Option<u32>> = target.chars().map(|c| coded.alphabet.get(c)).collect();
        // A target whose own characters are missing from the page cannot reach the score in any window.
        if ids.is_empty() || !self.can_reach(ids.iter().flatten().count(), ids.len()) {
            return;
        }
        let pattern = Pattern::new(&ids, coded.alphabet.len());
        let search = Search {
            text,
            coded,
            length: ids.len(),
            most_segments,
            agrees,
        };
        if let Some(scan) = EndScan::new(&pattern) {
            ids.reverse();
            let backwards = Pattern::new(&ids, coded.alphabet.len());
            self.search_ends(&search, scan, &mut backwards.walk());
        } else {
            let bound = CharacterBound::new(&ids, coded.alphabet.len());
            self.search_starts(&search, bound, &mut pattern.walk());
        }
    }

    fn search_ends<A: Fn(&str) -> bool>(
        &mut self,
        search: &Search<'_, A>,
        mut scan: EndScan<'_>,
        walk: &mut Walk<'_>,
    ) {
        let (ids, segments) = (&search.coded.ids, &search.coded.segments);
        let mut read = 0;
        for (last, (_, end)) in segments.iter().enumerate() {
            let mut edits = search.length;
            for id in ids.get(read..*end).unwrap_or(&[]) {
                edits = scan.read(*id);
            }
            read = *end;
            if edits > self.most_edits(search.length) {
                continue;
            }
            let longest = self.longest_window(search.length);
            walk.reset();
            let mut reached = *end;
            let segments_back = segments.iter().enumerate().take(last + 1).rev();
            for (first, (start, _)) in segments_back.take(search.most_segments) {
                let window = end - start;
                if window > longest {
                    break;
                }
                for id in ids.get(*start..reached).unwrap_or(&[]).iter().rev() {
                    walk.read(*id);
                }
                reached = *start;
                if !self.compare(search, walk.common(), window, (first, last)) {
                    break;
                }
            }
        }
    }

    fn search_starts<A: Fn(&str) -> bool>(
        &mut self,
        search: &Search<'_, A>,
        mut bound: CharacterBound,
        walk: &mut Walk<'_>,
    ) {
        let (ids, segments) = (&search.coded.ids, &search.coded.segments);
        for (first, (start, _)) in segments.iter().enumerate() {
            let longest = self.longest_window(search.length);
            bound.move_to(ids, *start, start + longest);
            if !self.can_reach(bound.common, search.length) {
                continue;
            }
            walk.reset();
            let mut read = *start;
            let segments_on = segments.iter().enumerate().skip(first);
            for (last, (_, end)) in segments_on.take(search.most_segments) {
                let window = end - start;
                if window > longest {
                    break;
                }
                for id in ids.get(read..*end).unwrap_or(&[]) {
                    walk.read(*id);
                }
                read = *end;
                if !self.compare(search, walk.common(), window, (first, last)) {
                    break;
                }
            }
        }
    }

    /// Takes the window when it is among the best; false when no longer window from the same place can be.
    fn compare<A: Fn(&str) -> bool>(
        &mut self,
        search: &Search<'_, A>,
        common: usize,
        window: usize,
        (first, last): (usize, usize),
    ) -> bool {
        let length = search.length;
        let score = similarity(common, length, window);
        if score >= self.score
            && (search.agrees)(search.text.between(first, last))
            && let Some(span) = search.text.span(first, last)
        {
            self.take(score, span);
        }
        // Every character read in vain is one the best window from here has too many.
        similarity(length, length, length + window - common) >= self.score
    }

    fn take(&mut self, score: f64, span: Span) {
        if score > self.score {
            self.spans.clear();
            self.score = score;
        }
        self.spans.push(span);
    }

    /// True when a window that shares this many characters with the target could reach the best score.
    fn can_reach(&self, common: usize, length: usize) -> bool {
        // The window is at least as long as what it shares.
        similarity(common, length, common) >= self.score
    }

    /// A window longer than this misses the best score even when it holds the whole target.
    fn longest_window(&self, length: usize) -> usize {
        let longest = length as f64 * (2.0 - self.score) / self.score;
        // Rounding must not strike out a window that just reaches the score.
        (longest + 1e-6).floor() as usize
    }

    /// A window with more edits than this misses the best score, however long it is.
    fn most_edits(&self, length: usize) -> usize {
        self.longest_window(length).saturating_sub(length)
    }
}

/// How many characters a moving window shares with the target, whatever their order: never less than the longest
/// common subsequence, and moved by adding and taking away single characters.
#[derive(Debug)]
struct CharacterBound {
    /// Of each character of the alphabet: wanted by the target, minus present in the window.
    missing: Vec<i32>,
    common: usize,
    start: usize,
    end: usize,
}

impl CharacterBound {
    fn new(target: &[Option<u32>], alphabet: usize) -> Self {
        let mut missing = vec![0; alphabet];
        for id in target.iter().flatten() {
            if let Some(count) = missing.get_mut(*id as usize) {
                *count += 1;
            }
        }
        Self {
            missing,
            common: 0,
            start: 0,
            end: 0,
        }
    }

    /// Moves the window; its start never goes back.
    fn move_to(&mut self, ids: &[u32], start: usize, end: usize) {
        let end = end.min(ids.len()).max(start);
        while self.end < end {
            self.add(ids, self.end);
            self.end += 1;
        }
        while self.end > end {
            self.end -= 1;
            self.remove(ids, self.end);
        }
        while self.start < start {
            self.remove(ids, self.start);
            self.start += 1;
        }
    }

    fn add(&mut self, ids: &[u32], at: usize) {
        if let Some(count) = ids
            .get(at)
            .and_then(|id| self.missing.get_mut(*id as usize))
        {
            if *count > 0 {
                self.common += 1;
            }
            *count -= 1;
        }
    }

    fn remove(&mut self, ids: &[u32], at: usize) {
        if let Some(count) = ids
            .get(at)
            .and_then(|id| self.missing.get_mut(*id as usize))
        {
            *count += 1;
            if *count > 0 {
                self.common -= 1;
            }
        }
    }
}
