//! Tesseract's TSV: one row a token, with its box, line and confidence.

use flydocs_contract::{Rect, Word};

/// Level of a word in the hierarchy page, block, paragraph, line, word.
const WORD: &str = "5";

/// Words with confidence, in tesseract's order; boxes as fractions of `width` x `height`.
pub(super) fn parse(tsv: &str, width: u32, height: u32) -> Vec<Word> {
    let (width, height) = (f64::from(width.max(1)), f64::from(height.max(1)));
    let mut words = Vec::new();
    let mut current: Option<[&str; 3]> = None;
    let mut line = 0;
    for row in tsv.lines() {
        let columns: Vec<&str> = row.splitn(12, '\t').collect();
        let &[
            level,
            _,
            block,
            paragraph,
            line_number,
            _,
            left,
            top,
            w,
            h,
            confidence,
            text,
        ] = columns.as_slice()
        else {
            continue;
        };
        if level != WORD {
            continue;
        }
        let text = text.trim();
        let (Ok(confidence), [Ok(left), Ok(top), Ok(w), Ok(h)]) = (
            confidence.parse::<f32>(),
            [left, top, w, h].map(str::parse::<f64>),
        ) else {
            continue;
        };
        if text.is_empty() || confidence < 0.0 {
            continue;
        }
        let Some(rect) = Rect::new(
            left / width,
            top / height,
            (left + w) / width,
            (top + h) / height,
        )
        .clipped() else {
            continue;
        };
        let here = [block, paragraph, line_number];
        if current.is_some_and(|c| c != here) {
            line += 1;
        }
        current = Some(here);
        words.push(Word {
            text: text.split_whitespace().collect(),
            rect,
            line,
            confidence: Some((confidence / 100.0).clamp(0.0, 1.0)),
            bold: false,
        });
    }
    words
}

#[cfg(test)]
mod tests {
    use super::parse;

    const TSV: &str = "level\tpage_num\tblock_num\tpar_num\tline_num\tword_num\tleft\ttop\twidth\theight\tconf\ttext\n\
        1\t1\t0\t0\t0\t0\t0\t0\t200\t100\t-1\t\n\
        4\t1\t1\t1\t1\t0\t10\t10\t90\t10\t-1\t\n\
        5\t1\t1\t1\t1\t1\t10\t10\t40\t10\t96.5\tInvoice\n\
        5\t1\t1\t1\t1\t2\t60\t10\t40\t10\t-1\tghost\n\
        5\t1\t1\t1\t1\t3\t60\t10\t40\t10\t31\t42\n\
        5\t1\t1\t1\t2\t1\t10\t30\t40\t10\t90\t \n\
        5\t1\t1\t1\t2\t2\t10\t30\t400\t10\t90\tTotal\n";

    #[test]
    fn tokens_without_text_or_confidence_are_dropped() {
        let words = parse(TSV, 200, 100);
        let texts: Vec<_> = words.iter().map(|w| (w.text.as_str(), w.line)).collect();
        assert_eq!(texts, [("Invoice", 0), ("42", 0), ("Total", 1)]);
        assert!((words[0].rect.xmax - 0.25).abs() < 1e-9);
        assert_eq!(words[0].confidence, Some(0.965));
        assert!(words[2].rect.xmax <= 1.0, "a box is cut to the page");
    }
}
