//! Whether a font without a readable program is bold: the width of its stems says so.

use std::collections::HashMap;

use hayro_interpret::font::{Glyph, GlyphIdentifier, GlyphRun, OutlineGlyph};
use kurbo::{BezPath, ParamCurve, PathSeg, Shape};

/// Stems of regular faces are 40 to 95 thousandths of an em wide, of bold ones 105 to 160.
const BOLD_STEM: f64 = 103.0;

/// Characters with a straight stem, lower case then capitals and digits.
const LOW: &str = "iklmnrubdhpq";
const HIGH: &str = "BDEFHIKLNPRT014";

/// So many stems of a run say what the run is.
const MEASURED: i32 = 5;

/// Stem widths already measured, by glyph outline.
#[derive(Default)]
pub(super) struct Weights {
    stems: HashMap<GlyphIdentifier, Option<f64>>,
}

impl Weights {
    /// True when most measurable glyphs of the run have bold stems.
    pub(super) fn run_is_bold(&mut self, run: &GlyphRun<'_, '_>) -> bool {
        let (mut bold, mut regular) = (0, 0);
        for glyph in run.glyphs().iter().take(24) {
            let Glyph::Outline(outline) = &**glyph else {
                continue;
            };
            match self.stem(outline) {
                Some(stem) if stem >= BOLD_STEM => bold += 1,
                Some(_) => regular += 1,
                None => {}
            }
            if bold + regular == MEASURED {
                break;
            }
        }
        bold > regular
    }

    fn stem(&mut self, glyph: &OutlineGlyph) -> Option<f64> {
        let ch = match glyph.as_unicode()? {
            hayro_cmap::BfString::Char(c) => c,
            hayro_cmap::BfString::String(_) => return None,
        };
        let height = match ch {
            c if LOW.contains(c) => 230.0,
            c if HIGH.contains(c) => 200.0,
            _ => return None,
        };
        *self
            .stems
            .entry(glyph.identifier())
            .or_insert_with(|| narrowest(&glyph.outline(), height))
    }
}

/// Width of the narrowest black part at a height.
fn narrowest(outline: &BezPath, height: f64) -> Option<f64> {
    let bounds = outline.bounding_box();
    if bounds.width() <= 0.0 || height < bounds.y0 || height > bounds.y1 {
        return None;
    }
    let mut crossings: Vec<f64> = outline
        .segments()
        .flat_map(|segment| crossings(segment, height))
        .collect();
    crossings.sort_by(f64::total_cmp);
    crossings
        .chunks_exact(2)
        .map(|pair| pair[1] - pair[0])
        .filter(|width| *width > 15.0 && *width < 260.0)
        .min_by(f64::total_cmp)
}

fn crossings(segment: PathSeg, height: f64) -> Vec<f64> {
    let far = kurbo::Line::new((-10_000.0, height), (10_000.0, height));
    segment
        .intersect_line(far)
        .into_iter()
        .map(|hit| segment.eval(hit.segment_t).x)
        .collect()
}
