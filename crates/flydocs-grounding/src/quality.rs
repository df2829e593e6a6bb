//! How plausible a box is by its shape alone (bbox_validation).
//!
//! Runs after extraction and again on every box the grounding replaces.

use flydocs_contract::{
    BoundingBox, BoxQuality, FieldValue, Rect,
    result::{ExtractedField, ExtractedFieldGroup},
};

const MOST_AREA: f64 = 0.7;
const MOST_SIDE: f64 = 0.9;
const LEAST_AREA: f64 = 5e-5;
const MOST_STRETCH: f64 = 30.0;
const FULL_AREA: (f64, f64) = (1e-4, 0.5);
const FULL_ASPECT: (f64, f64) = (0.05, 25.0);
const BORDER: f64 = 1e-3;

/// Judges every box of the groups, at any depth; a field without a value loses its box.
pub fn judge(groups: &mut [ExtractedFieldGroup]) {
    for group in groups {
        judge_fields(&mut group.fields);
    }
}

fn judge_fields(fields: &mut [ExtractedField]) {
    for field in fields {
        if let Some(FieldValue::Fields(members)) = &mut field.value {
            judge_fields(members);
        }
        field.bbox = match field.bbox.take() {
            Some(bbox) if field.value.is_some() => judged(bbox),
            _ => None,
        };
    }
}

/// The box with its quality; `None` for a box without any extent, which stands for "no box".
pub fn judged(bbox: BoundingBox) -> Option<BoundingBox> {
    let rect = bbox.rect();
    if rect.width() == 0.0 && rect.height() == 0.0 {
        return None;
    }
    let (quality, quality_score) = of(rect);
    Some(BoundingBox {
        quality,
        quality_score,
        ..bbox
    })
}

/// The quality of a rectangle and the figure behind it, 0 to 1 with four decimals.
pub fn of(rect: Rect) -> (BoxQuality, f64) {
    let (width, height) = (rect.width(), rect.height());
    // Written so that a side that is not a number counts as none.
    if !(width > 0.0 && height > 0.0) {
        return (BoxQuality::Invalid, 0.0);
    }
    let (area, aspect) = (width * height, width / height);
    if area > MOST_AREA || width > MOST_SIDE || height > MOST_SIDE {
        return (BoxQuality::Suspicious, 0.2);
    }
    if area < LEAST_AREA || !(1.0 / MOST_STRETCH..=MOST_STRETCH).contains(&aspect) {
        return (BoxQuality::Poor, 0.4);
    }
    let score = 0.5 * area_score(area) + 0.3 * aspect_score(aspect) + 0.2 * margin_score(rect);
    (BoxQuality::Good, four_decimals(score))
}

fn area_score(area: f64) -> f64 {
    if area < FULL_AREA.0 {
        (area - LEAST_AREA) / (FULL_AREA.0 - LEAST_AREA)
    } else if area > FULL_AREA.1 {
        (MOST_AREA - area) / (MOST_AREA - FULL_AREA.1)
    } else {
        1.0
    }
}

fn aspect_score(aspect: f64) -> f64 {
    if aspect < FULL_ASPECT.0 {
        aspect / FULL_ASPECT.0
    } else if aspect > FULL_ASPECT.1 {
        (1.0 - (aspect - FULL_ASPECT.1) / MOST_STRETCH).max(0.0)
    } else {
        1.0
    }
}

fn margin_score(rect: Rect) -> f64 {
    let touched = [
        rect.xmin <= BORDER,
        rect.ymin <= BORDER,
        rect.xmax >= 1.0 - BORDER,
        rect.ymax >= 1.0 - BORDER,
    ];
    1.0 - 0.25 * touched.into_iter().filter(|edge| *edge).count() as f64
}

/// Rounded to four decimals, as scores are on the wire.
pub(crate) fn four_decimals(score: f64) -> f64 {
    (score * 10_000.0).round() / 10_000.0
}

