//! A page to write on: text left, right or centred, lines and boxes, in points from the top left.

use anyhow::{Context as _, anyhow};
use krilla::{
    Document,
    color::rgb,
    geom::{PathBuilder, Point},
    num::NormalizedF32,
    page::PageSettings,
    paint::{Fill, Stroke},
    surface::Surface,
    text::{Font, TextDirection},
};
use skrifa::{FontRef, MetadataProvider as _, instance::LocationRef, instance::Size};

const FOLDER: &str = "/usr/share/fonts/truetype/dejavu";

/// One face: for drawing and for measuring.
pub(crate) struct Face {
    font: Font,
    data: Vec<u8>,
}

/// The faces of the examples.
pub(crate) struct Fonts {
    pub(crate) sans: Face,
    pub(crate) bold: Face,
    pub(crate) mono: Face,
}

impl Fonts {
    /// Reads them from where Debian's fonts-dejavu-core puts them.
    pub(crate) fn load() -> anyhow::Result<Self> {
        Ok(Self {
            sans: Face::load("DejaVuSans.ttf")?,
            bold: Face::load("DejaVuSans-Bold.ttf")?,
            mono: Face::load("DejaVuSansMono.ttf")?,
        })
    }
}

impl Face {
    fn load(name: &str) -> anyhow::Result<Self> {
        let path = format!("{FOLDER}/{name}");
        let data =
            std::fs::read(&path).with_context(|| format!("{path} (install fonts-dejavu-core)"))?;
        let font = Font::new(data.clone().into(), 0).ok_or_else(|| anyhow!("{path} is no font"))?;
        Ok(Self { font, data })
    }

    /// How wide a text is at a size, in points.
    pub(crate) fn width(&self, text: &str, size: f32) -> f32 {
        let Ok(font) = FontRef::new(&self.data) else {
            return 0.0;
        };
        let metrics = font.glyph_metrics(Size::new(size), LocationRef::default());
        let charmap = font.charmap();
        text.chars()
            .filter_map(|c| metrics.advance_width(charmap.map(c)?))
            .sum()
    }
}

/// The pages of a document, drawn one after the other.
pub(crate) struct Paper {
    document: Document,
    width: f32,
    height: f32,
}

impl Paper {
    /// Pages of this size in points.
    pub(crate) fn new(width: f32, height: f32) -> Self {
        Self {
            document: Document::new(),
            width,
            height,
        }
    }

    /// Draws the next page.
    pub(crate) fn page(&mut self, draw: impl FnOnce(&mut Pen<'_, '_>)) -> anyhow::Result<()> {
        let settings =
            PageSettings::from_wh(self.width, self.height).context("a page has an area")?;
        let mut page = self.document.start_page_with(settings);
        let mut surface = page.surface();
        draw(&mut Pen {
            surface: &mut surface,
        });
        surface.finish();
        page.finish();
        Ok(())
    }

    /// The PDF.
    pub(crate) fn finish(self) -> anyhow::Result<Vec<u8>> {
        self.document
            .finish()
            .map_err(|error| anyhow!("the PDF cannot be written: {error:?}"))
    }
}

/// Draws on one page.
pub(crate) struct Pen<'a, 'b> {
    surface: &'a mut Surface<'b>,
}

impl Pen<'_, '_> {
    /// Text that starts at x, its base line at y.
    pub(crate) fn left(&mut self, x: f32, y: f32, face: &Face, size: f32, text: &str) {
        self.surface.set_stroke(None);
        self.surface.set_fill(Some(ink()));
        self.surface.draw_text(
            Point::from_xy(x, y),
            face.font.clone(),
            size,
            text,
            false,
            TextDirection::Auto,
        );
    }

    /// Text that ends at x.
    pub(crate) fn right(&mut self, x: f32, y: f32, face: &Face, size: f32, text: &str) {
        self.left(x - face.width(text, size), y, face, size, text);
    }

    /// Text with its middle at x.
    pub(crate) fn center(&mut self, x: f32, y: f32, face: &Face, size: f32, text: &str) {
        self.left(x - face.width(text, size) / 2.0, y, face, size, text);
    }

    /// A straight line.
    pub(crate) fn line(&mut self, from: (f32, f32), to: (f32, f32), thickness: f32) {
        let mut path = PathBuilder::new();
        path.move_to(from.0, from.1);
        path.line_to(to.0, to.1);
        self.stroke(path, thickness);
    }

    /// The outline of a box.
    pub(crate) fn outline(&mut self, x: f32, y: f32, width: f32, height: f32) {
        let mut path = PathBuilder::new();
        path.move_to(x, y);
        path.line_to(x + width, y);
        path.line_to(x + width, y + height);
        path.line_to(x, y + height);
        path.close();
        self.stroke(path, 0.8);
    }

    fn stroke(&mut self, path: PathBuilder, thickness: f32) {
        self.surface.set_fill(None);
        self.surface.set_stroke(Some(Stroke {
            paint: black().into(),
            width: thickness,
            ..Stroke::default()
        }));
        if let Some(path) = path.finish() {
            self.surface.draw_path(&path);
        }
    }
}

fn black() -> rgb::Color {
    rgb::Color::new(20, 20, 20)
}

fn ink() -> Fill {
    Fill {
        paint: black().into(),
        opacity: NormalizedF32::ONE,
        ..Fill::default()
    }
}
