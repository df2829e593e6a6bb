use std::sync::Arc;

use flydocs_contract::{PageWords, Rect, Word, WordSource};
use flydocs_engines::LocalLayout;
use proptest::prelude::*;

use crate::page::invoice_type;

fn words() -> impl Strategy<Value = Vec<Word>> {
    let corner = -0.2..1.2_f64;
    let word = (
        prop_oneof![
            "\\PC{1,12}",
            "[0-9.,/:-]{1,10}",
            "Total:",
            "Invoice",
            "Date",
            "€",
            "Quantity",
            "Amount"
        ],
        corner.clone(),
        corner,
        -0.1..0.3_f64,
        -0.05..0.1_f64,
        proptest::option::of(0.0..1.0_f32),
    );
    prop::collection::vec(word, 0..60).prop_map(|words| {
        words
            .into_iter()
            .enumerate()
            .map(|(line, (text, x, y, w, h, confidence))| Word {
                text,
                rect: Rect::new(x, y, x + w, y + h),
                line: line as u32 / 4,
                confidence,
                bold: line % 7 == 0,
            })
            .collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn any_words_anywhere_give_an_answer_in_shape(words in words(), recognised in any::<bool>()) {
        let source = if recognised { WordSource::Ocr } else { WordSource::PdfText };
        let page = Arc::new(PageWords { page: 1, width: 600.0, height: 800.0, source, words, rulings: Vec::new() });
        let spec = invoice_type();
        let groups = LocalLayout.read(&[Arc::clone(&page), page], &spec);
        prop_assert_eq!(groups.len(), spec.field_groups.len());
        for field in groups.iter().flat_map(|g| &g.fields) {
            prop_assert!((0.0..=1.0).contains(&field.confidence));
            if let Some(b) = &field.bbox {
                prop_assert!(b.xmin >= 0.0 && b.xmax <= 1.0 && b.ymin >= 0.0 && b.ymax <= 1.0);
            }
        }
    }
}

#[test]
fn no_pages_and_empty_pages_have_no_values() {
    for pages in [vec![], vec![crate::page::page(1, &[])]] {
        let groups = LocalLayout.read(&pages, &invoice_type());
        assert!(
            groups[0]
                .fields
                .iter()
                .filter(|f| f.name != "payment")
                .all(|f| f.value.is_none())
        );
    }
}
