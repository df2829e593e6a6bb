//! Where the document uses a label: every phrase is looked for, misread letters and line breaks allowed, and a
//! longer label hides the shorter ones inside it (`Order date` is no `date`).

use std::collections::HashMap;

use super::{
    found::{Label, Labels},
    lexicon::{ConceptKind, Lexicon},
    query::{Phrase, Query},
};
use crate::local::{
    layout::{Document, Span},
    text::similar,
};

struct Target<'a> {
    phrases: Vec<(&'a [String], f64)>,
    concept: Option<usize>,
    partial: bool,
}

#[derive(Clone, Copy)]
struct At {
    token: usize,
    piece: usize,
}

/// Looks for the labels of the queries and of the whole lexicon.
pub(crate) fn find_labels(document: &Document, lexicon: &Lexicon, queries: &[Query]) -> Labels {
    let mut targets: Vec<Target<'_>> = queries
        .iter()
        .map(|q| Target {
            phrases: q
                .phrases
                .iter()
                .map(|Phrase { words, weight }| (words.as_slice(), *weight))
                .collect(),
            concept: q.concept,
            partial: true,
        })
        .collect();
    targets.extend(lexicon.concepts.iter().enumerate().map(|(at, c)| {
        Target {
            phrases: c
                .labels
                .iter()
                .map(|l| (l.as_slice(), 0.95))
                .chain(c.weak.iter().map(|l| (l.as_slice(), 0.7)))
                .collect(),
            concept: Some(at),
            partial: false,
        }
    }));
    let mut found = search(document, &targets);
    hide(&mut found, &targets, document.tokens.len());
    let mut covered = vec![false; document.tokens.len()];
    for (target, labels) in found.iter().enumerate() {
        let role = target >= queries.len()
            && lexicon.concepts[target - queries.len()].kind == ConceptKind::Role;
        for label in labels
            .iter()
            .filter(|l| !l.hidden && l.share > 0.45 && !role)
        {
            for part in &label.parts {
                covered[part.first..=part.last].fill(true);
            }
        }
    }
    for labels in &mut found {
        labels.sort_by(|a, b| b.strength().total_cmp(&a.strength()));
        labels.truncate(60);
    }
    let of_concept = found.split_off(queries.len());
    Labels {
        of_query: found,
        of_concept,
        covered,
    }
}

