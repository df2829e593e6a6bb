//! Listens to the drawing of a page and keeps its glyphs, fills and lines.

use std::{collections::HashMap, rc::Rc};

use hayro_cmap::{BfString, WritingMode};
use hayro_interpret::{
    BlendMode, ClipPath, Device, DrawMode, DrawProps, Image, ImageDrawProps, Paint, SoftMask,
    font::{Glyph as DrawnGlyph, GlyphRun},
};
use kurbo::{Affine, BezPath, Point, Rect, Shape};
use skrifa::MetadataProvider;

use super::{rulings::Rulings, weight::Weights};

/// A page that draws more than this is not read further: nobody printed it to be read.
const MAX_GLYPHS: usize = 400_000;
/// Fills remembered to tell white text on a dark ground from hidden text.
const MAX_COVERS: usize = 4_000;

/// A glyph on the upright page (points, origin top left).
#[derive(Debug, Clone)]
pub(super) struct Glyph {
    pub(super) text: String,
    pub(super) rect: Rect,
    pub(super) origin: Point,
    pub(super) end: Point,
    pub(super) size: f64,
    pub(super) bold: bool,
    pub(super) hidden: Hidden,
}

/// Why a glyph cannot be seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Hidden {
    /// It can.
    No,
    /// Drawn in the invisible mode: the layer under a scan, or a lie.
    Mode,
    /// White on white, or fully transparent.
    Paint,
}

/// What is known of a font once.
struct FontFacts {
    by_glyph: HashMap<u32, char>,
    ascent: f64,
    descent: f64,
    bold: bool,
}

/// Fonts seen in this file, by their content.
#[derive(Default)]
pub(super) struct Fonts {
    facts: HashMap<u128, Rc<FontFacts>>,
    weights: Weights,
}

/// Something painted over an area: text under a light colour on it cannot be seen.
struct Cover {
    rect: Rect,
    light: bool,
}

/// The device.
pub(super) struct Listener<'f> {
    pub(super) glyphs: Vec<Glyph>,
    pub(super) rulings: Rulings,
    /// Share of the page covered by its largest image.
    pub(super) image_share: f64,
    /// Paths and images drawn: nothing of it is in the text layer.
    pub(super) drawings: usize,
    to_page: Affine,
    page: Rect,
    covers: Vec<Cover>,
    fonts: &'f mut Fonts,
}

impl<'f> Listener<'f> {
    pub(super) fn new(to_page: Affine, width: f64, height: f64, fonts: &'f mut Fonts) -> Self {
        Self {
            glyphs: Vec::new(),
            rulings: Rulings::new(width, height),
            image_share: 0.0,
            drawings: 0,
            to_page,
            page: Rect::new(0.0, 0.0, width, height),
            covers: Vec::new(),
            fonts,
        }
    }

    /// Paint that leaves no trace on what is under it.
    fn unseen(&self, paint: &Paint<'_>, at: Point) -> bool {
        let Paint::Color(color) = paint else {
            return false;
        };
        let [red, green, blue, alpha] = color.to_rgba().components();
        if alpha < 0.02 {
            return true;
        }
        if red.min(green).min(blue) < 0.985 {
            return false;
        }
        self.covers
            .iter()
            .rev()
            .find(|cover| cover.rect.contains(at))
            .is_none_or(|cover| cover.light)
    }

    fn cover(&mut self, rect: Rect, light: bool) {
        if rect.width() > 3.0 && rect.height() > 3.0 && self.covers.len() < MAX_COVERS {
            self.covers.push(Cover { rect, light });
        }
    }
}

fn is_light(paint: &Paint<'_>) -> bool {
    let Paint::Color(color) = paint else {
        return false;
    };
    let [red, green, blue, alpha] = color.to_rgba().components();
    alpha > 0.5 && red.min(green).min(blue) >= 0.93
}

impl Fonts {
    fn facts(&mut self, glyph: &DrawnGlyph<'_>) -> Option<Rc<FontFacts>> {
        let DrawnGlyph::Outline(outline) = glyph else {
            return None;
        };
        let data = outline.font_data()?;
        let facts = self.facts.entry(data.cache_key).or_insert_with(|| {
            let name = data.postscript_name.as_deref().unwrap_or_default();
            let bold = data.weight.is_some_and(|w| w >= 600) || names_bold(name);
            Rc::new(FontFacts::read((*data.data).as_ref(), bold))
        });
        Some(facts.clone())
    }
}

fn names_bold(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    ["bold", "black", "heavy", "demi", "cmbx"]
        .iter()
        .any(|w| name.contains(w))
}

impl FontFacts {
    fn read(data: &[u8], bold: bool) -> Self {
        let mut facts = Self {
            by_glyph: HashMap::new(),
            ascent: 0.0,
            descent: 0.0,
            bold,
        };
        let Ok(font) = skrifa::FontRef::new(data) else {
            return facts;
        };
        for (code, glyph) in font.charmap().mappings() {
            if let Some(ch) = char::from_u32(code) {
                facts.by_glyph.entry(glyph.to_u32()).or_insert(ch);
            }
        }
        let metrics = font.metrics(
            skrifa::instance::Size::unscaled(),
            skrifa::instance::LocationRef::default(),
        );
        let em = f64::from(metrics.units_per_em);
        if em > 0.0 {
            facts.ascent = f64::from(metrics.ascent) / em * 1000.0;
            facts.descent = f64::from(metrics.descent) / em * 1000.0;
        }
        facts
    }

