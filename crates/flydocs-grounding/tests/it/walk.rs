//! From groups to grounded groups.

use std::{
    cell::{Cell, RefCell},
    sync::Arc,
};

use flydocs_contract::{
    BoundingBox, BoxQuality, BoxSource, ExtractedField, Field, FieldType, FieldValue, PageWords,
    Rect,
    request::{DocumentTypeSpec, FieldGroup},
};
use flydocs_grounding::{Error, Options, Pages, candidate_pages, ground};

use crate::paper::{container, group, leaf, page, shared, text};

/// Pages that remember which of them were asked for.
struct Asked {
    pages: Vec<Arc<PageWords>>,
    asked: RefCell<Vec<u32>>,
}

impl Asked {
    fn new(pages: Vec<PageWords>) -> Self {
        Self {
            pages: shared(pages),
            asked: RefCell::default(),
        }
    }
}

impl Pages for Asked {
    fn numbers(&self) -> Vec<u32> {
        self.pages.numbers()
    }

    fn words(&self, page: u32) -> Option<Arc<PageWords>> {
        self.asked.borrow_mut().push(page);
        self.pages.words(page)
    }
}

fn spec(fields: Vec<Field>) -> DocumentTypeSpec {
    DocumentTypeSpec {
        id: "invoice".to_owned(),
        description: None,
        country: None,
        field_groups: vec![FieldGroup {
            name: "main".to_owned(),
            description: None,
            fields,
        }],
        visual_checks: Vec::new(),
    }
}

fn named(name: &str, field_type: FieldType) -> Field {
    Field {
        name: name.to_owned(),
        field_type,
        ..Field::default()
    }
}

const NEVER: &dyn Fn() -> bool = &|| false;

#[test]
fn a_hit_replaces_the_box_and_puts_its_page_first() {
    let pages = shared(vec![page(3, "nothing"), page(4, "here ACME\nstands")]);
    let mut groups = group(vec![leaf("seller", text("ACME"), &[3, 4])]);
    let report = ground(
        &mut groups,
        None,
        pages.as_slice(),
        &Options::default(),
        NEVER,
    )
    .unwrap();
    assert_eq!((report.grounded, report.missed, report.skipped), (1, 0, 0));
    let field = &groups[0].fields[0];
    let bbox = field.bbox.unwrap();
    assert_eq!(bbox.rect(), pages[1].words[1].rect);
    assert_eq!(bbox.source, BoxSource::PdfText);
    assert_eq!(bbox.refinement_confidence, Some(1.0));
    assert_eq!(bbox.quality, BoxQuality::Good);
    assert_eq!(field.pages, [4, 3]);
}

#[test]
fn a_miss_keeps_the_engines_box() {
    let pages = shared(vec![page(1, "something else")]);
    let mut groups = group(vec![leaf("seller", text("ACME"), &[1])]);
    let before = groups.clone();
    let report = ground(
        &mut groups,
        None,
        pages.as_slice(),
        &Options::default(),
        NEVER,
    )
    .unwrap();
    assert_eq!(report.missed, 1);
    assert_eq!(groups, before);
}

#[test]
fn what_needs_no_box_or_has_one_is_left_alone() {
    let native = Some(BoundingBox::unjudged(
        Rect::new(0.1, 0.1, 0.2, 0.2),
        BoxSource::Ocr,
        Some(0.9),
    ));
    let pages = Asked::new(vec![page(1, "ACME true")]);
    let mut groups = group(vec![
        ExtractedField::empty("nothing"),
        leaf("flag", FieldValue::Boolean(true), &[1]),
        ExtractedField {
            bbox: native,
            ..leaf("seller", text("ACME"), &[1])
        },
    ]);
    let before = groups.clone();
    let report = ground(&mut groups, None, &pages, &Options::default(), NEVER).unwrap();
    assert_eq!((report.skipped, report.grounded), (3, 0));
    assert_eq!(groups, before);
    assert!(pages.asked.borrow().is_empty());
}

#[test]
fn own_pages_come_first_then_all_others_and_no_more_than_needed() {
    let texts = ["ACME", "beta", "ACME", "gamma", "delta"];
    let pages: Vec<PageWords> = (1..).zip(texts).map(|(n, text)| page(n, text)).collect();
    for (value, own, asked, hit) in [
        // on its own page: no other is read, though page 1 has it too
        ("ACME", vec![3], vec![3], Some(3)),
        // not on its own page: the others in order, up to the first that says just this
        ("gamma", vec![2], vec![2, 1, 3, 4], Some(4)),
        // pages it does not name: all
        ("beta", vec![], vec![1, 2], Some(2)),
        ("omega", vec![5], vec![5, 1, 2, 3, 4], None),
        // a page the document does not have
        ("beta", vec![9], vec![1, 2], Some(2)),
    ] {
        let pages = Asked::new(pages.clone());
        let mut groups = group(vec![leaf("x", text(value), &own)]);
        let report = ground(&mut groups, None, &pages, &Options::default(), NEVER).unwrap();
        assert_eq!(*pages.asked.borrow(), asked, "{value} {own:?}");
        assert_eq!(report.grounded, usize::from(hit.is_some()));
        if let Some(hit) = hit {
            assert_eq!(groups[0].fields[0].pages[0], hit);
        }
    }
}

