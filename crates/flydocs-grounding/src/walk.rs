//! From groups of fields to grounded groups: every open leaf, page by page.
//!
//! First each leaf is looked for on its own pages, then what is left on all others; a page is asked for only when a
//! leaf needs it, and its index is dropped before the next one.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
};

use flydocs_contract::{
    BoundingBox, ExtractedField, Field, FieldValue, PageWords, Rect, request::DocumentTypeSpec,
    result::ExtractedFieldGroup,
};

use crate::{
    DEFAULT_THRESHOLD, Error, Result,
    forms::dates::Order,
    index::{PageIndex, Span},
    label::{Labels, nearest},
    matcher::{Hit, Matcher, Places, places, rect_of},
    quality,
    target::{Target, is_open},
};

/// How values are matched.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// The least score of a hit, over 0 to 1 (`FLYDOCS_BBOX_REFINE_THRESHOLD`).
    pub threshold: f64,
    /// The language of the document; says which of day and month comes first when the type names no country.
    pub language_hint: Option<String>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            threshold: DEFAULT_THRESHOLD,
            language_hint: None,
        }
    }
}

/// The pages of one document, read when they are asked for.
pub trait Pages {
    /// The numbers of all pages a value may stand on, from 1, in the file.
    fn numbers(&self) -> Vec<u32>;

    /// The words of a page; `None` when it cannot be read. Asked at most twice a page in one grounding.
    fn words(&self, page: u32) -> Option<Arc<PageWords>>;
}

impl Pages for [Arc<PageWords>] {
    fn numbers(&self) -> Vec<u32> {
        self.iter().map(|words| words.page).collect()
    }

    fn words(&self, page: u32) -> Option<Arc<PageWords>> {
        self.iter().find(|words| words.page == page).map(Arc::clone)
    }
}

impl Pages for BTreeMap<u32, Arc<PageWords>> {
    fn numbers(&self) -> Vec<u32> {
        self.keys().copied().collect()
    }

    fn words(&self, page: u32) -> Option<Arc<PageWords>> {
        self.get(&page).map(Arc::clone)
    }
}

/// What a grounding did.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Report {
    /// Leaves whose box was replaced.
    pub grounded: usize,
    /// Leaves looked for and not found: they keep the engine's box.
    pub missed: usize,
    /// Leaves that needed nothing: no value, a boolean, or grounded before.
    pub skipped: usize,
    /// The pages whose words were asked for.
    pub pages_read: BTreeSet<u32>,
}

/// The pages the open leaves say they stand on: what a caller may want to read ahead.
pub fn candidate_pages(groups: &[ExtractedFieldGroup]) -> BTreeSet<u32> {
    fn walk(fields: &[ExtractedField], pages: &mut BTreeSet<u32>) {
        for field in fields {
            if let Some(FieldValue::Fields(members)) = &field.value {
                walk(members, pages);
            } else if is_open(field) {
                pages.extend(&field.pages);
            }
        }
    }
    let mut pages = BTreeSet::new();
    for group in groups {
        walk(&group.fields, &mut pages);
    }
    pages
}

/// Finds one value on one page.
pub fn match_value(
    value: &FieldValue,
    field: Option<&Field>,
    page: &PageWords,
    options: &Options,
) -> Option<Hit> {
    Matcher::new(page, options.threshold).find(value, field)
}

/// Puts the box of the page's words in the place of the engine's, for every leaf that has none of the page yet.
///
/// `cancelled` is asked before each page; a cancelled grounding leaves the groups as they were. Safe to repeat: what
/// was grounded before is left alone.
pub fn ground(
    groups: &mut [ExtractedFieldGroup],
    schema: Option<&DocumentTypeSpec>,
    pages: &(impl Pages + ?Sized),
    options: &Options,
    cancelled: &dyn Fn() -> bool,
) -> Result<Report> {
    let country = schema.and_then(|schema| schema.country.as_deref());
    let order = Order::of(country, options.language_hint.as_deref());
    let mut run = Run::new(order, options.threshold);
    for group in groups.iter_mut() {
        let fields = schema
            .and_then(|schema| schema.field_groups.iter().find(|g| g.name == group.name))
            .map(|group| group.fields.as_slice());
        run.collect(&mut group.fields, fields, Place::default());
    }
    let all: BTreeSet<u32> = pages.numbers().into_iter().collect();
    run.pass(Pass::OwnPages, &all, pages, cancelled)?;
    run.pass(Pass::OtherPages, &all, pages, cancelled)?;
    Ok(run.settle())
}