#[cfg(test)]
mod tests {
    use flydocs_contract::BoxSource;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn every_shape_has_its_verdict() {
        use BoxQuality::{Good, Invalid, Poor, Suspicious};
        for (rect, wanted) in [
            (Rect::new(0.5, 0.1, 0.4, 0.2), (Invalid, 0.0)),
            (Rect::new(0.5, 0.1, 0.5, 0.2), (Invalid, 0.0)),
            (Rect::new(f64::NAN, 0.1, 0.5, 0.2), (Invalid, 0.0)),
            (Rect::new(0.02, 0.02, 0.88, 0.88), (Suspicious, 0.2)),
            (Rect::new(0.02, 0.1, 0.95, 0.2), (Suspicious, 0.2)),
            (Rect::new(0.1, 0.1, 0.105, 0.105), (Poor, 0.4)),
            (Rect::new(0.1, 0.1, 0.5, 0.11), (Poor, 0.4)),
            (Rect::new(0.1, 0.1, 0.11, 0.5), (Poor, 0.4)),
            (Rect::new(0.1, 0.1, 0.3, 0.12), (Good, 1.0)),
            // area 7.5e-5: half way up
            (Rect::new(0.1, 0.1, 0.11, 0.1075), (Good, 0.75)),
            // area 0.6: half way down
            (Rect::new(0.05, 0.05, 0.8, 0.85), (Good, 0.75)),
            // aspect 28: 1 - 3/30
            (Rect::new(0.1, 0.1, 0.38, 0.11), (Good, 0.97)),
            // aspect 0.04: 0.8
            (Rect::new(0.1, 0.1, 0.12, 0.6), (Good, 0.94)),
            // two edges at the border
            (Rect::new(0.0, 0.001, 0.2, 0.05), (Good, 0.9)),
        ] {
            assert_eq!(of(rect), wanted, "{rect:?}");
        }
    }

    #[test]
    fn a_field_without_value_or_extent_has_no_box() {
        let boxed = |value, rect| ExtractedField {
            value,
            bbox: Some(BoundingBox::unjudged(rect, BoxSource::Llm, None)),
            ..ExtractedField::empty("x")
        };
        let somewhere = Rect::new(0.1, 0.1, 0.3, 0.12);
        let text = || Some(FieldValue::String("x".to_owned()));
        let mut groups = [ExtractedFieldGroup {
            name: "g".to_owned(),
            fields: vec![
                boxed(None, somewhere),
                boxed(text(), Rect::default()),
                boxed(
                    Some(FieldValue::Fields(vec![boxed(
                        text(),
                        Rect::new(0.3, 0.1, 0.1, 0.2),
                    )])),
                    somewhere,
                ),
            ],
        }];
        judge(&mut groups);
        let fields = &groups[0].fields;
        assert_eq!(fields[0].bbox, None);
        assert_eq!(fields[1].bbox, None);
        let Some(FieldValue::Fields(members)) = &fields[2].value else {
            panic!("an object")
        };
        assert_eq!(members[0].bbox.unwrap().quality, BoxQuality::Invalid);
        assert_eq!(fields[2].bbox.unwrap().quality, BoxQuality::Good);
    }

    proptest! {
        #[test]
        #[expect(clippy::float_cmp, reason = "the figures are constants")]
        fn the_figure_stays_between_its_bounds(
            xmin in -0.5_f64..1.5, ymin in -0.5_f64..1.5, xmax in -0.5_f64..1.5, ymax in -0.5_f64..1.5,
        ) {
            let (quality, score) = of(Rect::new(xmin, ymin, xmax, ymax));
            prop_assert!((0.0..=1.0).contains(&score));
            match quality {
                BoxQuality::Invalid => prop_assert_eq!(score, 0.0),
                BoxQuality::Suspicious => prop_assert_eq!(score, 0.2),
                BoxQuality::Poor => prop_assert_eq!(score, 0.4),
                BoxQuality::Good => prop_assert_eq!(score, (score * 1e4).round() / 1e4),
            }
        }
    }
}
