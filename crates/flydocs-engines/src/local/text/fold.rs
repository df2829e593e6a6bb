//! Folding: one spelling for what a reader takes for the same letters.

use unicode_normalization::{UnicodeNormalization, char::is_combining_mark};

/// Lower case, without accents and ligatures, `ß` as `ss`.
pub(crate) fn fold(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    let mut folded = String::with_capacity(text.len());
    for c in text.nfkd() {
        if is_combining_mark(c) {
            continue;
        }
        match c {
            'ß' | 'ẞ' => folded.push_str("ss"),
            'ø' | 'Ø' => folded.push('o'),
            'ł' | 'Ł' => folded.push('l'),
            'æ' | 'Æ' => folded.push_str("ae"),
            'œ' | 'Œ' => folded.push_str("oe"),
            '’' | '‘' | '´' | '`' => folded.push('\''),
            '–' | '—' | '‐' | '‑' | '−' => folded.push('-'),
            _ => folded.extend(c.to_lowercase()),
        }
    }
    folded
}

#[cfg(test)]
mod tests {
    use super::fold;

    #[test]
    fn accents_case_and_ligatures_do_not_count() {
        for (text, folded) in [
            ("Fälligkeit", "falligkeit"),
            ("ÉCHÉANCE", "echeance"),
            ("Straße", "strasse"),
            ("ﬁrst", "first"),
            ("N°", "n°"),
            ("zł", "zl"),
            ("TOTAL", "total"),
        ] {
            assert_eq!(fold(text), folded);
        }
    }
}
