//! Which documents a file holds: a new one begins where a page says "1 of n", where title and letterhead change,
//! or where the number of the document does.

use std::{collections::BTreeSet, sync::Arc, sync::LazyLock};

use flydocs_contract::{PageWords, request::DocumentTypeSpec};
use regex::Regex;

use super::{
    classify::classify,
    kinds::kinds,
    label::{find_labels, lexicon},
    layout::Document,
    pool::Pool,
    text::{fold, phrase_pieces},
};
use crate::Segment;

/// Above this a page begins a document.
const BEGINS: f64 = 0.5;

static PAGE_OF: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"(?:page|seite|pagina|pag|strona|p|s|blatt)?[ .:]*\b(\d{1,3}) ?(?:/|of|von|de|di|sur|van|z|aus) ?(\d{1,3})\b").ok()
});
static PAGE: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"(?:page|seite|pagina|strona|blatt)[ .:]*(\d{1,3})\b").ok());

/// What a page says of itself.
#[derive(Debug)]
struct Face {
    /// "2 of 3".
    number: Option<(u32, Option<u32>)>,
    /// Its title, when it has one at its head.
    title: Option<String>,
    /// Numbers of documents on it.
    numbers: BTreeSet<String>,
    /// Rows at its head and foot.
    margins: BTreeSet<String>,
    /// Width over height, and whether it is an image.
    shape: (f64, bool),
    /// Few words.
    sparse: bool,
    /// It begins in the middle of a sentence.
    goes_on: bool,
    /// The declared type it would be alone, when there are several.
    kind: Option<String>,
}

/// The documents of a file; empty when there is one.
pub(crate) fn split(pages: &[Arc<PageWords>], types: &[DocumentTypeSpec]) -> Vec<Segment> {
    let faces: Vec<Face> = pages.iter().map(|page| face(page, types)).collect();
    let mut starts = vec![0];
    let mut certainty = vec![0.9];
    for at in 1..faces.len() {
        let score = begins(&faces[at - 1], &faces[at]);
        if score > BEGINS {
            starts.push(at);
            certainty.push(score.min(0.97));
        }
    }
    if starts.len() < 2 {
        return Vec::new();
    }
    starts
        .iter()
        .enumerate()
        .map(|(i, start)| {
            let end = starts.get(i + 1).copied().unwrap_or(pages.len());
            let answer = classify(&pages[*start..end], types);
            Segment {
                page_start: pages[*start].page,
                page_end: pages[end - 1].page,
                provisional_type: answer.document_type,
                description: answer.description,
                confidence: certainty[i],
            }
        })
        .collect()
}

fn face(page: &Arc<PageWords>, types: &[DocumentTypeSpec]) -> Face {
    let pages = [Arc::clone(page)];
    let kind = if types.len() > 1 {
        classify(&pages, types).document_type
    } else {
        None
    };
    let document = Document::new(&pages);
    let rows: Vec<String> = document
        .rows
        .iter()
        .map(|r| fold(&document.text(r.tokens.clone())))
        .collect();
    let edge = |at: usize| at < 4 || at + 4 >= rows.len();
    let number = rows
        .iter()
        .enumerate()
        .filter(|(at, _)| edge(*at))
        .find_map(|(_, row)| number_of(row));
    let mut title = None;
    for (at, row) in document.rows.iter().enumerate() {
        if row.rect.ymin > 0.4 * document.pages[0].height || row.tokens.len() > 8 {
            continue;
        }
        let words = phrase_pieces(&rows[at]);
        title = kinds().iter().find_map(|k| {
            k.titles
                .iter()
                .take(12)
                .find(|t| {
                    words.starts_with(t.as_slice())
                        || words.len() < 6 && words.ends_with(t.as_slice())
                })
                .map(|t| t.join(" "))
        });
        if title.is_some() {
            break;
        }
    }
    let pool = Pool::new(&document);
    let labels = find_labels(&document, lexicon(), &[]);
    let mut numbers = BTreeSet::new();
    for name in ["invoice_number", "receipt_number", "project_number"] {
        let Some((concept, _)) = lexicon().get(name) else {
            continue;
        };
        for label in labels.of_concept[concept]
            .iter()
            .filter(|l| !l.hidden && l.strength() > 0.5)
        {
            let row = document.tokens[label.last().last].row;
            let next = pool.identifiers.iter().find(|i| {
                document.tokens[i.span.first].row == row
                    && i.span.first >= label.last().last
                    && i.form > 0.5
            });
            numbers.extend(next.map(|i| i.value.clone()));
        }
    }
    let margins = rows
        .iter()
        .enumerate()
        .filter(|(at, row)| edge(*at) && row.len() > 6)
        .map(|(_, row)| row.chars().filter(|c| !c.is_ascii_digit()).collect())
        .collect();
    let first = document.tokens.first();
    Face {
        number,
        title,
        numbers,
        margins,
        shape: (page.width / page.height.max(1.0), document.recognised(0)),
        sparse: document.tokens.len() < 40,
        goes_on: first.is_some_and(|t| t.text.starts_with(char::is_lowercase)),
        kind,
    }
}

fn number_of(row: &str) -> Option<(u32, Option<u32>)> {
    if let Some(c) = PAGE_OF.as_ref()?.captures(row) {
        let (k, n): (u32, u32) = (c[1].parse().ok()?, c[2].parse().ok()?);
        if k >= 1 && k <= n && n <= 200 && row.len() < 120 {
            return Some((k, Some(n)));
        }
    }
    let c = PAGE.as_ref()?.captures(row)?;
    Some((c[1].parse().ok()?, None))
}

/// How surely the second page begins a new document, 0 to 1.
fn begins(before: &Face, page: &Face) -> f64 {
    let mut score: f64 = 0.3;
    match (before.number, page.number) {
        (_, Some((1, _))) => score += 0.5,
        (Some((k, a)), Some((m, b))) if m == k + 1 && (a == b || a.is_none() || b.is_none()) => {
            return 0.02;
        }
        (_, Some((m, _))) if m > 1 => score -= 0.35,
        (Some((k, Some(n))), None) if k == n => score += 0.15,
        (Some((k, Some(n))), None) if k < n => score -= 0.3,
        _ => {}
    }
    let common = page.margins.intersection(&before.margins).count();
    if common > 0 {
        score -= 0.15 * common.min(3) as f64;
    } else {
        score += 0.05;
    }
    if !page.numbers.is_empty() && !before.numbers.is_empty() {
        if page.numbers.is_disjoint(&before.numbers) {
            score += if page.title.is_some() { 0.5 } else { 0.3 };
        } else {
            score -= 0.5;
        }
    }
    match (&before.title, &page.title) {
        (_, Some(_)) if common == 0 => score += 0.25,
        (Some(a), Some(b)) if a == b => score += 0.05,
        (_, None) => score -= 0.1,
        _ => {}
    }
    match (&before.kind, &page.kind) {
        (Some(a), Some(b)) if a != b => score += 0.3,
        (None, Some(_)) if page.title.is_some() => score += 0.1,
        _ => {}
    }
    if (before.shape.0 - page.shape.0).abs() > 0.06 {
        score += 0.3;
    }
    if before.shape.1 != page.shape.1 {
        score += 0.25;
    }
    if page.goes_on {
        score -= 0.3;
    }
    if page.sparse && page.title.is_none() && (before.shape.0 - page.shape.0).abs() < 0.02 {
        score -= 0.1;
    }
    score.clamp(0.0, 1.0)
}