fn search(document: &Document, targets: &[Target<'_>]) -> Vec<Vec<Label>> {
    let mut first_words: HashMap<&str, Vec<(usize, usize)>> = HashMap::new();
    for (t, target) in targets.iter().enumerate() {
        for (p, (words, _)) in target.phrases.iter().enumerate() {
            if let Some(word) = words.first() {
                first_words.entry(word).or_default().push((t, p));
            }
        }
    }
    let vocabulary: Vec<&str> = first_words
        .keys()
        .copied()
        .filter(|w| w.len() >= 4)
        .collect();
    let mut near: HashMap<&str, Vec<(&str, f64)>> = HashMap::new();
    let mut found: Vec<Vec<Label>> = targets.iter().map(|_| Vec::new()).collect();
    for (token, t) in document.tokens.iter().enumerate() {
        for (piece, p) in t.pieces.iter().enumerate() {
            let word = p.text.as_str();
            let at = At { token, piece };
            let exact = first_words.get(word);
            if let Some(starts) = exact {
                for (target, phrase) in starts {
                    attempt(document, targets, *target, *phrase, at, 1.0, &mut found);
                }
            }
            if word.len() >= 4 && (exact.is_none() || document.recognised(t.page)) {
                let alike = near.entry(word).or_insert_with(|| {
                    vocabulary
                        .iter()
                        .filter(|v| **v != word && v.len().abs_diff(word.len()) <= 2)
                        .map(|v| (*v, similar(v, word)))
                        .filter(|(_, s)| *s > 0.72)
                        .collect()
                });
                for (v, score) in alike.iter() {
                    for (target, phrase) in &first_words[v] {
                        attempt(document, targets, *target, *phrase, at, *score, &mut found);
                    }
                }
            }
        }
    }
    found
}

fn attempt(
    document: &Document,
    targets: &[Target<'_>],
    target: usize,
    phrase: usize,
    start: At,
    first_score: f64,
    found: &mut [Vec<Label>],
) {
    let (words, weight) = targets[target].phrases[phrase];
    let mut places = vec![start];
    let length = |w: &String| w.chars().count() as f64;
    let all: f64 = words.iter().map(length).sum();
    let mut matched = length(&words[0]) * first_score;
    let mut at = start;
    let mut missed = 0;
    for word in &words[1..] {
        if let Some((next, score)) = step(document, at, word) {
            matched += length(word) * score;
            places.push(next);
            at = next;
        } else {
            missed += 1;
            if !targets[target].partial || words.len() < 3 {
                return;
            }
        }
    }
    let mut score = matched / all;
    if missed > 0 {
        if score < 0.6 || places.len() < 2 {
            return;
        }
        score *= 0.8;
    }
    if score < 0.7 && missed == 0 {
        return;
    }
    let mut label = label(document, &places, weight, score, all as usize);
    label.exact = missed == 0 && contiguous(document, &places);
    // Of several phrases at the same place the best is enough.
    match found[target]
        .iter_mut()
        .find(|l| l.first().overlaps(label.first()))
    {
        Some(old) => {
            let better = (label.letters, label.weight * label.score)
                > (old.letters, old.weight * old.score)
                && label.weight * label.score > 0.7 * old.weight * old.score;
            if better {
                *old = label;
            }
        }
        None => found[target].push(label),
    }
}

/// Whether no piece was passed over.
fn contiguous(document: &Document, places: &[At]) -> bool {
    places.windows(2).all(|pair| {
        let next = following(document, pair[0]);
        next.is_none_or(|n| (n.token, n.piece) == (pair[1].token, pair[1].piece))
            || document.tokens[pair[0].token].row != document.tokens[pair[1].token].row
    })
}

/// The next place where a word stands: the next piece, or one after it, or the line below of the same cell.
fn step(document: &Document, at: At, word: &str) -> Option<(At, f64)> {
    let mut here = at;
    for _ in 0..2 {
        let Some(next) = following(document, here) else {
            break;
        };
        let score = similar(&document.tokens[next.token].pieces[next.piece].text, word);
        if score > 0.0 {
            return Some((next, score));
        }
        here = next;
    }
    let below = continuation(document, at)?;
    let score = similar(&document.tokens[below.token].pieces[below.piece].text, word);
    (score > 0.0).then_some((below, score))
}

fn following(document: &Document, at: At) -> Option<At> {
    let token = &document.tokens[at.token];
    if at.piece + 1 < token.pieces.len() {
        return Some(At {
            token: at.token,
            piece: at.piece + 1,
        });
    }
    let em = document.em(at.token);
    let mut next = at.token + 1;
    while let Some(t) = document.tokens.get(next) {
        if t.row != token.row
            || (t.run != token.run && t.rect.xmin - document.tokens[next - 1].rect.xmax > 2.2 * em)
        {
            return None;
        }
        if !t.pieces.is_empty() {
            return Some(At {
                token: next,
                piece: 0,
            });
        }
        next += 1;
    }
    None
}

/// The first piece of the run below, when the label is the end of its run.
fn continuation(document: &Document, at: At) -> Option<At> {
    let token = &document.tokens[at.token];
    let run = &document.runs[token.run];
    if run.tokens.end != at.token + 1 || at.piece + 1 != token.pieces.len() {
        return None;
    }
    let em = document.em(at.token);
    for row in document.rows_below(token.row).take(3) {
        for below in document.rows[row].runs.clone() {
            let r = &document.runs[below];
            let close =
                r.rect.ymin - run.rect.ymax < 0.9 * em && r.rect.ymin > run.rect.ymin + 0.3 * em;
            let aligned = (r.rect.xmin - run.rect.xmin).abs() < 1.8 * em
                || (r.rect.center().0 - run.rect.center().0).abs() < 1.5 * em;
            if close && aligned {
                let first = r
                    .tokens
                    .clone()
                    .find(|t| !document.tokens[*t].pieces.is_empty())?;
                return Some(At {
                    token: first,
                    piece: 0,
                });
            }
        }
    }
    None
}

fn label(document: &Document, places: &[At], weight: f64, score: f64, letters: usize) -> Label {
    let mut parts: Vec<Span> = Vec::new();
    for at in places {
        let token = &document.tokens[at.token];
        let piece = &token.pieces[at.piece];
        match parts.last_mut() {
            Some(part) if document.tokens[part.last].row == token.row => {
                part.last = at.token;
                part.tail = piece.end;
            }
            _ => parts.push(Span {
                first: at.token,
                last: at.token,
                head: piece.start,
                tail: piece.end,
            }),
        }
    }
    let rect = parts
        .iter()
        .map(|p| p.rect(document))
        .reduce(|a, b| a.union(&b))
        .unwrap_or_default();
    let page = document.tokens[places[0].token].page;
    let (share, closed, opens) = surroundings(document, &parts);
    Label {
        parts,
        rect,
        page,
        weight,
        score,
        share,
        hidden: false,
        letters,
        closed,
        opens,
        exact: true,
    }
}

/// The label's share of the words of its run that could belong to the label, whether something closes it, and
/// whether it opens the run.
fn surroundings(document: &Document, parts: &[Span]) -> (f64, bool, bool) {
    let (first, last) = (&parts[0], &parts[parts.len() - 1]);
    let run = &document.runs[document.tokens[first.first].run];
    let words = |text: &str| text.chars().filter(|c| c.is_alphabetic()).count();
    let mut own: usize = 0;
    for part in parts {
        own += words(&part.text(document));
    }
    let mut other = 0;
    let mut opens = true;
    for at in run.tokens.start..first.first {
        let text = &document.tokens[at].text;
        if text.ends_with(':') || text.chars().any(|c| c.is_ascii_digit()) {
            other = 0;
            opens = true;
        } else {
            other += words(text);
            opens = opens && words(text) == 0;
        }
    }
    let head = document.tokens[first.first]
        .text
        .get(..first.head)
        .unwrap_or_default();
    other += words(head);
    opens = opens && words(head) == 0;
    // After it: words up to a colon, a digit or the end of the run.
    let end_run = &document.runs[document.tokens[last.last].run];
    let tail = document.tokens[last.last]
        .text
        .get(last.tail..)
        .unwrap_or_default();
    let mut closed =
        tail.contains([':', '-', '#', '.', ',']) || last.last + 1 >= end_run.tokens.end;
    let mut after = words(tail.split(':').next().unwrap_or_default());
    if !tail.contains(':') {
        for at in last.last + 1..end_run.tokens.end {
            let text = &document.tokens[at].text;
            if text.starts_with([':', '#', '=']) || text == "-" {
                closed = true;
                break;
            }
            if text.chars().any(|c| c.is_ascii_digit()) {
                break;
            }
            after += words(text);
            if text.ends_with(':') {
                closed = true;
                break;
            }
        }
        if after > 3 * own.max(4) {
            after = 3 * own.max(4);
        }
    }
    let mut weight_after = after as f64;
    if !closed {
        // Words that follow without a colon may be the value itself.
        weight_after *= 0.35;
    }
    let share = own as f64 / (own as f64 + other as f64 + weight_after).max(1.0);
    (share, closed, opens)
}

/// Marks the labels that are only part of a longer label of something else.
fn hide(found: &mut [Vec<Label>], targets: &[Target<'_>], tokens: usize) {
    let mut by_token: Vec<Vec<(usize, usize)>> = vec![Vec::new(); tokens];
    for (t, labels) in found.iter().enumerate() {
        for (at, label) in labels.iter().enumerate() {
            if label.score < 0.8 || !label.exact {
                continue;
            }
            for part in &label.parts {
                for list in &mut by_token[part.first..=part.last] {
                    list.push((t, at));
                }
            }
        }
    }
    let mut hidden = Vec::new();
    for (t, labels) in found.iter().enumerate() {
        for (at, label) in labels.iter().enumerate() {
            let longer = by_token[label.first().first].iter().any(|(other, index)| {
                let same = *other == t
                    || (targets[t].concept.is_some()
                        && targets[*other].concept == targets[t].concept);
                let big = &found[*other][*index];
                !same
                    && big.letters > label.letters
                    && label
                        .parts
                        .iter()
                        .all(|p| big.parts.iter().any(|b| b.contains(p)))
            });
            if longer {
                hidden.push((t, at));
            }
        }
    }
    for (t, at) in hidden {
        found[t][at].hidden = true;
    }
}
