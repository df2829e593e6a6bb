//! Listens to the drawing of a page and keeps its glyphs, fills and lines.

use std::{cell::OnceCell, collections::HashMap, rc::Rc};

use hayro_cmap::{BfString, WritingMode};
use hayro_interpret::{
    BlendMode, ClipPath, Device, DrawMode, DrawProps, Image, ImageDrawProps, Paint, SoftMask,
    font::{FontData, Glyph as DrawnGlyph, GlyphIdentifier, GlyphRun},
};
use kurbo::{Affine, BezPath, Point, Rect, Shape};
use skrifa::MetadataProvider;

use hayro_syntax::page::Page;

use super::{collections::Collections, rulings::Rulings, weight::Weights};

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
    name: String,
    data: FontData,
    /// What the font itself says its glyphs are; asked only when the file does not say.
    by_glyph: OnceCell<HashMap<u32, char>>,
    ascent: f64,
    descent: f64,
    bold: bool,
}

/// Fonts seen in this file, by their content.
#[derive(Default)]
pub(super) struct Fonts {
    facts: HashMap<u128, Rc<FontFacts>>,
    /// The same by a glyph of the font: asking the font costs more than drawing the glyph.
    seen: HashMap<GlyphIdentifier, Option<Rc<FontFacts>>>,
    weights: Weights,
    collections: Collections,
}

/// Something painted over an area: text under a light colour on it cannot be seen.
struct Cover {
    rect: Rect,
    light: bool,
}

/// The device.
pub(super) struct Listener<'f, 'p> {
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
    source: &'f Page<'p>,
    /// The collections of the page were looked up.
    asked: bool,
}

impl<'f, 'p> Listener<'f, 'p> {
    pub(super) fn new(
        source: &'f Page<'p>,
        to_page: Affine,
        (width, height): (f64, f64),
        fonts: &'f mut Fonts,
    ) -> Self {
        Self {
            source,
            asked: false,
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

    /// What a glyph is by its font, or by the collection the font takes its glyphs from.
    fn looked_up(&mut self, glyph: &DrawnGlyph<'_>, facts: Option<&FontFacts>) -> String {
        let unknown = || "\u{fffd}".to_owned();
        let (DrawnGlyph::Outline(outline), Some(facts)) = (glyph, facts) else {
            return unknown();
        };
        if let Some(ch) = facts.character(outline.glyph_id().to_u32()) {
            return ch.to_string();
        }
        if !self.asked {
            self.asked = true;
            self.fonts.collections.add(self.source);
        }
        let collections = &self.fonts.collections;
        collections
            .character(&facts.name, outline.char_code())
            .unwrap_or_else(unknown)
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
        let glyph = outline.identifier();
        if let Some(known) = self.seen.get(&glyph) {
            return known.clone();
        }
        let facts = outline.font_data().map(|data| {
            let facts = self.facts.entry(data.cache_key).or_insert_with(|| {
                let name = data.postscript_name.unwrap_or_default();
                let bold = data.weight.is_some_and(|w| w >= 600) || names_bold(&name);
                Rc::new(FontFacts::read(name, data.data, bold))
            });
            facts.clone()
        });
        self.seen.insert(glyph, facts.clone());
        facts
    }
}

fn names_bold(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    ["bold", "black", "heavy", "demi", "cmbx"]
        .iter()
        .any(|w| name.contains(w))
}

impl FontFacts {
    fn read(name: String, data: FontData, bold: bool) -> Self {
        let mut facts = Self {
            name,
            by_glyph: OnceCell::new(),
            ascent: 0.0,
            descent: 0.0,
            bold,
            data,
        };
        let bytes = facts.data.clone();
        if let Ok(font) = skrifa::FontRef::new((*bytes).as_ref()) {
            let metrics = font.metrics(
                skrifa::instance::Size::unscaled(),
                skrifa::instance::LocationRef::default(),
            );
            let em = f64::from(metrics.units_per_em);
            if em > 0.0 {
                facts.ascent = f64::from(metrics.ascent) / em * 1000.0;
                facts.descent = f64::from(metrics.descent) / em * 1000.0;
            }
        }
        facts
    }

    /// The character the font itself has for a glyph.
    fn character(&self, glyph: u32) -> Option<char> {
        let by_glyph = self.by_glyph.get_or_init(|| {
            let mut by_glyph = HashMap::new();
            let Ok(font) = skrifa::FontRef::new((*self.data).as_ref()) else {
                return by_glyph;
            };
            for (code, glyph) in font.charmap().mappings() {
                if let Some(ch) = char::from_u32(code) {
                    by_glyph.entry(glyph.to_u32()).or_insert(ch);
                }
            }
            by_glyph
        });
        by_glyph.get(&glyph).copied()
    }

    /// Ascent and descent, when the font's own are plausible.
    fn vertical(&self) -> Option<(f64, f64)> {
        let height = self.ascent - self.descent;
        (height > 900.0 && height < 1400.0 && self.ascent > 650.0 && self.descent < 0.0)
            .then_some((self.ascent, self.descent))
    }
}

/// What the file says a glyph is.
fn said(glyph: &DrawnGlyph<'_>) -> Option<String> {
    let text = match glyph.as_unicode()? {
        BfString::Char(c) => c.to_string(),
        BfString::String(s) => s,
    };
    (!text.is_empty() && text != "\u{fffd}").then_some(text)
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

impl Device<'_> for Listener<'_, '_> {
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
            let text = match said(glyph) {
                Some(text) => text,
                None => self.looked_up(glyph, facts.as_deref()),
            };
            self.glyphs.push(Glyph {
                text,
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