/// Which pages a leaf is looked for on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pass {
    OwnPages,
    OtherPages,
}

/// Where in the groups a leaf hangs.
#[derive(Debug, Clone, Copy, Default)]
struct Place {
    /// The innermost row around it.
    row: Option<usize>,
    /// The innermost array around it: equal members of its rows stand at different places.
    array: Option<usize>,
}

/// One leaf to be found.
struct Leaf<'a> {
    field: &'a mut ExtractedField,
    target: Target,
    labels: Labels,
    place: Place,
    own_pages: BTreeSet<u32>,
    best: Option<Hit>,
}

struct Run<'a> {
    leaves: Vec<Leaf<'a>>,
    order: Order,
    threshold: f64,
    rows: usize,
    arrays: usize,
    /// What is known of a row on a page: boxes of members that are sure.
    anchors: HashMap<(usize, u32), Vec<Rect>>,
    /// Places given to a member of an array's rows, so that the next row takes the next one.
    taken: HashMap<(usize, String, u32), Vec<Span>>,
    report: Report,
}

impl<'a> Run<'a> {
    fn new(order: Order, threshold: f64) -> Self {
        Self {
            leaves: Vec::new(),
            order,
            threshold,
            rows: 0,
            arrays: 0,
            anchors: HashMap::new(),
            taken: HashMap::new(),
            report: Report::default(),
        }
    }

    fn collect(
        &mut self,
        fields: &'a mut [ExtractedField],
        schema: Option<&[Field]>,
        place: Place,
    ) {
        for field in fields {
            let spec = schema.and_then(|fields| fields.iter().find(|f| f.name == field.name));
            self.collect_field(field, spec, place);
        }
    }

    fn collect_field(&mut self, field: &'a mut ExtractedField, spec: Option<&Field>, place: Place) {
        if !matches!(field.value, Some(FieldValue::Fields(_))) {
            self.collect_leaf(field, spec, place);
            return;
        }
        let Some(FieldValue::Fields(members)) = &mut field.value else {
            return;
        };
        let Some(items) = spec.and_then(|spec| spec.items.as_deref()) else {
            self.collect(members, spec.and_then(|spec| spec.fields.as_deref()), place);
            return;
        };
        self.arrays += 1;
        let array = Some(self.arrays);
        for row in members {
            self.rows += 1;
            let place = Place {
                row: Some(self.rows),
                array,
            };
            self.collect_field(row, Some(items), place);
        }
    }

    fn collect_leaf(&mut self, field: &'a mut ExtractedField, spec: Option<&Field>, place: Place) {
        let target = match &field.value {
            Some(value) if is_open(field) => Target::new(value, self.order),
            _ => None,
        };
        let Some(target) = target else {
            self.report.skipped += 1;
            if let (Some(row), Some(bbox), Some(page)) =
                (place.row, field.bbox, field.pages.first())
            {
                self.anchors
                    .entry((row, *page))
                    .or_default()
                    .push(bbox.rect());
            }
            return;
        };
        self.leaves.push(Leaf {
            labels: Labels::of(spec, &field.name),
            own_pages: field.pages.iter().copied().collect(),
            field,
            target,
            place,
            best: None,
        });
    }