#[test]
fn the_best_score_wins_and_the_earlier_page_among_equals() {
    let pages = shared(vec![
        page(1, "Acme C0rp"),
        page(2, "Acme Corp"),
        page(3, "Acme Corp"),
    ]);
    let mut groups = group(vec![leaf("x", text("Acme Corp"), &[1, 2, 3])]);
    ground(
        &mut groups,
        None,
        pages.as_slice(),
        &Options::default(),
        NEVER,
    )
    .unwrap();
    assert_eq!(groups[0].fields[0].pages, [2, 1, 3]);
}

#[test]
fn a_cancelled_grounding_changes_nothing() {
    let pages = Asked::new((1..=5).map(|n| page(n, "ACME")).collect());
    let mut groups = group(vec![
        leaf("a", text("ACME"), &[1]),
        leaf("b", text("none"), &[2]),
    ]);
    let before = groups.clone();
    let asked = Cell::new(0);
    let cancelled = || {
        asked.set(asked.get() + 1);
        asked.get() > 2
    };
    let result = ground(&mut groups, None, &pages, &Options::default(), &cancelled);
    assert_eq!(result.unwrap_err(), Error::Cancelled);
    assert_eq!(groups, before);
    assert_eq!(*pages.asked.borrow(), [1, 2]);
}

#[test]
fn grounding_twice_is_grounding_once() {
    let pages = shared(vec![page(1, "ACME owes 5,00"), page(2, "on 3 Jan 2026")]);
    let mut groups = group(vec![
        leaf("seller", text("ACME"), &[1]),
        leaf("sum", FieldValue::Integer(5), &[1]),
        leaf("day", text("2026-01-03"), &[1]),
        leaf("none", text("nowhere"), &[1]),
    ]);
    assert_eq!(
        candidate_pages(&groups).into_iter().collect::<Vec<_>>(),
        [1]
    );
    ground(
        &mut groups,
        None,
        pages.as_slice(),
        &Options::default(),
        NEVER,
    )
    .unwrap();
    let once = groups.clone();
    let report = ground(
        &mut groups,
        None,
        pages.as_slice(),
        &Options::default(),
        NEVER,
    )
    .unwrap();
    assert_eq!((report.grounded, report.missed, report.skipped), (0, 1, 3));
    assert_eq!(groups, once);
}

#[test]
fn equal_cells_of_a_table_go_to_their_own_rows() {
    let paper = page(
        1,
        "Item          Qty     Price\n\
         Red pen         1      2.00\n\
         Blue pen        1      2.00\n\
         Red pen         1      3.00\n\
         Red pen         1      2.00\n\
         Total           4      9.00\n",
    );
    let pages = shared(vec![paper.clone()]);
    let row = |item: &str, price: f64| {
        container(
            "line",
            vec![
                leaf("qty", FieldValue::Integer(1), &[1]),
                leaf("item", text(item), &[1]),
                leaf("price", FieldValue::Number(price), &[1]),
            ],
        )
    };
    let mut groups = group(vec![container(
        "lines",
        vec![
            row("Red pen", 2.0),
            row("Blue pen", 2.0),
            row("Red pen", 3.0),
            row("Red pen", 2.0),
        ],
    )]);
    let items = Field {
        fields: Some(vec![
            named("qty", FieldType::Integer),
            named("item", FieldType::String),
            named("price", FieldType::Number),
        ]),
        ..named("line", FieldType::Object)
    };
    let lines = Field {
        items: Some(Box::new(items)),
        ..named("lines", FieldType::Array)
    };
    let spec = spec(vec![lines]);
    ground(
        &mut groups,
        Some(&spec),
        pages.as_slice(),
        &Options::default(),
        NEVER,
    )
    .unwrap();
    let Some(FieldValue::Fields(rows)) = &groups[0].fields[0].value else {
        panic!("an array")
    };
    let tops: Vec<Vec<f64>> = rows
        .iter()
        .map(|row| {
            let Some(FieldValue::Fields(cells)) = &row.value else {
                panic!("an object")
            };
            cells.iter().map(|cell| cell.bbox.unwrap().ymin).collect()
        })
        .collect();
    let top = |line: u32| {
        paper
            .words
            .iter()
            .find(|w| w.line == line)
            .unwrap()
            .rect
            .ymin
    };
    for (row, tops) in (1..).zip(tops) {
        assert_eq!(tops, vec![top(row); 3], "row {row}");
    }
}

#[test]
fn a_segment_keeps_the_page_numbers_of_its_file() {
    let pages = shared(vec![page(41, "a"), page(42, "ACME")]);
    let mut groups = group(vec![leaf("x", text("ACME"), &[41])]);
    ground(
        &mut groups,
        None,
        pages.as_slice(),
        &Options::default(),
        NEVER,
    )
    .unwrap();
    assert_eq!(groups[0].fields[0].pages, [42, 41]);
}
