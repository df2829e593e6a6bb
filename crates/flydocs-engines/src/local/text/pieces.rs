//! Pieces: the letters and digits of a word, cut where labels may differ (`Ust.-Id.-Nr.:` = ust id nr).

use super::fold::fold;

/// A run of letters or of digits inside a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Piece {
    /// Folded.
    pub text: String,
    /// First byte in the text.
    pub start: usize,
    /// First byte after it.
    pub end: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Letter,
    Digit,
    Sign,
    Other,
}

fn class(c: char) -> Class {
    match c {
        '#' | '№' | '%' | '@' => Class::Sign,
        _ if c.is_ascii_digit() => Class::Digit,
        _ if c.is_alphanumeric() => Class::Letter,
        _ => Class::Other,
    }
}

/// The pieces of a text, in order. A possessive `'s` and ordinal signs are no pieces.
pub(crate) fn pieces_of(text: &str) -> Vec<Piece> {
    let mut pieces: Vec<Piece> = Vec::new();
    let mut open: Option<(usize, Class)> = None;
    let mut previous = ' ';
    for (at, c) in text.char_indices().chain([(text.len(), ' ')]) {
        let now = if at == text.len() {
            Class::Other
        } else {
            class(c)
        };
        if let Some((start, class)) = open
            && (class != now || class == Class::Sign)
        {
            push(&mut pieces, text, start, at);
            open = None;
        }
        if open.is_none() && now != Class::Other {
            let possessive = matches!(previous, '\'' | '’' | '‘')
                && matches!(c, 's' | 'S')
                && text
                    .get(at + 1..)
                    .and_then(|rest| rest.chars().next())
                    .is_none_or(|next| !next.is_alphanumeric())
                && !pieces.is_empty();
            if !possessive {
                open = Some((at, now));
            }
        }
        previous = c;
    }
    pieces
}

fn push(pieces: &mut Vec<Piece>, text: &str, start: usize, end: usize) {
    let Some(part) = text.get(start..end) else {
        return;
    };
    let folded = match part {
        "#" | "№" => "no".to_owned(),
        _ => fold(part),
    };
    if !folded.is_empty() {
        pieces.push(Piece {
            text: folded,
            start,
            end,
        });
    }
}

/// The folded words of a phrase or of a name in `snake_case` or `camelCase`.
pub(crate) fn phrase_pieces(phrase: &str) -> Vec<String> {
    let mut spaced = String::with_capacity(phrase.len() + 8);
    let mut previous = ' ';
    for c in phrase.chars() {
        if c.is_uppercase() && previous.is_lowercase() {
            spaced.push(' ');
        }
        spaced.push(if c == '_' { ' ' } else { c });
        previous = c;
    }
    pieces_of(&spaced).into_iter().map(|p| p.text).collect()
}

#[cfg(test)]
mod tests {
    use super::{phrase_pieces, pieces_of};

    #[test]
    fn labels_fall_into_the_same_pieces_however_they_are_written() {
        for (text, pieces) in [
            ("USt.-Id.-Nr.:", vec!["ust", "id", "nr"]),
            ("PAYER’S", vec!["payer"]),
            ("Invoice#", vec!["invoice", "no"]),
            ("invoiceNumber", vec!["invoice", "number"]),
            ("seller_vat_id", vec!["seller", "vat", "id"]),
            ("TOTAL:RM9.00", vec!["total", "rm", "9", "00"]),
            ("", vec![]),
        ] {
            assert_eq!(phrase_pieces(text), pieces, "{text}");
        }
    }

    #[test]
    fn a_piece_knows_its_bytes() {
        let pieces = pieces_of("Nº: é7");
        assert_eq!(pieces.last().map(|p| (p.start, p.end)), Some((7, 8)));
    }
}
