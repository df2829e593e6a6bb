//! Rows and runs of a page, from the boxes alone: a text layer's own lines are not to be relied on.

use flydocs_contract::{PageWords, Rect, WordSource};

use super::document::{Document, Page, Row, Run, Token, token};

/// Words closer than this (in heights of a word) always belong together.
const TIGHT_GAP: f64 = 0.55;
/// Words farther apart than this never do.
const WIDE_GAP: f64 = 2.2;

/// Adds a page to the document.
pub(super) fn build_page(document: &mut Document, words: &PageWords) {
    let page = document.pages.len();
    let (width, height) = (words.width.max(1.0), words.height.max(1.0));
    let scale = |r: &Rect| {
        Rect::new(
            r.xmin * width,
            r.ymin * height,
            r.xmax * width,
            r.ymax * height,
        )
    };
    let mut tokens: Vec<Token> = words
        .words
        .iter()
        .filter(|w| !w.text.trim().is_empty() && finite(&w.rect))
        .map(|w| token(w.text.trim(), scale(&w.rect), page, w.bold, w.confidence))
        .collect();
    let em = usual_height(&tokens).unwrap_or(height / 70.0);
    let first_row = document.rows.len();
    let tilt = if words.source == WordSource::Ocr {
        tilt_of(words)
    } else {
        0.0
    };
    let rows = group(&mut tokens, em, tilt);
    let gap = usual_gap(&rows, em, words.source);
    let rulings: Vec<Rect> = words
        .rulings
        .iter()
        .filter(|r| finite(r))
        .map(scale)
        .collect();
    let walls: Vec<Rect> = rulings
        .iter()
        .filter(|r| r.width() < 0.4 * em && r.height() > 0.8 * em)
        .copied()
        .collect();
    for row in rows {
        add_row(document, row, page, em, gap, &walls);
    }
    document.pages.push(Page {
        number: words.page,
        width,
        height,
        source: words.source,
        em,
        rows: first_row..document.rows.len(),
        rulings,
    });
}

fn finite(r: &Rect) -> bool {
    [r.xmin, r.ymin, r.xmax, r.ymax]
        .iter()
        .all(|v| v.is_finite())
}

fn usual_height(tokens: &[Token]) -> Option<f64> {
    let mut heights: Vec<f64> = tokens
        .iter()
        .filter(|t| t.text.chars().any(char::is_alphanumeric))
        .map(|t| t.rect.height())
        .filter(|h| *h > 0.0)
        .collect();
    heights.sort_by(f64::total_cmp);
    heights.get(heights.len() / 2).copied()
}

/// How much the lines of a recognised page climb or fall: the median slope of the recogniser's own lines.
fn tilt_of(page: &PageWords) -> f64 {
    let mut slopes: Vec<f64> = Vec::new();
    let mut start = 0;
    for at in 1..=page.words.len() {
        if at < page.words.len() && page.words[at].line == page.words[start].line {
            continue;
        }
        let (first, last) = (&page.words[start].rect, &page.words[at - 1].rect);
        let width = (last.center().0 - first.center().0) * page.width;
        if at - start > 2 && width > 0.2 * page.width {
            slopes.push((last.ymax - first.ymax) * page.height / width);
        }
        start = at;
    }
    if slopes.len() < 4 {
        return 0.0;
    }
    slopes.sort_by(f64::total_cmp);
    slopes[slopes.len() / 2].clamp(-0.12, 0.12)
}

