//! Thin lines and outlines of boxes: the skeleton of tables, forms and check boxes.

use hayro_interpret::DrawMode;
use kurbo::{Affine, BezPath, PathEl, Point, Rect};

/// Thicker than this (points) is a bar, not a line.
const THIN: f64 = 3.0;
/// Shorter than this (points) is a dot of a pattern or a piece of a letter.
const SHORT: f64 = 5.0;
/// Lines of a drawing or map are no help to anybody.
const MAX: usize = 4_000;

/// The lines and boxes of a page, in points.
#[derive(Debug)]
pub(super) struct Rulings {
    page: Rect,
    found: Vec<Rect>,
}

impl Rulings {
    pub(super) fn new(width: f64, height: f64) -> Self {
        Self {
            page: Rect::new(0.0, 0.0, width, height),
            found: Vec::new(),
        }
    }

    /// Lines and boxes cut to the page, none twice.
    pub(super) fn finish(mut self) -> Vec<Rect> {
        self.found.sort_by(|a, b| {
            (a.y0, a.x0, a.y1, a.x1)
                .partial_cmp(&(b.y0, b.x0, b.y1, b.x1))
                .unwrap_or(std::cmp::Ordering::Equal)
        });
        self.found.dedup_by(|a, b| {
            (a.x0 - b.x0).abs() < 0.3
                && (a.y0 - b.y0).abs() < 0.3
                && (a.x1 - b.x1).abs() < 0.3
                && (a.y1 - b.y1).abs() < 0.3
        });
        self.found
    }

    pub(super) fn add(&mut self, path: &BezPath, transform: Affine, bounds: Rect, mode: &DrawMode) {
        if self.found.len() >= MAX {
            return;
        }
        match mode {
            DrawMode::Fill(_) => self.filled(path, transform, bounds),
            DrawMode::Stroke(stroke) | DrawMode::FillAndStroke(_, stroke) => {
                let [a, b, ..] = transform.as_coeffs();
                let width = (f64::from(stroke.line_width) * a.hypot(b)).max(0.2);
                if width <= THIN {
                    self.stroked(path, transform, width);
                }
            }
            DrawMode::Invisible => {}
        }
    }

    /// A thin filled rectangle is a line; a frame (outer and inner contour) is a box.
    fn filled(&mut self, path: &BezPath, transform: Affine, bounds: Rect) {
        if is_line(bounds) {
            self.push(bounds);
            return;
        }
        if path.elements().len() > 64 {
            return;
        }
        let parts: Vec<Rect> = contours(path, transform)
            .into_iter()
            .filter_map(|contour| contour.straight.then_some(contour.bounds))
            .collect();
        if parts.len() == 1 {
            return;
        }
        for part in parts {
            if is_line(part) || is_box(part) {
                self.push(part);
            }
        }
    }

    fn stroked(&mut self, path: &BezPath, transform: Affine, width: f64) {
        for contour in contours(path, transform) {
            if contour.closed && is_box(contour.bounds) && (contour.straight || contour.is_small())
            {
                self.push(contour.bounds);
                continue;
            }
            for pair in contour.points.windows(2) {
                let line = Rect::from_points(pair[0], pair[1]);
                if line.width().min(line.height()) > 0.5 {
                    continue;
                }
                let line = line.inflate(
                    if line.width() < line.height() {
                        width / 2.0
                    } else {
                        0.0
                    },
                    if line.width() < line.height() {
                        0.0
                    } else {
                        width / 2.0
                    },
                );
                if is_line(line) {
                    self.push(line);
                }
            }
        }
    }

    fn push(&mut self, rect: Rect) {
        let rect = rect.intersect(self.page);
        if rect.width() > 0.0 && rect.height() > 0.0 && self.found.len() < MAX {
            self.found.push(rect);
        }
    }
}

fn is_line(rect: Rect) -> bool {
    rect.width().min(rect.height()) <= THIN && rect.width().max(rect.height()) >= SHORT
}

fn is_box(rect: Rect) -> bool {
    rect.width() >= SHORT && rect.height() >= SHORT
}

struct Contour {
    points: Vec<Point>,
    bounds: Rect,
    closed: bool,
    /// Only lines along the axes.
    straight: bool,
}

impl Contour {
    /// A radio button or a rounded check box.
    fn is_small(&self) -> bool {
        self.bounds.width() < 30.0 && self.bounds.height() < 30.0
    }
}

fn contours(path: &BezPath, transform: Affine) -> Vec<Contour> {
    let mut found = Vec::new();
    let mut points: Vec<Point> = Vec::new();
    let mut curved = false;
    let mut close = |points: &mut Vec<Point>, curved: &mut bool, mut closed: bool| {
        if points.len() > 1 {
            let bounds = points
                .iter()
                .fold(Rect::from_points(points[0], points[0]), |r, p| {
                    r.union_pt(*p)
                });
            let ends_meet = points
                .last()
                .is_some_and(|last| last.distance(points[0]) < 0.5);
            closed |= ends_meet && points.len() > 3;
            if closed && !ends_meet {
                points.push(points[0]);
            }
            let straight = !*curved
                && points
                    .windows(2)
                    .all(|p| (p[0].x - p[1].x).abs() < 0.5 || (p[0].y - p[1].y).abs() < 0.5);
            found.push(Contour {
                points: std::mem::take(points),
                bounds,
                closed,
                straight,
            });
        }
        points.clear();
        *curved = false;
    };
    for element in path.elements() {
        match element {
            PathEl::MoveTo(p) => {
                close(&mut points, &mut curved, false);
                points.push(transform * *p);
            }
            PathEl::LineTo(p) => points.push(transform * *p),
            PathEl::QuadTo(c, p) => {
                curved = true;
                points.extend([transform * *c, transform * *p]);
            }
            PathEl::CurveTo(c, d, p) => {
                curved = true;
                points.extend([transform * *c, transform * *d, transform * *p]);
            }
            PathEl::ClosePath => close(&mut points, &mut curved, true),
        }
    }
    close(&mut points, &mut curved, false);
    found
}
