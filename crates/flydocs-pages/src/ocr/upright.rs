//! Pictures that read badly: turned or skewed ones are set upright for OCR, and what was read is put back.

use flydocs_contract::{Rect, Word};

use crate::raster::{Picture, Pixels};

/// Below this, skew does not hurt.
const MIN_DEGREES: f64 = 0.6;
/// Above this it is no skew but a way to hold the camera.
const MAX_DEGREES: f64 = 12.0;
const STEP_DEGREES: f64 = 0.25;
/// Pixels across of the copy the angle is measured on.
const MEASURED_WIDTH: u32 = 700;
/// Darker than this is ink.
const INK: u8 = 140;

/// A change made to a picture before reading.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Turn {
    /// Turned clockwise by so many quarters.
    Quarters(u8),
    /// Turned clockwise by an angle, the corners cut off, the size kept.
    Degrees(f64),
}

/// The picture with the turn made; grey only.
pub(crate) fn turned(picture: &Picture, turn: Turn) -> Picture {
    let Pixels::Grey(grey) = &picture.pixels else {
        return picture.clone();
    };
    let (width, height) = (picture.width, picture.height);
    match turn {
        Turn::Quarters(quarters) => {
            let (new_width, new_height) = if quarters % 2 == 1 {
                (height, width)
            } else {
                (width, height)
            };
            let mut out = Vec::with_capacity(grey.len());
            for y in 0..new_height {
                for x in 0..new_width {
                    let (from_x, from_y) = match quarters % 4 {
                        0 => (x, y),
                        1 => (y, height - 1 - x),
                        2 => (width - 1 - x, height - 1 - y),
                        _ => (width - 1 - y, x),
                    };
                    out.push(at(grey, width, from_x, from_y));
                }
            }
            Picture {
                width: new_width,
                height: new_height,
                pixels: Pixels::Grey(out),
            }
        }
        Turn::Degrees(degrees) => {
            let (sin, cos) = degrees.to_radians().sin_cos();
            let (cx, cy) = (f64::from(width) / 2.0, f64::from(height) / 2.0);
            let mut out = Vec::with_capacity(grey.len());
            for y in 0..height {
                for x in 0..width {
                    let (dx, dy) = (f64::from(x) + 0.5 - cx, f64::from(y) + 0.5 - cy);
                    out.push(sampled(
                        grey,
                        width,
                        height,
                        cx + dx * cos + dy * sin,
                        cy - dx * sin + dy * cos,
                    ));
                }
            }
            Picture {
                width,
                height,
                pixels: Pixels::Grey(out),
            }
        }
    }
}

fn at(grey: &[u8], width: u32, x: u32, y: u32) -> u8 {
    grey.get(y as usize * width as usize + x as usize)
        .copied()
        .unwrap_or(255)
}

/// Between four pixels, so that thin strokes stay whole.
fn sampled(grey: &[u8], width: u32, height: u32, x: f64, y: f64) -> u8 {
    let (x, y) = (x - 0.5, y - 0.5);
    if x < 0.0 || y < 0.0 || x >= f64::from(width - 1) || y >= f64::from(height - 1) {
        return 255;
    }
    let (left, top) = (x as u32, y as u32);
    let (fx, fy) = (x - f64::from(left), y - f64::from(top));
    let pixel = |dx: u32, dy: u32| f64::from(at(grey, width, left + dx, top + dy));
    let upper = pixel(0, 0) * (1.0 - fx) + pixel(1, 0) * fx;
    let lower = pixel(0, 1) * (1.0 - fx) + pixel(1, 1) * fx;
    (upper * (1.0 - fy) + lower * fy).round() as u8
}

/// Words read on the turned picture, with their boxes on the picture as it was (`width` x `height`).
pub(crate) fn back(words: Vec<Word>, turn: Turn, width: u32, height: u32) -> Vec<Word> {
    words
        .into_iter()
        .filter_map(|word| {
            let rect = back_rect(word.rect, turn, width, height).clipped()?;
            Some(Word { rect, ..word })
        })
        .collect()
}

fn back_rect(rect: Rect, turn: Turn, width: u32, height: u32) -> Rect {
    match turn {
        Turn::Quarters(quarters) => match quarters % 4 {
            0 => rect,
            1 => Rect::new(rect.ymin, 1.0 - rect.xmax, rect.ymax, 1.0 - rect.xmin),
            2 => Rect::new(
                1.0 - rect.xmax,
                1.0 - rect.ymax,
                1.0 - rect.xmin,
                1.0 - rect.ymin,
            ),
            _ => Rect::new(1.0 - rect.ymax, rect.xmin, 1.0 - rect.ymin, rect.xmax),
        },
        Turn::Degrees(degrees) => {
            let (sin, cos) = degrees.to_radians().sin_cos();
            let (w, h) = (f64::from(width), f64::from(height));
            // the middle line of the word turns with it: its box grows by the slope only
            let (x0, x1) = ((rect.xmin - 0.5) * w, (rect.xmax - 0.5) * w);
            let middle = (rect.center().1 - 0.5) * h;
            let half = rect.height() * h / 2.0;
            let turn = |x: f64, y: f64| (x * cos + y * sin, y * cos - x * sin);
            let (a, b) = (turn(x0, middle), turn(x1, middle));
            Rect::new(
                a.0.min(b.0) / w + 0.5,
                (a.1.min(b.1) - half) / h + 0.5,
                a.0.max(b.0) / w + 0.5,
                (a.1.max(b.1) + half) / h + 0.5,
            )
        }
    }
}

