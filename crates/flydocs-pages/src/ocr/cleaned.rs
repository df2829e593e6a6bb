//! A picture made easier to read: the paper white, faint or dotted print dark and joined.

use crate::raster::{Picture, Pixels};

/// Paper is measured in squares of so many pixels.
const SQUARE: usize = 16;
/// Of a square, this share is darker than its paper.
const PAPER: usize = 85;
/// Lighter than this share of its paper is paper.
const WHITE: f32 = 0.93;
/// Darker than this share is print, or at least dirt.
const PRINT: f32 = 0.85;
/// Print as dark as this share of it becomes black.
const BLACK: f32 = 0.2;

/// The picture with its paper white and its print black; dots that almost touch are joined.
pub(crate) fn cleaned(picture: &Picture) -> Picture {
    let Pixels::Grey(grey) = &picture.pixels else {
        return picture.clone();
    };
    let (width, height) = (picture.width as usize, picture.height as usize);
    if grey.len() != width * height || grey.is_empty() {
        return picture.clone();
    }
    let soft = softened(grey, width, height);
    let paper = Paper::of(&soft, width, height);
    let mut shares: Vec<f32> = Vec::with_capacity(soft.len());
    for (row, y) in soft.chunks_exact(width).zip(0..) {
        shares.extend(
            row.iter()
                .zip(0..)
                .map(|(value, x)| (f32::from(*value) / paper.at(x, y)).min(1.0)),
        );
    }
    let black = blackest(&shares);
    let pixels = shares
        .into_iter()
        .map(|share| ((share - black) / (WHITE - black) * 255.0).clamp(0.0, 255.0) as u8)
        .collect();
    Picture {
        pixels: Pixels::Grey(pixels),
        ..*picture
    }
}

/// The share of the paper's light that becomes black.
fn blackest(shares: &[f32]) -> f32 {
    let mut counts = [0_usize; 256];
    let mut print = 0;
    for share in shares.iter().filter(|share| **share < PRINT) {
        counts[(share * 255.0) as usize] += 1;
        print += 1;
    }
    let wanted = (print as f32 * BLACK) as usize;
    let mut seen = 0;
    for (level, count) in counts.iter().enumerate() {
        seen += count;
        if seen > wanted {
            return (level as f32 / 255.0).min(PRINT - 0.1);
        }
    }
    0.0
}

/// How light the paper is, square by square.
struct Paper {
    across: usize,
    down: usize,
    light: Vec<f32>,
}

impl Paper {
    fn of(grey: &[u8], width: usize, height: usize) -> Self {
        let (across, down) = (width.div_ceil(SQUARE), height.div_ceil(SQUARE));
        let mut light = Vec::with_capacity(across * down);
        let mut square: Vec<u8> = Vec::with_capacity(SQUARE * SQUARE);
        for top in (0..height).step_by(SQUARE) {
            for left in (0..width).step_by(SQUARE) {
                square.clear();
                for y in top..(top + SQUARE).min(height) {
                    let row = y * width;
                    square.extend(&grey[row + left..row + (left + SQUARE).min(width)]);
                }
                let at = (square.len() * PAPER / 100).min(square.len() - 1);
                let (_, value, _) = square.select_nth_unstable(at);
                light.push(f32::from(*value));
            }
        }
        let paper = Self {
            across,
            down,
            light,
        };
        // a square full of print has the paper of its neighbours; then no square ends sharply
        let lightest = |around: &mut dyn Iterator<Item = f32>| around.fold(1.0, f32::max);
        let mean = |around: &mut dyn Iterator<Item = f32>| {
            let (sum, count) = around.fold((0.0, 0.0), |(s, n), v| (s + v, n + 1.0));
            sum / f32::max(count, 1.0)
        };
        paper.of_neighbours(lightest).of_neighbours(mean)
    }

    fn of_neighbours(self, of: impl Fn(&mut dyn Iterator<Item = f32>) -> f32) -> Self {
        let mut light = Vec::with_capacity(self.light.len());
        for y in 0..self.down {
            for x in 0..self.across {
                let rows = y.saturating_sub(1)..(y + 2).min(self.down);
                let mut around = rows.flat_map(|row| {
                    let columns = x.saturating_sub(1)..(x + 2).min(self.across);
                    columns.map(move |column| (row, column))
                });
                let mut values = around
                    .by_ref()
                    .map(|(row, column)| self.light[row * self.across + column]);
                light.push(of(&mut values));
            }
        }
        Self { light, ..self }
    }

