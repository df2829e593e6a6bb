//! How wide letters are beside each other, where only the box of their word is known.

/// Printable ASCII from the space on, in thousandths of the type size: the widths of Helvetica, which those of most
/// proportional faces follow.
const ASCII: [u16; 95] = [
    278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333, 278, 278, 556, 556, 556,
    556, 556, 556, 556, 556, 556, 556, 278, 278, 584, 584, 584, 556, 1015, 667, 667, 722, 722, 667,
    611, 778, 722, 278, 500, 667, 556, 833, 722, 778, 667, 778, 722, 667, 611, 722, 667, 944, 667,
    667, 611, 278, 278, 278, 469, 556, 333, 556, 556, 500, 556, 556, 278, 556, 556, 222, 222, 500,
    222, 833, 556, 556, 556, 556, 333, 500, 278, 556, 500, 722, 500, 500, 500, 334, 260, 334, 584,
];
/// Any other letter.
const OTHER: u16 = 600;

/// The share of a word's width that lies before a byte: as letters are wide in most faces, and as they are where all
/// are equally wide.
pub(super) fn before(text: &str, byte: usize) -> [f64; 2] {
    let part = text.get(..byte).unwrap_or_default();
    let [wide, all_wide] = [part, text].map(|t| t.chars().map(width).sum::<f64>());
    let [even, all_even] = [part, text].map(|t| t.chars().count() as f64);
    [wide / all_wide.max(1.0), even / all_even.max(1.0)]
}

fn width(letter: char) -> f64 {
    let at = (letter as usize).checked_sub(' ' as usize);
    f64::from(at.and_then(|at| ASCII.get(at)).copied().unwrap_or(OTHER))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_stop_is_narrower_than_a_letter() {
        let [proportional, even] = before("EUR.", 3);
        assert!((0.86..0.92).contains(&proportional), "{proportional}");
        assert!((even - 0.75).abs() < 1e-9);
        assert!(before("", 0).iter().sum::<f64>().abs() < 1e-9);
        let [whole, _] = before("Größe", "Größe".len());
        assert!((whole - 1.0).abs() < 1e-9);
    }
}