/// Groups tokens into rows: each joins the row whose nearest word stands at the same height.
fn group(tokens: &mut Vec<Token>, em: f64, tilt: f64) -> Vec<Vec<Token>> {
    let middle = |t: &Token| middle(t) - tilt * f64::midpoint(t.rect.xmin, t.rect.xmax);
    let mean_middle = |row: &[Token]| row.iter().map(middle).sum::<f64>() / row.len().max(1) as f64;
    tokens.sort_by(|a, b| middle(a).total_cmp(&middle(b)));
    let mut rows: Vec<Vec<Token>> = Vec::new();
    for token in tokens.drain(..) {
        let y = middle(&token);
        let mut best: Option<(f64, usize)> = None;
        let from = rows.len().saturating_sub(24);
        for (at, row) in rows.iter().enumerate().skip(from) {
            let nearest = row
                .iter()
                .min_by(|a, b| horizontal_gap(a, &token).total_cmp(&horizontal_gap(b, &token)));
            let Some(nearest) = nearest else { continue };
            // A small word beside a large one (a superscript, a dash) hangs somewhere in its height.
            let reach = 0.5 * em.max(0.6 * nearest.rect.height()).min(1.6 * em);
            let off = (middle(nearest) - y).abs();
            let overlapping = horizontal_gap(nearest, &token) < -0.5 * em;
            if off < reach && !overlapping && best.is_none_or(|(b, _)| off < b) {
                best = Some((off, at));
            }
        }
        match best {
            Some((_, at)) => rows[at].push(token),
            None => rows.push(vec![token]),
        }
    }
    for row in &mut rows {
        row.sort_by(|a, b| a.rect.xmin.total_cmp(&b.rect.xmin));
    }
    rows.sort_by(|a, b| mean_middle(a).total_cmp(&mean_middle(b)));
    rows
}

fn middle(token: &Token) -> f64 {
    f64::midpoint(token.rect.ymin, token.rect.ymax)
}

/// The white between two words; negative when they overlap.
fn horizontal_gap(a: &Token, b: &Token) -> f64 {
    (b.rect.xmin - a.rect.xmax).max(a.rect.xmin - b.rect.xmax)
}

/// The gap above which words of this page belong to different runs.
fn usual_gap(rows: &[Vec<Token>], em: f64, source: WordSource) -> f64 {
    let mut gaps: Vec<f64> = rows
        .iter()
        .flat_map(|row| row.windows(2))
        .map(|pair| horizontal_gap(&pair[0], &pair[1]) / em)
        .filter(|g| (0.0..1.6).contains(g))
        .collect();
    if gaps.len() < 8 {
        return if source == WordSource::Ocr { 1.4 } else { 1.0 } * em;
    }
    gaps.sort_by(f64::total_cmp);
    let median = gaps[gaps.len() / 2];
    (2.4 * median + 0.15).clamp(TIGHT_GAP.max(0.8), WIDE_GAP) * em
}

fn add_row(
    document: &mut Document,
    row: Vec<Token>,
    page: usize,
    em: f64,
    gap: f64,
    walls: &[Rect],
) {
    let row_at = document.rows.len();
    let first_token = document.tokens.len();
    let first_run = document.runs.len();
    let mut start = first_token;
    for mut token in row {
        if let Some(previous) = document.tokens.get(first_token..).and_then(<[Token]>::last) {
            let white = horizontal_gap(previous, &token);
            // Large letters stand farther apart.
            let size = (previous.rect.height().min(token.rect.height()) / em).clamp(1.0, 2.5);
            if white > gap * size || (white > 0.05 * em && walled(walls, previous, &token)) {
                let end = document.tokens.len();
                push_run(document, row_at, start..end);
                start = end;
            }
        }
        token.row = row_at;
        token.run = document.runs.len();
        document.tokens.push(token);
    }
    let end = document.tokens.len();
    push_run(document, row_at, start..end);
    let rect = document.rect(first_token..end);
    document.rows.push(Row {
        page,
        tokens: first_token..end,
        runs: first_run..document.runs.len(),
        rect,
    });
}

fn push_run(document: &mut Document, row: usize, tokens: std::ops::Range<usize>) {
    let rect = document.rect(tokens.clone());
    document.runs.push(Run { row, tokens, rect });
}

/// Whether a drawn upright line stands between two words.
fn walled(walls: &[Rect], a: &Token, b: &Token) -> bool {
    let y = f64::midpoint(middle(a), middle(b));
    walls.iter().any(|w| {
        let x = f64::midpoint(w.xmin, w.xmax);
        x > a.rect.xmax - 1.0 && x < b.rect.xmin + 1.0 && w.ymin < y && y < w.ymax
    })
}