    /// Ascent and descent, when the font's own are plausible.
    fn vertical(&self) -> Option<(f64, f64)> {
        let height = self.ascent - self.descent;
        (height > 900.0 && height < 1400.0 && self.ascent > 650.0 && self.descent < 0.0)
            .then_some((self.ascent, self.descent))
    }
}

fn unicode(glyph: &DrawnGlyph<'_>, facts: Option<&FontFacts>) -> String {
    let text = match glyph.as_unicode() {
        Some(BfString::Char(c)) => c.to_string(),
        Some(BfString::String(s)) => s,
        None => String::new(),
    };
    if !text.is_empty() && text != "\u{fffd}" {
        return text;
    }
    if let (DrawnGlyph::Outline(outline), Some(facts)) = (glyph, facts)
        && let Some(ch) = facts.by_glyph.get(&outline.glyph_id().to_u32())
    {
        return ch.to_string();
    }
    "\u{fffd}".to_owned()
}

/// Origin, pen after the glyph, and the corners of its box, in glyph space (1000 a em).
fn extent(advance: f64, vertical: (f64, f64), mode: WritingMode) -> (Point, Point, Rect) {
    if matches!(mode, WritingMode::Vertical) {
        let width = if advance > 1.0 { advance } else { 1000.0 };
        return (
            Point::new(width / 2.0, 880.0),
            Point::new(width / 2.0, -120.0),
            Rect::new(0.0, -120.0, width, 880.0),
        );
    }
    let (ascent, descent) = vertical;
    (
        Point::ZERO,
        Point::new(advance, 0.0),
        Rect::new(0.0, descent, advance, ascent),
    )
}

impl Device<'_> for Listener<'_> {
    fn draw_path(&mut self, path: &BezPath, props: DrawProps<'_>, mode: &DrawMode) {
        let transform = self.to_page * props.transform;
        let bounds = transform.transform_rect_bbox(path.bounding_box());
        if !bounds.is_finite() || !bounds.overlaps(self.page) {
            return;
        }
        let light = is_light(&props.paint);
        if matches!(mode, DrawMode::Fill(_) | DrawMode::FillAndStroke(..)) {
            self.cover(bounds, light);
        }
        if !light {
            self.drawings += 1;
            self.rulings.add(path, transform, bounds, mode);
        }
    }

    fn push_clip_path(&mut self, _: &ClipPath) {}

    fn push_transparency_group(&mut self, _: f32, _: Option<SoftMask<'_>>, _: BlendMode) {}

    fn draw_glyph_run(&mut self, run: &GlyphRun<'_, '_>, props: DrawProps<'_>, mode: &DrawMode) {
        let Some(first) = run.glyphs().first() else {
            return;
        };
        let facts = self.fonts.facts(first);
        let bold = match &facts {
            Some(facts) => facts.bold,
            None => self.fonts.weights.run_is_bold(run),
        };
        let vertical = facts
            .as_ref()
            .and_then(|f| f.vertical())
            .unwrap_or((900.0, -220.0));
        for glyph in run.glyphs() {
            if self.glyphs.len() >= MAX_GLYPHS {
                return;
            }
            let transform = self.to_page * props.transform * glyph.transform();
            let [_, _, c, d, _, _] = transform.as_coeffs();
            let size = c.hypot(d) * 1000.0;
            let advance = match &**glyph {
                DrawnGlyph::Outline(outline) => outline.advance_width(),
                DrawnGlyph::Type3(type3) => type3.advance_width(),
            };
            let advance = f64::from(advance.unwrap_or(500.0));
            let (origin, end, bounds) = extent(advance, vertical, run.writing_mode());
            let rect = transform.transform_rect_bbox(bounds);
            if !rect.is_finite() || !touches(rect, self.page) {
                continue;
            }
            let hidden = if matches!(mode, DrawMode::Invisible) {
                Hidden::Mode
            } else if self.unseen(&props.paint, rect.center()) {
                Hidden::Paint
            } else {
                Hidden::No
            };
            self.glyphs.push(Glyph {
                text: unicode(glyph, facts.as_deref()),
                rect,
                origin: transform * origin,
                end: transform * end,
                size,
                bold,
                hidden,
            });
        }
    }

    fn draw_image(&mut self, image: Image<'_, '_>, props: ImageDrawProps<'_>) {
        let (width, height) = (f64::from(image.width()), f64::from(image.height()));
        let bounds = (self.to_page * props.transform)
            .transform_rect_bbox(Rect::new(0.0, 0.0, width, height))
            .intersect(self.page);
        if !bounds.is_finite() || bounds.area() <= 0.0 {
            return;
        }
        self.drawings += 1;
        self.cover(bounds, false);
        self.image_share = self
            .image_share
            .max(bounds.area() / self.page.area().max(1.0));
    }

    fn pop_clip(&mut self) {}

    fn pop_transparency_group(&mut self) {}
}

/// True also for a glyph without width.
fn touches(rect: Rect, page: Rect) -> bool {
    rect.x1 >= page.x0 && rect.y1 >= page.y0 && rect.x0 <= page.x1 && rect.y0 <= page.y1
}
