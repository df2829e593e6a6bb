//! Writing systems that run from right to left.

/// A letter of a script that runs from right to left.
pub(crate) fn is_rtl(ch: char) -> bool {
    matches!(ch,
        '\u{590}'..='\u{8ff}' | '\u{fb1d}'..='\u{fdff}' | '\u{fe70}'..='\u{fefc}'
        | '\u{10800}'..='\u{10fff}' | '\u{1e800}'..='\u{1eeff}')
        && !matches!(ch, '\u{660}'..='\u{669}' | '\u{6f0}'..='\u{6f9}')
}

/// Characters that keep running left to right inside such text: numbers, their signs, Latin.
fn runs_right(ch: char) -> bool {
    ch.is_numeric() || (ch.is_alphabetic() && !is_rtl(ch))
}

fn joins_numbers(ch: char) -> bool {
    matches!(
        ch,
        '.' | ',' | ':' | '/' | '-' | '+' | '%' | '\u{66a}' | '\u{66b}' | '\u{66c}'
    )
}

/// Parts given from right to left, in the order they are read: runs of numbers and Latin turned round again.
pub(crate) fn logical(parts: &[&str]) -> String {
    let right: Vec<bool> = parts.iter().map(|p| p.chars().any(runs_right)).collect();
    let joins: Vec<bool> = parts.iter().map(|p| p.chars().all(joins_numbers)).collect();
    let mut out = String::new();
    let mut at = 0;
    while at < parts.len() {
        if !right[at] {
            out.push_str(parts[at]);
            at += 1;
            continue;
        }
        let mut end = at + 1;
        while end < parts.len()
            && (right[end] || (joins[end] && end + 1 < parts.len() && right[end + 1]))
        {
            end += 1;
        }
        for part in parts[at..end].iter().rev() {
            out.push_str(part);
        }
        at = end;
    }
    out
}

/// Indices of the words of a line (given from left to right) in the order they are read.
pub(crate) fn line_order(rtl: &[bool], strong_ltr: &[bool]) -> Vec<usize> {
    let right_to_left = rtl.iter().filter(|r| **r).count();
    let left_to_right = strong_ltr.iter().filter(|l| **l).count();
    let mut order: Vec<usize> = (0..rtl.len()).collect();
    if right_to_left == 0 {
        return order;
    }
    let against: Vec<bool> = if right_to_left >= left_to_right {
        order.reverse();
        order.iter().map(|i| !rtl[*i]).collect()
    } else {
        order.iter().map(|i| rtl[*i]).collect()
    };
    let mut at = 0;
    while at < order.len() {
        let end = (at..order.len())
            .find(|i| against[*i] != against[at])
            .unwrap_or(order.len());
        if against[at] {
            order[at..end].reverse();
        }
        at = end;
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_inside_hebrew_keep_their_order() {
        // from right to left: shin, lamed, then 1 2 . 5 drawn to the left of them, seen from the right as 5 . 2 1
        let parts = ["ש", "ל", "5", ".", "2", "1"];
        assert_eq!(logical(&parts), "של12.5");
    }

    #[test]
    fn a_line_of_arabic_is_read_from_the_right() {
        let rtl = [true, false, false, true];
        assert_eq!(line_order(&rtl, &[false; 4]), [3, 1, 2, 0]);
    }

    #[test]
    fn a_hebrew_name_inside_english_is_turned() {
        let rtl = [false, true, true, false, false];
        let ltr = [true, false, false, true, true];
        assert_eq!(line_order(&rtl, &ltr), [0, 2, 1, 3, 4]);
    }

    #[test]
    fn latin_lines_are_left_alone() {
        assert_eq!(line_order(&[false; 3], &[true; 3]), [0, 1, 2]);
    }
}
