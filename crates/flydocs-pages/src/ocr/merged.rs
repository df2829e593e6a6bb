//! Two readings of one picture as one: at each place the surer one, and what only one of them saw.

use flydocs_contract::{Rect, Word};

use super::Reading;

/// Boxes that share this much of the smaller one are of the same place.
const SAME_PLACE: f64 = 0.35;
/// A word that only the second reading has is believed from this confidence on.
const BELIEVED: f32 = 0.5;

/// The better reading, with the surer words of the other at every place where they differ.
pub(crate) fn merged(one: Reading, other: Reading) -> Reading {
    let (base, second) = if other.score() > one.score() {
        (other.words, one.words)
    } else {
        (one.words, other.words)
    };
    let places = places(&base, &second);
    let mut words: Vec<Word> = Vec::with_capacity(base.len());
    let mut settled = vec![false; places.count];
    for (word, place) in base.iter().zip(&places.of_base) {
        let Some(place) = *place else {
            words.push(word.clone());
            continue;
        };
        if std::mem::replace(&mut settled[place], true) {
            continue;
        }
        let here = |words: &[Word], numbers: &[Option<usize>]| -> Vec<Word> {
            let here = words
                .iter()
                .zip(numbers)
                .filter(|(_, p)| **p == Some(place));
            here.map(|(w, _)| w.clone()).collect()
        };
        let mine = here(&base, &places.of_base);
        let theirs = here(&second, &places.of_second);
        let line = word.line;
        words.extend(surer(mine, theirs).into_iter().map(|w| Word { line, ..w }));
    }
    let new = second
        .into_iter()
        .zip(&places.of_second)
        .filter(|(word, place)| {
            place.is_none()
                && word.confidence.is_some_and(|c| c >= BELIEVED)
                && word.text.contains(char::is_alphanumeric)
                && !words.iter().any(|w| share(&w.rect, &word.rect) > 0.1)
        })
        .map(|(word, _)| word)
        .collect();
    Reading {
        words: with_new(words, new),
    }
}

/// Which words of the two readings lie over each other: connected groups, by number.
struct Places {
    of_base: Vec<Option<usize>>,
    of_second: Vec<Option<usize>>,
    count: usize,
}

fn places(base: &[Word], second: &[Word]) -> Places {
    let mut of_base: Vec<Option<usize>> = vec![None; base.len()];
    let mut of_second: Vec<Option<usize>> = vec![None; second.len()];
    let mut count = 0;
    for (i, word) in base.iter().enumerate() {
        for (j, other) in second.iter().enumerate() {
            if share(&word.rect, &other.rect) < SAME_PLACE {
                continue;
            }
            match (of_base[i], of_second[j]) {
                (None, None) => {
                    of_base[i] = Some(count);
                    of_second[j] = Some(count);
                    count += 1;
                }
                (Some(place), None) => of_second[j] = Some(place),
                (None, Some(place)) => of_base[i] = Some(place),
                (Some(a), Some(b)) if a != b => {
                    for place in of_base.iter_mut().chain(&mut of_second) {
                        if *place == Some(b) {
                            *place = Some(a);
                        }
                    }
                }
                _ => {}
            }
        }
    }
    Places {
        of_base,
        of_second,
        count,
    }
}

/// How much of the smaller box the two share.
fn share(a: &Rect, b: &Rect) -> f64 {
    a.intersection(b)
        .map_or(0.0, |cut| cut.area() / a.area().min(b.area()).max(1e-12))
}

/// What is believed of a place that both readings read. Equal texts are as sure as the surer of them.
fn surer(mine: Vec<Word>, theirs: Vec<Word>) -> Vec<Word> {
    let text = |words: &[Word]| -> String { words.iter().map(|w| w.text.as_str()).collect() };
    if mine.len() == theirs.len() && text(&mine) == text(&theirs) {
        let both = mine.into_iter().zip(theirs);
        return both
            .map(|(mine, theirs)| Word {
                confidence: if mine.text == theirs.text {
                    surer_of(mine.confidence, theirs.confidence)
                } else {
                    mine.confidence
                },
                ..mine
            })
            .collect();
    }
    let widest = extent(&mine).max(extent(&theirs)).max(1e-12);
    let worth = |words: &[Word]| confidence(words) * (extent(words) / widest) as f32;
    if worth(&theirs) > worth(&mine) {
        theirs
    } else {
        mine
    }
}

fn surer_of(a: Option<f32>, b: Option<f32>) -> Option<f32> {
    Some(a?.max(b?))
}

/// The mean confidence of the characters.
fn confidence(words: &[Word]) -> f32 {
    let length = |w: &Word| w.text.chars().count() as f32;
    let sum: f32 = words
        .iter()
        .map(|w| length(w) * w.confidence.unwrap_or(0.0))
        .sum();
    sum / words.iter().map(length).sum::<f32>().max(1.0)
}

