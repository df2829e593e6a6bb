//! Boxes: fractions of the upright page, origin top left.

use serde::{Deserialize, Serialize};

/// A rectangle on the upright page; every side in `[0, 1]`, origin top left.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Rect {
    /// Left edge.
    pub xmin: f64,
    /// Top edge.
    pub ymin: f64,
    /// Right edge.
    pub xmax: f64,
    /// Bottom edge.
    pub ymax: f64,
}

impl Rect {
    /// Builds a rectangle from its edges.
    pub const fn new(xmin: f64, ymin: f64, xmax: f64, ymax: f64) -> Self {
        Self {
            xmin,
            ymin,
            xmax,
            ymax,
        }
    }

    /// Width; negative when the edges are swapped.
    pub fn width(&self) -> f64 {
        self.xmax - self.xmin
    }

    /// Height; negative when the edges are swapped.
    pub fn height(&self) -> f64 {
        self.ymax - self.ymin
    }

    /// Area; 0 when a side is not positive.
    pub fn area(&self) -> f64 {
        self.width().max(0.0) * self.height().max(0.0)
    }

    /// The middle point.
    pub fn center(&self) -> (f64, f64) {
        (
            f64::midpoint(self.xmin, self.xmax),
            f64::midpoint(self.ymin, self.ymax),
        )
    }

    /// The smallest rectangle around both.
    pub fn union(&self, other: &Self) -> Self {
        Self {
            xmin: self.xmin.min(other.xmin),
            ymin: self.ymin.min(other.ymin),
            xmax: self.xmax.max(other.xmax),
            ymax: self.ymax.max(other.ymax),
        }
    }

    /// The smallest rectangle around all; `None` for none.
    pub fn around<'a>(rects: impl IntoIterator<Item = &'a Self>) -> Option<Self> {
        rects.into_iter().copied().reduce(|a, b| a.union(&b))
    }

    /// The common part; `None` when they do not overlap.
    pub fn intersection(&self, other: &Self) -> Option<Self> {
        let cut = Self {
            xmin: self.xmin.max(other.xmin),
            ymin: self.ymin.max(other.ymin),
            xmax: self.xmax.min(other.xmax),
            ymax: self.ymax.min(other.ymax),
        };
        (cut.width() > 0.0 && cut.height() > 0.0).then_some(cut)
    }

    /// Intersection over union, 0 to 1.
    pub fn iou(&self, other: &Self) -> f64 {
        let Some(cut) = self.intersection(other) else {
            return 0.0;
        };
        cut.area() / (self.area() + other.area() - cut.area())
    }

    /// Cut to the page; `None` when nothing is left of it.
    pub fn clipped(&self) -> Option<Self> {
        let cut = Self {
            xmin: self.xmin.clamp(0.0, 1.0),
            ymin: self.ymin.clamp(0.0, 1.0),
            xmax: self.xmax.clamp(0.0, 1.0),
            ymax: self.ymax.clamp(0.0, 1.0),
        };
        (cut.width() > 0.0 && cut.height() > 0.0).then_some(cut)
    }
}

/// Where a box comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum BoxSource {
    /// An engine said so; it was not found among the words of the page.
    Llm,
    /// The text layer of a PDF.
    PdfText,
    /// Recognised on the image of the page.
    Ocr,
}

/// How plausible a box is by its shape alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum BoxQuality {
    /// Nothing odd about it.
    Good,
    /// Very small or very thin.
    Poor,
    /// Covers most of the page.
    Suspicious,
    /// No area.
    Invalid,
}

/// A box around a value on the upright page; every side in `[0, 1]`, origin top left.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct BoundingBox {
    /// Left edge.
    pub xmin: f64,
    /// Top edge.
    pub ymin: f64,
    /// Right edge.
    pub xmax: f64,
    /// Bottom edge.
    pub ymax: f64,
    /// Where the box comes from.
    pub source: BoxSource,
    /// How plausible its shape is.
    pub quality: BoxQuality,
    /// The figure behind `quality`, 0 to 1.
    pub quality_score: f64,
    /// How well the words under the box match the value, 0 to 1; `null` when it was not grounded.
    pub refinement_confidence: Option<f64>,
}

impl BoundingBox {
    /// A box as an engine or the grounding gives it, before its quality is judged.
    pub fn unjudged(rect: Rect, source: BoxSource, refinement_confidence: Option<f64>) -> Self {
        Self {
            xmin: rect.xmin,
            ymin: rect.ymin,
            xmax: rect.xmax,
            ymax: rect.ymax,
            source,
            quality: BoxQuality::Good,
            quality_score: 1.0,
            refinement_confidence,
        }
    }

    /// The rectangle alone.
    pub fn rect(&self) -> Rect {
        Rect::new(self.xmin, self.ymin, self.xmax, self.ymax)
    }
}