    /// Between the middles of four squares.
    fn at(&self, x: usize, y: usize) -> f32 {
        let place = |at: usize, most: usize| {
            let at = ((at as f32 + 0.5) / SQUARE as f32 - 0.5).clamp(0.0, (most - 1) as f32);
            let first = at as usize;
            (first, (first + 1).min(most - 1), at - first as f32)
        };
        let (left, right, fx) = place(x, self.across);
        let (top, bottom, fy) = place(y, self.down);
        let light = |column: usize, row: usize| self.light[row * self.across + column];
        let upper = light(left, top) * (1.0 - fx) + light(right, top) * fx;
        let lower = light(left, bottom) * (1.0 - fx) + light(right, bottom) * fx;
        (upper * (1.0 - fy) + lower * fy).max(1.0)
    }
}

/// Every pixel with its neighbours, twice: print of dots becomes print of strokes.
fn softened(grey: &[u8], width: usize, height: usize) -> Vec<u8> {
    let mut soft = grey.to_vec();
    let mut line = vec![0_u8; width.max(height)];
    for _ in 0..2 {
        for row in soft.chunks_exact_mut(width) {
            line[..width].copy_from_slice(row);
            smooth(&line[..width], row.iter_mut());
        }
        for x in 0..width {
            for (y, value) in line[..height].iter_mut().enumerate() {
                *value = soft[y * width + x];
            }
            smooth(&line[..height], soft[x..].iter_mut().step_by(width));
        }
    }
    soft
}

/// A quarter, a half, a quarter.
fn smooth<'a>(line: &[u8], into: impl Iterator<Item = &'a mut u8>) {
    for (at, value) in into.enumerate().take(line.len()) {
        let before = line[at.saturating_sub(1)];
        let after = line[(at + 1).min(line.len() - 1)];
        let sum = u16::from(before) + 2 * u16::from(line[at]) + u16::from(after);
        *value = (sum / 4) as u8;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn picture(width: u32, height: u32, value: impl Fn(u32, u32) -> u8) -> Picture {
        let pixels = (0..height).flat_map(|y| (0..width).map(move |x| (x, y)));
        Picture {
            width,
            height,
            pixels: Pixels::Grey(pixels.map(|(x, y)| value(x, y)).collect()),
        }
    }

    fn at(picture: &Picture, x: u32, y: u32) -> u8 {
        let Pixels::Grey(grey) = &picture.pixels else {
            panic!("grey");
        };
        grey[(y * picture.width + x) as usize]
    }

    #[test]
    fn faint_print_on_grey_paper_becomes_black_on_white() {
        // paper that darkens to the right, strokes a fifth darker than it
        let paper = |x: u32| 230 - x / 4;
        let faint = picture(200, 100, |x, y| {
            let stroke = (20..80).contains(&y) && x % 24 < 5;
            (if stroke { paper(x) * 4 / 5 } else { paper(x) }) as u8
        });
        let clean = cleaned(&faint);
        for x in [50, 98, 146] {
            assert!(
                at(&clean, x, 50) < 60,
                "print at {x}: {}",
                at(&clean, x, 50)
            );
            assert!(at(&clean, x + 12, 50) > 240, "paper beside {x}");
        }
    }

    #[test]
    fn dots_that_almost_touch_are_joined() {
        let dotted = picture(100, 100, |x, y| {
            let dot = (48..51).contains(&x) && y % 4 < 2;
            if dot && (20..80).contains(&y) {
                90
            } else {
                220
            }
        });
        let clean = cleaned(&dotted);
        let lightest = (30..70).map(|y| at(&clean, 49, y)).max();
        assert!(lightest.is_some_and(|l| l < 120), "{lightest:?}");
    }

    #[test]
    fn a_blank_page_stays_blank_and_the_smallest_picture_is_no_trouble() {
        let blank = cleaned(&picture(40, 40, |_, _| 200));
        assert!((0..40).all(|x| at(&blank, x, 20) > 240));
        assert_eq!(cleaned(&picture(1, 1, |_, _| 9)).width, 1);
        assert_eq!(cleaned(&picture(0, 0, |_, _| 9)).height, 0);
    }
}