/// By how much the picture is to be turned clockwise to stand upright; nothing when it does, or when it is
/// unclear. At the right angle, lines of text make the sharpest steps from row to row.
pub(crate) fn skew(picture: &Picture) -> Option<f64> {
    let small = picture
        .clone()
        .scaled_to_width(picture.width.min(MEASURED_WIDTH));
    let Pixels::Grey(grey) = &small.pixels else {
        return None;
    };
    let width = small.width as usize;
    let ink: Vec<(f64, f64)> = grey
        .iter()
        .enumerate()
        .filter(|(_, value)| **value < INK)
        .map(|(index, _)| ((index % width) as f64, (index / width) as f64))
        .collect();
    // nothing, or a dark photograph
    if ink.len() < 200 || ink.len() * 3 > grey.len() {
        return None;
    }
    let steps = (MAX_DEGREES / STEP_DEGREES) as i32;
    let sharpness = |degrees: f64| {
        let tan = degrees.to_radians().tan();
        let shift = width as f64 * tan.abs();
        let mut rows = vec![0_u32; small.height as usize + 2 * shift as usize + 4];
        for (x, y) in &ink {
            let row = (y + x * tan + shift + 1.0) as usize;
            if let Some(count) = rows.get_mut(row) {
                *count += 1;
            }
        }
        rows.windows(2)
            .map(|w| f64::from(w[1].abs_diff(w[0])).powi(2))
            .sum::<f64>()
    };
    let upright = sharpness(0.0);
    let (degrees, best) = (-steps..=steps)
        .map(|step| f64::from(step) * STEP_DEGREES)
        .map(|degrees| (degrees, sharpness(degrees)))
        .max_by(|a, b| a.1.total_cmp(&b.1))?;
    (degrees.abs() >= MIN_DEGREES && degrees.abs() < MAX_DEGREES && best > upright * 1.15)
        .then_some(degrees)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lines of ink on white, slanting down to the right by `degrees`.
    fn lines(degrees: f64) -> Picture {
        let (width, height) = (600_u32, 400_u32);
        let tan = degrees.to_radians().tan();
        let mut grey = vec![255; (width * height) as usize];
        for y in 0..height {
            for x in 60..540 {
                let level = f64::from(y) - f64::from(x) * tan;
                if level.rem_euclid(24.0) < 8.0 && x % 5 < 4 && (60..340).contains(&y) {
                    grey[(y * width + x) as usize] = 0;
                }
            }
        }
        Picture {
            width,
            height,
            pixels: Pixels::Grey(grey),
        }
    }

    #[test]
    fn the_angle_of_slanting_lines_is_measured() {
        for degrees in [-6.0, -2.0, 3.0, 8.0] {
            let found = skew(&lines(degrees)).expect("they slant");
            assert!((found + degrees).abs() < 0.6, "{degrees} {found}");
            assert_eq!(skew(&turned(&lines(degrees), Turn::Degrees(found))), None);
        }
        assert_eq!(skew(&lines(0.0)), None);
    }

    #[test]
    fn a_box_read_on_a_turned_picture_goes_back_to_its_place() {
        let mut picture = lines(0.0);
        if let Pixels::Grey(grey) = &mut picture.pixels {
            grey.fill(255);
            for y in 40..60 {
                for x in 100..180 {
                    grey[y * 600 + x] = 0;
                }
            }
        }
        let place = Rect::new(100.0 / 600.0, 0.1, 180.0 / 600.0, 0.15);
        for turn in [
            Turn::Quarters(1),
            Turn::Quarters(2),
            Turn::Quarters(3),
            Turn::Degrees(5.0),
        ] {
            let after = turned(&picture, turn);
            let Pixels::Grey(grey) = &after.pixels else {
                panic!("grey");
            };
            let dark = |f: &dyn Fn(u32, u32) -> u32| {
                let all = (0..after.height)
                    .flat_map(|y| (0..after.width).map(move |x| (x, y)))
                    .filter(|(x, y)| at(grey, after.width, *x, *y) < 128)
                    .map(|(x, y)| f(x, y));
                let all: Vec<u32> = all.collect();
                (
                    *all.iter().min().expect("ink"),
                    *all.iter().max().expect("ink") + 1,
                )
            };
            let ((x0, x1), (y0, y1)) = (dark(&|x, _| x), dark(&|_, y| y));
            let (w, h) = (f64::from(after.width), f64::from(after.height));
            let seen = Rect::new(
                f64::from(x0) / w,
                f64::from(y0) / h,
                f64::from(x1) / w,
                f64::from(y1) / h,
            );
            let found = back_rect(seen, turn, 600, 400);
            assert!(found.iou(&place) > 0.5, "{turn:?} {found:?}");
        }
    }
}
