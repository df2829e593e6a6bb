//! An installed font of a script that lacks the Latin characters (Droid Sans Fallback has none) gets them from
//! another one: hayro takes one font for all of a text, and draws what that lacks as some other character.

use kurbo::{BezPath, Shape};
use skrifa::{
    MetadataProvider,
    instance::{LocationRef, Size},
    outline::{DrawSettings, OutlinePen},
};
use write_fonts::{
    FontBuilder, dump_table,
    read::{FontRef, TableProvider, types::Tag},
    tables::glyf::SimpleGlyph,
    types::GlyphId,
};

/// What is taken over: Latin letters with their accents, and the punctuation of Western text.
const TAKEN: [std::ops::RangeInclusive<char>; 4] = [
    ' '..='\u{17f}',
    '\u{2010}'..='\u{2044}',
    '\u{20a0}'..='\u{20bf}',
    '\u{2100}'..='\u{2122}',
];

/// `base` with the characters it lacks: Latin ones of `latin`, and none at all in place of the others. Fonts
/// without TrueType outlines are not completed.
pub(super) fn completed(base: &[u8], index: u32, latin: &skrifa::FontRef<'_>) -> Option<Vec<u8>> {
    let font = FontRef::from_index(base, index).ok()?;
    let mut made = Made::of(&font)?;
    let known = skrifa::FontRef::from_index(base, index).ok()?;
    let mut characters: Vec<(char, GlyphId)> = known
        .charmap()
        .mappings()
        .filter_map(|(code, glyph)| Some((char::from_u32(code)?, GlyphId::new(glyph.to_u32()))))
        .filter(|(_, glyph)| glyph.to_u32() != 0)
        .collect();
    characters.sort_unstable();
    characters.dedup_by_key(|(ch, _)| *ch);
    let has = |ch: char, all: &[(char, GlyphId)]| all.binary_search_by_key(&ch, |c| c.0).is_ok();

    let scale = f64::from(made.units) / f64::from(units(latin));
    let mut added = Vec::new();
    for ch in TAKEN.into_iter().flatten() {
        if !has(ch, &characters)
            && let Some((outline, advance)) = drawn(latin, ch)
        {
            let outline = kurbo::Affine::scale(scale) * outline;
            let glyph = made.add(&outline, (advance * scale).round() as u16)?;
            added.push((ch, glyph));
        }
    }
    characters.extend(added);
    characters.sort_unstable();
    let blank = made.add(&BezPath::new(), made.units / 2)?;
    let lacking: Vec<(char, GlyphId)> = (' '..='\u{ffff}')
        .filter(|ch| !has(*ch, &characters))
        .map(|ch| (ch, blank))
        .collect();
    characters.extend(lacking);
    made.build(&font, characters)
}

fn units(font: &skrifa::FontRef<'_>) -> u16 {
    let metrics = font.metrics(Size::unscaled(), LocationRef::default());
    metrics.units_per_em.max(1)
}

/// Outline and advance of a character in units of the font.
fn drawn(font: &skrifa::FontRef<'_>, ch: char) -> Option<(BezPath, f64)> {
    let glyph = font.charmap().map(ch)?;
    let size = Size::unscaled();
    let advance = font
        .glyph_metrics(size, LocationRef::default())
        .advance_width(glyph)?;
    let mut pen = Pen::default();
    font.outline_glyphs()
        .get(glyph)?
        .draw(
            DrawSettings::unhinted(size, LocationRef::default()),
            &mut pen,
        )
        .ok()?;
    (!pen.has_cubics).then_some((pen.path, f64::from(advance)))
}

#[derive(Default)]
struct Pen {
    path: BezPath,
    /// Not to be said in TrueType.
    has_cubics: bool,
}

impl OutlinePen for Pen {
    fn move_to(&mut self, x: f32, y: f32) {
        self.path.move_to((x, y));
    }

    fn line_to(&mut self, x: f32, y: f32) {
        self.path.line_to((x, y));
    }

    fn quad_to(&mut self, cx: f32, cy: f32, x: f32, y: f32) {
        self.path.quad_to((cx, cy), (x, y));
    }

    fn curve_to(&mut self, _: f32, _: f32, _: f32, _: f32, _: f32, _: f32) {
        self.has_cubics = true;
    }

    fn close(&mut self) {
        self.path.close_path();
    }
}

/// The tables of a font that grow with its glyphs.
struct Made {
    units: u16,
    glyphs: Vec<u8>,
    offsets: Vec<u32>,
    /// Advance and left side of each glyph.
    metrics: Vec<(u16, i16)>,
}

