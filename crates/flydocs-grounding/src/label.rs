//! Which of several equal places is meant: the one nearest to words of the field's name or description.

use flydocs_contract::{Field, Rect};

use crate::{
    index::{PageIndex, Span},
    matcher::rect_of,
    normalise::{normalise, without_punctuation},
};

/// The words a field is called by, each with its weight.
#[derive(Debug, Clone, Default)]
pub(crate) struct Labels(Vec<(String, f64)>);

impl Labels {
    /// The words of the field's name and, at half their weight, of its description; without a schema those of `name`.
    pub(crate) fn of(field: Option<&Field>, name: &str) -> Self {
        let mut labels = Self::default();
        let schema_name = field.map_or("", |field| field.name.as_str());
        let name = if schema_name.is_empty() {
            name
        } else {
            schema_name
        };
        labels.push(&split_case(name), 1.0);
        if let Some(description) = field.and_then(|field| field.description.as_deref()) {
            labels.push(description, 0.5);
        }
        labels
    }

    fn push(&mut self, text: &str, weight: f64) {
        for word in without_punctuation(&normalise(text)).split(' ') {
            let is_new = !self.0.iter().any(|(known, _)| known == word);
            if word.chars().count() > 1 && is_new {
                self.0.push((word.to_owned(), weight));
            }
        }
    }
}

/// `invoiceDate` is two words.
fn split_case(name: &str) -> String {
    let mut split = String::with_capacity(name.len() + 4);
    let mut lower = false;
    for c in name.chars() {
        if c.is_uppercase() && lower {
            split.push(' ');
        }
        lower = c.is_lowercase();
        split.push(c);
    }
    split
}

/// The place nearest to the labels; the first in reading order when the page has none of them.
pub(crate) fn nearest(index: &PageIndex<'_>, places: &[Span], labels: &Labels) -> Option<Span> {
    let (first, rest) = places.split_first()?;
    if rest.is_empty() {
        return Some(*first);
    }
    let mut best = (*first, closeness(index, *first, labels));
    for place in rest {
        let closeness = closeness(index, *place, labels);
        if closeness > best.1 + 1e-9 {
            best = (*place, closeness);
        }
    }
    Some(best.0)
}

/// The sum over the labels on the page of how near each stands; a word that stands all over the page says little.
fn closeness(index: &PageIndex<'_>, place: Span, labels: &Labels) -> f64 {
    let Some(rect) = rect_of(index.page, place) else {
        return 0.0;
    };
    let mut sum = 0.0;
    for (label, weight) in &labels.0 {
        let words = index.places(label);
        let nearest = words
            .iter()
            .filter(|word| !(place.first..=place.last).contains(word))
            .filter_map(|word| index.page.words.get(*word))
            .map(|word| distance(index, word.rect, rect))
            .fold(f64::INFINITY, f64::min);
        if nearest.is_finite() {
            sum += weight / words.len() as f64 / (0.05 + nearest);
        }
    }
    sum
}

/// How far a value is from a label, in page heights: a label stands left of its value or above it, and another line
/// is farther than the other end of the same line.
fn distance(index: &PageIndex<'_>, label: Rect, value: Rect) -> f64 {
    let (width, height) = (index.page.width, index.page.height);
    let aspect = if width > 0.0 && height > 0.0 {
        width / height
    } else {
        1.0
    };
    let (right_of, left_of) = (value.xmin - label.xmax, label.xmin - value.xmax);
    let (below, above) = (value.ymin - label.ymax, label.ymin - value.ymax);
    let across = right_of.max(left_of).max(0.0) * aspect;
    let down = below.max(above).max(0.0);
    let wrong_side = (left_of > 0.0 && below <= 0.0) || above > 0.0;
    let center_gap = (value.center().1 - label.center().1).abs();
    let distance = across.hypot(3.0 * down.max(0.1 * center_gap));
    if wrong_side {
        2.0 * distance + 0.02
    } else {
        distance
    }
}
