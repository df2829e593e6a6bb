//! What holds for every page and every value.

use flydocs_contract::{FieldValue, PageWords, Rect, Word, WordSource};
use flydocs_grounding::{Options, ground, match_value, normalise};
use proptest::prelude::*;

use crate::paper::{group, leaf, shared, text};

/// Words of a page with boxes that may hang over its edges.
fn any_page(word: &'static str, least: usize) -> impl Strategy<Value = PageWords> {
    let words = (
        word,
        -0.1_f64..1.0,
        -0.1_f64..1.0,
        0.001_f64..0.3,
        0.001_f64..0.1,
    )
        .prop_map(|(text, x, y, w, h)| Word {
            text,
            rect: Rect::new(x, y, x + w, y + h),
            line: 0,
            confidence: None,
            bold: false,
        });
    prop::collection::vec(words, least..40).prop_map(|words| PageWords {
        page: 1,
        width: 595.0,
        height: 842.0,
        source: WordSource::Ocr,
        words,
        rulings: Vec::new(),
    })
}

fn any_value() -> impl Strategy<Value = FieldValue> {
    prop_oneof![
        any::<i64>().prop_map(FieldValue::Integer),
        any::<f64>().prop_map(FieldValue::Number),
        "\\PC{0,40}".prop_map(FieldValue::String),
        "[0-9]{4}-[0-9]{2}-[0-9]{2}".prop_map(FieldValue::String),
        "[-+ 0-9.,'/()%]{1,16}".prop_map(FieldValue::String),
        "[\u{4e00}-\u{4e20}0-9 ]{1,12}".prop_map(FieldValue::String),
    ]
}

proptest! {
    #[test]
    fn no_text_makes_it_panic_and_every_box_lies_on_the_page(
        page in any_page("\\PC{0,12}|[0-9.,/-]{1,8}|[\u{4e00}-\u{4e20}]{1,6}", 0),
        value in any_value(),
    ) {
        if let Some(hit) = match_value(&value, None, &page, &Options::default()) {
            let Rect { xmin, ymin, xmax, ymax } = hit.rect;
            prop_assert!(0.0 <= xmin && xmin < xmax && xmax <= 1.0);
            prop_assert!(0.0 <= ymin && ymin < ymax && ymax <= 1.0);
            prop_assert!((0.85..=1.0).contains(&hit.score));
            prop_assert!(*hit.words.end() < page.words.len());
        }
    }

    #[test]
    #[expect(clippy::float_cmp, reason = "a literal place scores just 1")]
    fn words_that_stand_on_the_page_are_found_as_they_are(
        page in any_page("[A-Za-z\u{e0}-\u{ff}\u{391}-\u{3a9}]{1,9}", 1),
        from in any::<prop::sample::Index>(),
        length in 1_usize..9,
    ) {
        let mut page = page;
        for word in &mut page.words {
            word.rect = word.rect.clipped().unwrap_or(Rect::new(0.1, 0.1, 0.2, 0.2));
        }
        let from = from.index(page.words.len());
        let to = (from + length).min(page.words.len());
        let words: Vec<&str> = page.words[from..to].iter().map(|w| w.text.as_str()).collect();
        let value = words.join(" ");
        let hit = match_value(&text(&value), None, &page, &Options::default()).unwrap();
        prop_assert_eq!(hit.score, 1.0);
        let found: Vec<String> =
            page.words[hit.words].iter().map(|w| normalise(&w.text)).collect();
        prop_assert_eq!(found.join(" "), normalise(&value));
    }

    #[test]
    fn the_scale_of_the_page_changes_nothing(
        page in any_page("[a-c]{1,3}|[0-9]{1,3}", 1),
        value in "[a-c]{1,3}( [a-c]{1,3}){0,2}|[0-9]{1,4}",
        scale in 0.01_f64..100.0,
    ) {
        let mut scaled = page.clone();
        scaled.width *= scale;
        scaled.height *= scale;
        let find = |page: &PageWords| match_value(&text(&value), None, page, &Options::default());
        prop_assert_eq!(find(&page), find(&scaled));
    }

    #[test]
    fn windows_that_were_struck_out_were_no_better(
        page in any_page("[a-d]{1,5}", 1),
        value in "[a-d]{2,6}( [a-d]{1,6}){0,3}|[a-d]{2,5}( [a-d]{1,5}){12,20}",
    ) {
        let hit = match_value(&text(&value), None, &page, &Options::default());
        prop_assert_eq!(hit.map(|hit| hit.score), brute(&value, &page));
    }

    #[test]
    fn a_value_keeps_its_value(
        page in any_page("\\PC{1,6}", 0),
        value in any_value(),
    ) {
        let mut groups = group(vec![leaf("x", value, &[1])]);
        let before = groups.clone();
        let pages = shared(vec![page]);
        ground(&mut groups, None, pages.as_slice(), &Options::default(), &|| false).unwrap();
        let (old, new) = (&before[0].fields[0], &groups[0].fields[0]);
        prop_assert_eq!(format!("{:?}", old.value), format!("{:?}", new.value));
        prop_assert_eq!(&new.pages, &[1]);
    }
}

/// Every window, compared in full.
fn brute(value: &str, page: &PageWords) -> Option<f64> {
    let target: Vec<char> = value.chars().collect();
    let words = value.split(' ').count();
    let most = (3 * words).max(words + 2);
    let mut best: Option<f64> = None;
    for first in 0..page.words.len() {
        for last in first..page.words.len().min(first + most) {
            let union = page.words[first..=last].iter().map(|word| &word.rect);
            if Rect::around(union)
                .and_then(|rect| rect.clipped())
                .is_none()
            {
                continue;
            }
            let texts: Vec<&str> = page.words[first..=last]
                .iter()
                .map(|w| w.text.as_str())
                .collect();
            let window: Vec<char> = texts.join(" ").chars().collect();
            let score =
                2.0 * common(&target, &window) as f64 / (target.len() + window.len()) as f64;
            if score >= 0.85 && best.is_none_or(|best| score > best) {
                best = Some(score);
            }
        }
    }
    best.map(|best| (best * 1e4).round() / 1e4)
}

fn common(a: &[char], b: &[char]) -> usize {
    let mut row = vec![0_usize; b.len() + 1];
    for x in a {
        let mut diagonal = 0;
        for (j, y) in b.iter().enumerate() {
            let above = row[j + 1];
            row[j + 1] = if x == y {
                diagonal + 1
            } else {
                above.max(row[j])
            };
            diagonal = above;
        }
    }
    row[b.len()]
}