/// How far the words reach from left to right.
fn extent(words: &[Word]) -> f64 {
    Rect::around(words.iter().map(|w| &w.rect)).map_or(0.0, |r| r.width())
}

/// Words are put into the line they stand on, or between the lines.
fn with_new(words: Vec<Word>, new: Vec<Word>) -> Vec<Word> {
    let mut lines: Vec<Vec<Word>> = Vec::new();
    for word in words {
        match lines.last_mut() {
            Some(line) if line[0].line == word.line => line.push(word),
            _ => lines.push(vec![word]),
        }
    }
    for word in new {
        let (x, y) = word.rect.center();
        let on = lines.iter().position(|line| {
            Rect::around(line.iter().map(|w| &w.rect)).is_some_and(|r| {
                y > r.ymin
                    && y < r.ymax
                    && word.rect.height() < 2.0 * r.height()
                    && r.height() < 2.0 * word.rect.height()
            })
        });
        if let Some(line) = on.and_then(|at| lines.get_mut(at)) {
            let at = line
                .iter()
                .position(|w| w.rect.center().0 > x)
                .unwrap_or(line.len());
            line.insert(at, word);
        } else {
            let at = lines
                .iter()
                .position(|line| line[0].rect.center().1 > y)
                .unwrap_or(lines.len());
            lines.insert(at, vec![word]);
        }
    }
    (0..)
        .zip(lines)
        .flat_map(|(line, words)| words.into_iter().map(move |w| Word { line, ..w }))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `text` at `x` (a character is 0.01 wide) on the line at `y`.
    fn word(text: &str, x: f64, y: f64, line: u32, confidence: f32) -> Word {
        Word {
            text: text.to_owned(),
            rect: Rect::new(x, y, x + 0.01 * text.len() as f64, y + 0.02),
            line,
            confidence: Some(confidence),
            bold: false,
        }
    }

    fn read(words: Vec<Word>) -> Reading {
        Reading { words }
    }

    fn texts(reading: &Reading) -> Vec<(&str, u32)> {
        let words = reading.words.iter();
        words.map(|w| (w.text.as_str(), w.line)).collect()
    }

    #[test]
    fn at_each_place_the_surer_word_stands() {
        let first = read(vec![
            word("T0TAL", 0.1, 0.1, 0, 0.4),
            word("12.50", 0.5, 0.1, 0, 0.95),
        ]);
        let second = read(vec![
            word("TOTAL", 0.1, 0.101, 0, 0.9),
            word("12.S0", 0.5, 0.101, 0, 0.5),
        ]);
        let both = merged(first, second);
        assert_eq!(texts(&both), [("TOTAL", 0), ("12.50", 0)]);
        assert_eq!(both.words[0].confidence, Some(0.9));
    }

    #[test]
    fn a_word_cut_in_two_is_one_place_with_the_whole_one() {
        let first = read(vec![word("RM12.50", 0.5, 0.1, 0, 0.6)]);
        let second = read(vec![
            word("RM", 0.5, 0.1, 0, 0.95),
            word("12.50", 0.52, 0.1, 0, 0.95),
        ]);
        assert_eq!(
            texts(&merged(first, second)),
            [("RM", 0), ("12.50", 0)],
            "and none of it twice"
        );
    }

    #[test]
    fn a_piece_of_a_word_is_no_better_than_the_word() {
        let first = read(vec![word("RESTAURANT", 0.1, 0.1, 0, 0.8)]);
        let second = read(vec![word("REST", 0.1, 0.1, 0, 0.95)]);
        assert_eq!(texts(&merged(first, second)), [("RESTAURANT", 0)]);
    }

    #[test]
    fn what_only_one_reading_saw_goes_to_its_line_or_between_the_lines() {
        let first = read(vec![
            word("Shop", 0.1, 0.1, 0, 0.9),
            word("Total", 0.1, 0.5, 1, 0.9),
        ]);
        let second = read(vec![
            word("Street", 0.1, 0.3, 0, 0.8),
            word("~", 0.6, 0.3, 0, 0.9),
            word("9.90", 0.6, 0.5, 1, 0.8),
            word("dirt", 0.8, 0.7, 2, 0.2),
        ]);
        assert_eq!(
            texts(&merged(first, second)),
            [("Shop", 0), ("Street", 1), ("Total", 2), ("9.90", 2)]
        );
    }

    #[test]
    fn a_reading_without_words_changes_nothing() {
        let words = vec![word("Shop", 0.1, 0.1, 0, 0.9)];
        for (a, b) in [(words.clone(), vec![]), (vec![], words)] {
            assert_eq!(texts(&merged(read(a), read(b))), [("Shop", 0)]);
        }
    }

    #[test]
    fn words_read_alike_are_as_sure_as_the_surer_reading() {
        let first = read(vec![word("12.50", 0.5, 0.1, 0, 0.7)]);
        let second = read(vec![word("12.50", 0.5, 0.1, 0, 0.9)]);
        assert_eq!(merged(first, second).words[0].confidence, Some(0.9));
    }
}