impl Made {
    fn of(font: &FontRef<'_>) -> Option<Self> {
        let count = font.maxp().ok()?.num_glyphs();
        let loca = font.loca(None).ok()?;
        let metrics = font.hmtx().ok()?;
        let mut glyphs = font.data_for_tag(Tag::new(b"glyf"))?.as_bytes().to_vec();
        glyphs.resize(glyphs.len().next_multiple_of(4), 0);
        Some(Self {
            units: font.head().ok()?.units_per_em(),
            offsets: (0..usize::from(count))
                .map(|n| loca.get_raw(n))
                .collect::<Option<_>>()?,
            metrics: (0..u32::from(count))
                .map(|n| {
                    let glyph = GlyphId::new(n);
                    (
                        metrics.advance(glyph).unwrap_or_default(),
                        metrics.side_bearing(glyph).unwrap_or_default(),
                    )
                })
                .collect(),
            glyphs,
        })
    }

    /// None when the font is full.
    fn add(&mut self, outline: &BezPath, advance: u16) -> Option<GlyphId> {
        let glyph = u16::try_from(self.offsets.len()).ok()?;
        self.offsets.push(u32::try_from(self.glyphs.len()).ok()?);
        let mut left = 0;
        if !outline.is_empty() {
            left = outline.bounding_box().x0.floor() as i16;
            let simple = SimpleGlyph::from_bezpath(outline).ok()?;
            self.glyphs.extend(dump_table(&simple).ok()?);
            let padded = self.glyphs.len().next_multiple_of(4);
            self.glyphs.resize(padded, 0);
        }
        self.metrics.push((advance, left));
        Some(GlyphId::new(u32::from(glyph)))
    }

    fn build(mut self, font: &FontRef<'_>, characters: Vec<(char, GlyphId)>) -> Option<Vec<u8>> {
        let count = u16::try_from(self.offsets.len()).ok()?;
        self.offsets.push(u32::try_from(self.glyphs.len()).ok()?);
        let loca: Vec<u8> = self.offsets.iter().flat_map(|o| o.to_be_bytes()).collect();
        let metrics: Vec<u8> = self
            .metrics
            .iter()
            .flat_map(|(advance, left)| [advance.to_be_bytes(), left.to_be_bytes()])
            .flatten()
            .collect();
        // offsets of 32 bits, and how many glyphs and advances there are now
        let head = patched(font, *b"head", 50, 1)?;
        let maxp = patched(font, *b"maxp", 4, count)?;
        let hhea = patched(font, *b"hhea", 34, count)?;
        let mut builder = FontBuilder::new();
        for (tag, table) in [
            (b"cmap", character_map(characters)),
            (b"glyf", self.glyphs),
            (b"loca", loca),
            (b"hmtx", metrics),
            (b"head", head),
            (b"maxp", maxp),
            (b"hhea", hhea),
        ] {
            builder.add_raw(Tag::new(tag), table);
        }
        builder.copy_missing_tables(font.clone());
        Some(builder.build())
    }
}

/// Which glyph each character has, in segments of 32 bits: those of 16 bits hold too few for a whole script.
fn character_map(mut characters: Vec<(char, GlyphId)>) -> Vec<u8> {
    characters.sort_unstable();
    let mut groups: Vec<[u32; 3]> = Vec::new();
    for (ch, glyph) in characters {
        let (code, glyph) = (u32::from(ch), glyph.to_u32());
        match groups.last_mut() {
            Some([from, to, first]) if *to + 1 == code && *first + (code - *from) == glyph => {
                *to = code;
            }
            _ => groups.push([code, code, glyph]),
        }
    }
    // version, one table of all of Unicode at byte 12; format 12, its length, no language, its groups
    let mut table: Vec<u8> = [0_u16, 1, 3, 10, 0, 12, 12, 0]
        .into_iter()
        .flat_map(u16::to_be_bytes)
        .collect();
    let count = groups.len() as u32;
    let header = [16 + 12 * count, 0, count];
    table.extend(
        header
            .into_iter()
            .chain(groups.into_iter().flatten())
            .flat_map(u32::to_be_bytes),
    );
    table
}

/// A table with another number of 16 bits at `at`.
fn patched(font: &FontRef<'_>, tag: [u8; 4], at: usize, value: u16) -> Option<Vec<u8>> {
    let mut table = font.data_for_tag(Tag::new(&tag))?.as_bytes().to_vec();
    table
        .get_mut(at..at + 2)?
        .copy_from_slice(&value.to_be_bytes());
    Some(table)
}
