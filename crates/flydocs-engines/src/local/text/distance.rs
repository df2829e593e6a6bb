//! Edit distance with a bound, for words an OCR engine misread.

/// The edit distance when it is at most `bound`.
fn distance_within(a: &[char], b: &[char], bound: usize) -> Option<usize> {
    if a.len().abs_diff(b.len()) > bound {
        return None;
    }
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut diagonal = i;
        if let Some(first) = row.first_mut() {
            *first = i + 1;
        }
        let mut best = i + 1;
        for (j, y) in b.iter().enumerate() {
            let above = row[j + 1];
            let cost = (diagonal + usize::from(x != y))
                .min(above + 1)
                .min(row[j] + 1);
            diagonal = above;
            row[j + 1] = cost;
            best = best.min(cost);
        }
        if best > bound {
            return None;
        }
    }
    row.last().copied().filter(|d| *d <= bound)
}

/// How many letters of a word of this length may be wrong.
const fn allowance(length: usize) -> usize {
    match length {
        0..=4 => 0,
        5..=7 => 1,
        8..=12 => 2,
        _ => 3,
    }
}

/// How alike two folded words are, 0 or at least 0.7: 1 when equal, less for every wrong letter.
pub(crate) fn similar(a: &str, b: &str) -> f64 {
    if a == b {
        return 1.0;
    }
    let (x, y): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let bound = allowance(x.len().max(y.len()));
    if bound == 0 || x.iter().any(char::is_ascii_digit) || y.iter().any(char::is_ascii_digit) {
        return 0.0;
    }
    distance_within(&x, &y, bound).map_or(0.0, |d| 1.0 - d as f64 / x.len().max(y.len()) as f64)
}

#[cfg(test)]
mod tests {
    use super::{distance_within, similar};

    #[test]
    fn the_distance_is_counted_up_to_its_bound() {
        let chars = |s: &str| s.chars().collect::<Vec<_>>();
        assert_eq!(
            distance_within(&chars("total"), &chars("tota1"), 1),
            Some(1)
        );
        assert_eq!(
            distance_within(&chars("total"), &chars("totals"), 1),
            Some(1)
        );
        assert_eq!(distance_within(&chars("total"), &chars("tax"), 1), None);
        assert_eq!(distance_within(&[], &[], 0), Some(0));
    }

    #[test]
    fn short_words_must_be_equal() {
        assert!(similar("tax", "tex") < 0.1);
        assert!(similar("invoice", "lnvoice") > 0.8);
        assert!(similar("quantity", "quantlly") > 0.7);
        assert!(similar("total", "metal") < 0.1);
    }
}
