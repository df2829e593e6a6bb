//! Which of the declared types a document is: by its title, by the words of the type, and by how many of the
//! type's fields have a label on it.

use std::{collections::HashMap, sync::Arc};

use flydocs_contract::{PageWords, request::DocumentTypeSpec};

use super::{
    choose::Plan,
    kinds::kinds,
    label::{find_labels, lexicon},
    layout::Document,
};
use crate::ClassifyAnswer;

/// Below this the document is none of the types.
const ENOUGH: f64 = 0.22;
/// Pages looked at: the first say what it is.
const PAGES: usize = 3;

/// How well a type fits and what speaks for it.
#[derive(Debug, Clone, PartialEq)]
struct Fit {
    score: f64,
    title: Option<String>,
    labels: usize,
    fields: usize,
}

/// The type that fits best, if one does.
pub(crate) fn classify(pages: &[Arc<PageWords>], types: &[DocumentTypeSpec]) -> ClassifyAnswer {
    let document = Document::new(&pages[..pages.len().min(PAGES)]);
    let fits: Vec<Fit> = fits(&document, types);
    let best = fits
        .iter()
        .enumerate()
        .max_by(|a, b| a.1.score.total_cmp(&b.1.score).then(b.0.cmp(&a.0)));
    let Some((at, fit)) = best.filter(|(_, f)| f.score >= ENOUGH) else {
        return ClassifyAnswer {
            document_type: None,
            matched: false,
            confidence: 1.0 - fits.iter().map(|f| f.score).fold(0.0, f64::max),
            description: None,
            notes: Some("neither title nor labels fit a declared type".to_owned()),
        };
    };
    let second = fits
        .iter()
        .enumerate()
        .filter(|(i, _)| *i != at)
        .map(|(_, f)| f.score)
        .fold(0.0, f64::max);
    // Certainty: how much there is, and how far ahead of the next.
    let confidence =
        (0.4 + 0.6 * (fit.score - second).clamp(0.0, 0.5) * 2.0) * (0.5 + fit.score).min(1.0);
    let mut notes = format!(
        "{} of {} fields have a label on the page",
        fit.labels, fit.fields
    );
    if let Some(title) = &fit.title {
        notes.push_str(&format!("; it calls itself \"{title}\""));
    }
    ClassifyAnswer {
        document_type: Some(types[at].id.clone()),
        matched: true,
        confidence: (confidence.clamp(0.05, 0.99) * 100.0).round() / 100.0,
        description: types[at].description.clone(),
        notes: Some(notes),
    }
}

fn fits(document: &Document, types: &[DocumentTypeSpec]) -> Vec<Fit> {
    let plans: Vec<Plan<'_>> = types.iter().map(Plan::new).collect();
    let found: Vec<Vec<bool>> = plans
        .iter()
        .map(|plan| {
            find_labels(document, lexicon(), &plan.queries)
                .of_query
                .iter()
                .map(|labels| {
                    labels
                        .iter()
                        .any(|l| !l.hidden && l.strength() > 0.6 && l.letters > 2)
                })
                .collect()
        })
        .collect();
    // A label that several types ask for tells them less apart.
    let mut shared: HashMap<Vec<String>, usize> = HashMap::new();
    for plan in &plans {
        for query in &plan.queries {
            if let Some(phrase) = query.phrases.first() {
                *shared.entry(phrase.words.clone()).or_default() += 1;
            }
        }
    }
    let words = word_rows(document);
    types
        .iter()
        .zip(&plans)
        .zip(&found)
        .map(|((spec, plan), found)| {
            let (mut have, mut all) = (0.0, 0.0);
            for (query, hit) in plan.queries.iter().zip(found) {
                let others = query.phrases.first().map_or(1, |p| shared[&p.words]);
                let weight = 1.0 / others as f64 * if query.quoted { 1.5 } else { 1.0 };
                all += weight;
                if *hit {
                    have += weight;
                }
            }
            let coverage = if all > 0.0 { have / all } else { 0.0 };
            let (title, title_score) = title_of(&words, spec);
            Fit {
                score: 0.55 * coverage + 0.45 * title_score,
                title,
                labels: found.iter().filter(|h| **h).count(),
                fields: found.len(),
            }
        })
        .collect()
}

/// The folded words of each row, and how prominent it is.
fn word_rows(document: &Document) -> Vec<(f64, Vec<String>)> {
    document
        .rows
        .iter()
        .map(|row| {
            let page = &document.pages[row.page];
            let y = row.rect.ymin / page.height;
            let tall = document.tokens[row.tokens.clone()]
                .iter()
                .map(|t| t.rect.height())
                .fold(0.0, f64::max)
                > 1.3 * page.em;
            let short = row.tokens.len() <= 6;
            let mut weight: f64 = if row.page == 0 { 0.35 } else { 0.2 };
            if row.page == 0 && y < 0.35 {
                weight += 0.25;
            }
            if short {
                weight += 0.2;
            }
            if tall {
                weight += 0.2;
            }
            let words = document.tokens[row.tokens.clone()]
                .iter()
                .flat_map(|t| t.pieces.iter().map(|p| p.text.clone()))
                .collect();
            (weight.min(1.0), words)
        })
        .collect()
}

/// The title a document gives itself that fits the type, and how prominent it is.
fn title_of(rows: &[(f64, Vec<String>)], spec: &DocumentTypeSpec) -> (Option<String>, f64) {
    let id = phrase_words(&spec.id);
    let description = phrase_words(spec.description.as_deref().unwrap_or_default());
    let contains = |haystack: &[String], needle: &[String]| {
        !needle.is_empty() && haystack.windows(needle.len()).any(|w| w == needle)
    };
    let mut titles: Vec<(Vec<String>, f64)> = vec![(id.clone(), 1.0)];
    for kind in kinds() {
        let by_id = kind.names.iter().any(|n| contains(&id, n));
        let by_description = kind.names.iter().any(|n| contains(&description, n));
        if by_id || by_description {
            let weight = if by_id { 1.0 } else { 0.75 };
            titles.extend(
                kind.titles
                    .iter()
                    .enumerate()
                    .map(|(i, t)| (t.clone(), weight * if i < 4 { 1.0 } else { 0.85 })),
            );
        }
    }
    let mut best: (Option<String>, f64) = (None, 0.0);
    for (prominence, words) in rows {
        for (title, weight) in &titles {
            if contains(words, title) {
                let score = prominence * weight * (0.7 + 0.1 * title.len().min(3) as f64);
                if score > best.1 {
                    best = (Some(title.join(" ")), score);
                }
            }
        }
    }
    // The type's own words anywhere (a form's number in its id).
    let mut own: Vec<&String> = id
        .iter()
        .chain(&description)
        .filter(|w| w.len() > 3)
        .collect();
    own.sort();
    own.dedup();
    if !own.is_empty() {
        let hits = own
            .iter()
            .filter(|w| rows.iter().any(|(_, words)| words.contains(w)))
            .count();
        best.1 = (best.1 + 0.35 * hits as f64 / own.len() as f64).min(1.0);
    }
    best
}

fn phrase_words(text: &str) -> Vec<String> {
    super::text::phrase_pieces(text)
}
