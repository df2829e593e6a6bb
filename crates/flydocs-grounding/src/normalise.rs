//! One form for values and words: NFC, case folded, one space for a run of white space, ASCII digits.
//!
//! Every comparison of this room happens between texts that went through here.

use unicode_normalization::UnicodeNormalization;

/// NFC, case-fold, white space runs to one space, trimmed; decimal digits of other scripts become ASCII.
pub fn normalise(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    if text.is_ascii() {
        push_collapsed(&mut out, text.chars().map(|c| c.to_ascii_lowercase()));
    } else {
        let folded = caseless::default_case_fold_str(&text.nfc().collect::<String>());
        push_collapsed(&mut out, folded.nfc().map(ascii_digit));
    }
    out
}

fn push_collapsed(out: &mut String, chars: impl Iterator<Item = char>) {
    let mut gap = false;
    for c in chars {
        if c.is_whitespace() {
            gap = !out.is_empty();
        } else {
            if gap {
                out.push(' ');
                gap = false;
            }
            out.push(c);
        }
    }
}

/// The punctuation of the contract replaced by spaces, runs collapsed; the input is normalised already.
pub(crate) fn without_punctuation(normalised: &str) -> String {
    let mut out = String::with_capacity(normalised.len());
    push_collapsed(
        &mut out,
        normalised
            .chars()
            .map(|c| if is_punctuation(c) { ' ' } else { c }),
    );
    out
}

/// The ASCII digits of a text, joined.
pub(crate) fn digits(text: &str) -> String {
    text.chars().filter(char::is_ascii_digit).collect()
}

/// The punctuation the second variant drops; the typographic twins of a listed mark count as that mark.
pub(crate) const fn is_punctuation(c: char) -> bool {
    matches!(
        c,
        '.' | ','
            | ':'
            | ';'
            | '('
            | ')'
            | '['
            | ']'
            | '{'
            | '}'
            | '/'
            | '\\'
            | '-'
            | '_'
            | '\''
            | '"'
            | '`'
            | '\u{2010}'..='\u{2015}'
            | '\u{2018}'..='\u{201f}'
            | '\u{2212}'
            | '\u{ab}'
            | '\u{bb}'
            | '\u{3001}'
            | '\u{3002}'
            | '\u{300c}'..='\u{300f}'
            | '\u{ff08}'
            | '\u{ff09}'
            | '\u{ff0c}'
            | '\u{ff1a}'
    )
}

/// Signs of currencies, which stand at a number without being part of it.
pub(crate) const fn is_currency_sign(c: char) -> bool {
    matches!(
        c,
        '$' | '\u{a2}'..='\u{a5}' | '\u{20a0}'..='\u{20cf}' | '\u{e3f}' | '\u{ffe5}' | '\u{ffe1}' | '\u{ff04}'
    )
}

/// What may stand around a value inside its word without being part of it.
pub(crate) const fn is_edge(c: char) -> bool {
    is_punctuation(c) || is_currency_sign(c) || matches!(c, '*' | '#' | '|' | '=' | '<' | '>')
}

/// A letter or kana of a script that is written without spaces.
pub(crate) const fn is_unspaced(c: char) -> bool {
    matches!(
        c as u32,
        0x0e00..=0x0e3e          // Thai, without the baht sign
            | 0x0e40..=0x0eff    // Thai, Lao
            | 0x1100..=0x11ff    // Hangul
            | 0x1780..=0x17ff    // Khmer
            | 0x19e0..=0x19ff
            | 0x3005..=0x3007
            | 0x3021..=0x3029
            | 0x3040..=0x30ff    // kana
            | 0x3105..=0x318f    // bopomofo, Hangul
            | 0x31a0..=0x31bf
            | 0x31f0..=0x31ff
            | 0x3400..=0x4dbf    // CJK
            | 0x4e00..=0x9fff
            | 0xa960..=0xa97f
            | 0xac00..=0xd7ff    // Hangul
            | 0xf900..=0xfaff
            | 0xff66..=0xffdc    // half-width kana, Hangul
            | 0x20000..=0x3ffff
    )
}

/// True when at least 30 % of the letters belong to scripts written without spaces.
pub(crate) fn is_unspaced_text(text: &str) -> bool {
    let (mut letters, mut unspaced) = (0_usize, 0_usize);
    for c in text.chars() {
        if is_unspaced(c) {
            letters += 1;
            unspaced += 1;
        } else if c.is_alphabetic() {
            letters += 1;
        }
    }
    unspaced > 0 && unspaced * 10 >= letters * 3
}

fn ascii_digit(c: char) -> char {
    const ZEROS: [u32; 12] = [
        0x0660, 0x06f0, 0x0966, 0x09e6, 0x0a66, 0x0ae6, 0x0e50, 0x0ed0, 0x1040, 0x17e0, 0x1810,
        0xff10,
    ];
    let code = c as u32;
    if code < 0x0660 {
        return c;
    }
    ZEROS
        .iter()
        .find(|zero| (**zero..**zero + 10).contains(&code))
        .and_then(|zero| char::from_digit(code - zero, 10))
        .unwrap_or(c)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn case_spaces_digits_and_composition_do_not_matter() {
        for (given, wanted) in [
            ("  ACME\u{a0}\tCorp ", "acme corp"),
            ("Stra\u{df}e", "strasse"),
            ("e\u{301}", "\u{e9}"),
            ("\u{fb01}n", "fin"),
            ("\u{661}\u{662}", "12"),
            ("\u{ff11}\u{ff12}", "12"),
            ("1\u{202f}234,50", "1 234,50"),
            ("", ""),
        ] {
            assert_eq!(normalise(given), wanted, "{given:?}");
        }
    }

    #[test]
    fn punctuation_becomes_one_space() {
        assert_eq!(without_punctuation("a/b - (c)."), "a b c");
        assert_eq!(without_punctuation("--"), "");
    }

    #[test]
    fn a_third_of_the_letters_decides_how_a_text_is_cut() {
        assert!(is_unspaced_text("\u{682a}\u{5f0f}\u{4f1a}\u{793e}ABC"));
        assert!(is_unspaced_text("2026\u{5e74}1\u{6708}3\u{65e5}"));
        assert!(!is_unspaced_text("Tokyo \u{90fd}"));
        assert!(!is_unspaced_text("1234"));
    }
}