    fn pass(
        &mut self,
        pass: Pass,
        all: &BTreeSet<u32>,
        pages: &(impl Pages + ?Sized),
        cancelled: &dyn Fn() -> bool,
    ) -> Result<()> {
        let missed: Vec<bool> = self.leaves.iter().map(|leaf| leaf.best.is_none()).collect();
        for page in all {
            let wanted: Vec<usize> = self
                .leaves
                .iter()
                .zip(&missed)
                .enumerate()
                .filter(|(_, (leaf, missed))| {
                    let is_own = leaf.own_pages.contains(page);
                    let is_settled = leaf.best.as_ref().is_some_and(|hit| hit.score >= 1.0);
                    **missed && !is_settled && is_own == (pass == Pass::OwnPages)
                })
                .map(|(at, _)| at)
                .collect();
            if wanted.is_empty() {
                continue;
            }
            if cancelled() {
                return Err(Error::Cancelled);
            }
            self.report.pages_read.insert(*page);
            if let Some(words) = pages.words(*page) {
                self.read_page(&words, &wanted);
            }
        }
        Ok(())
    }

    fn read_page(&mut self, words: &PageWords, wanted: &[usize]) {
        let index = PageIndex::new(words);
        let mut found: Vec<(usize, Places)> = Vec::new();
        for at in wanted {
            let Some(leaf) = self.leaves.get(*at) else {
                continue;
            };
            // A later page must be better than the best so far, not as good.
            let floor = leaf
                .best
                .as_ref()
                .map_or(self.threshold, |hit| hit.score + 1e-4);
            if let Some(places) = places(&index, &leaf.target, floor) {
                found.push((*at, places));
            }
        }
        // Members with one place only say where their row is; the others follow them.
        let (sure, open): (Vec<_>, Vec<_>) = found
            .into_iter()
            .partition(|(_, places)| places.spans.len() == 1);
        for (at, places) in sure.into_iter().chain(open) {
            self.choose(&index, at, &places);
        }
    }

    fn choose(&mut self, index: &PageIndex<'_>, at: usize, places: &Places) {
        let Some(leaf) = self.leaves.get_mut(at) else {
            return;
        };
        let page = index.page.page;
        let column = leaf
            .place
            .array
            .map(|array| (array, leaf.field.name.clone(), page));
        let taken = column.as_ref().and_then(|column| self.taken.get(column));
        let free: Vec<Span> = places
            .spans
            .iter()
            .copied()
            .filter(|span| !taken.is_some_and(|taken| taken.contains(span)))
            .collect();
        let free = if free.is_empty() {
            &places.spans
        } else {
            &free
        };
        let anchors = leaf
            .place
            .row
            .and_then(|row| self.anchors.get(&(row, page)))
            .and_then(Rect::around);
        let chosen = match anchors {
            Some(anchor) => beside(index, free, anchor),
            None if leaf.place.array.is_some() => free.first().copied(),
            None => nearest(index, free, &leaf.labels),
        };
        let Some((span, hit)) = chosen.and_then(|span| Some((span, places.hit(index, span)?)))
        else {
            return;
        };
        if let Some(row) = leaf.place.row {
            self.anchors.entry((row, page)).or_default().push(hit.rect);
        }
        if let Some(column) = column {
            self.taken.entry(column).or_default().push(span);
        }
        leaf.best = Some(hit);
    }

    fn settle(mut self) -> Report {
        for leaf in self.leaves {
            let Some(hit) = leaf.best else {
                self.report.missed += 1;
                continue;
            };
            let bbox = BoundingBox::unjudged(hit.rect, hit.source, Some(hit.score));
            leaf.field.bbox = quality::judged(bbox);
            leaf.field.pages.retain(|page| *page != hit.page);
            leaf.field.pages.insert(0, hit.page);
            self.report.grounded += 1;
        }
        self.report
    }
}

/// The place on the same height as the rest of its row; the first in reading order among equals.
fn beside(index: &PageIndex<'_>, places: &[Span], anchor: Rect) -> Option<Span> {
    let mut best: Option<(Span, f64)> = None;
    for span in places {
        let Some(rect) = rect_of(index.page, *span) else {
            continue;
        };
        let gap = (rect.center().1 - anchor.center().1).abs();
        if best.is_none_or(|(_, least)| gap < least - 1e-6) {
            best = Some((*span, gap));
        }
    }
    best.map(|(span, _)| span)
}
