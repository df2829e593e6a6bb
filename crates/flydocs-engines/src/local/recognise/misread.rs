//! What a recogniser misread: letters among the digits of a number, and words of names and addresses, put right
//! when only one known word can be meant.

use std::borrow::Cow;

use super::{address::known_places, organisation::known_firms};
use crate::local::text::fold;

/// Letters and digits that print takes for each other.
const ALIKE: [&str; 16] = [
    "il1tj", "o0dqcu", "b8rhe6", "s5", "mnhwr", "a4", "uvyo", "z27", "efc", "hkbn", "g6q9c", "prf",
    "kx", "ao", "ce", "lit",
];
/// Shorter words have too many neighbours.
const SHORTEST: usize = 5;
/// From this length on, two letters may be wrong.
const LONG: usize = 9;
/// A word surer than this is what was printed.
const SURE: f32 = 0.93;

/// Further words of addresses and of the names of firms, as they stand on paper all over the world.
const WORDS: &str = "industrial perindustrian perniagaan business commercial heights gardens garden estate village tower \
    towers central station airport market hardware stationery restoran kedai enterprise marketing \
    distribution distributors electrical electronics supermarket hypermarket bookstore bakery pharmacy \
    furniture construction engineering management malaysia international national united general motors \
    machinery packaging development properties petaling puchong kepong klang kajang ampang cheras \
    seremban subang puteri bahru batang kembangan darul ehsan kuching butterworth georgetown singapore \
    jakarta bangkok manila hamburg munchen koeln frankfurt stuttgart dusseldorf leipzig dresden hannover \
    nurnberg bremen lyon marseille toulouse bordeaux nantes strasbourg madrid barcelona valencia sevilla \
    milano torino napoli amsterdam rotterdam utrecht bruxelles antwerpen wien zurich geneve lisboa \
    warszawa krakow birmingham manchester liverpool glasgow dublin chicago houston angeles francisco \
    washington boston seattle atlanta toronto montreal vancouver sydney melbourne street avenue \
    boulevard";

/// The word as it must have been printed; nothing when it is known, sure, or nothing or too much is near.
pub(crate) fn put_right(word: &str, confidence: Option<f32>) -> Option<String> {
    if confidence.is_none_or(|c| c >= SURE) {
        return None;
    }
    let core = word.trim_matches(|c: char| !c.is_alphanumeric());
    let letters = core.chars().filter(char::is_ascii_alphabetic).count();
    if core.len() < SHORTEST
        || letters + 2 < core.len()
        || !core.bytes().all(|b| b.is_ascii_alphanumeric())
    {
        return None;
    }
    let folded = fold(core);
    let allowed = if core.len() >= LONG { 2 } else { 1 };
    let words = known_places().chain(known_firms()).chain(WORDS.split(' '));
    let mut meant: Option<&str> = None;
    for known in words {
        if known.len() != folded.len() {
            continue;
        }
        if known == folded {
            return None;
        }
        if wrong(&folded, known).is_some_and(|wrong| wrong <= allowed) {
            if meant.is_some_and(|other| other != known) {
                return None;
            }
            meant = Some(known);
        }
    }
    let mut printed = String::with_capacity(word.len());
    let lower = core.bytes().any(|b| b.is_ascii_lowercase());
    for ((was, is), folded) in core.chars().zip(meant?.chars()).zip(folded.chars()) {
        let kept = folded == is;
        let small = lower && !printed.is_empty();
        printed.push(match (kept, small) {
            (true, _) => was,
            (false, true) => is,
            (false, false) => is.to_ascii_uppercase(),
        });
    }
    Some(word.replacen(core, &printed, 1))
}

/// The text with the letters in its numbers and dates as the digits they must have been, byte for byte.
pub(crate) fn digits(text: &str) -> Cow<'_, str> {
    let digit = |c: char| match c {
        'O' | 'o' => '0',
        'I' | 'l' | '|' => '1',
        'S' => '5',
        'B' => '8',
        'Z' => '2',
        _ => c,
    };
    let misread = |word: &str| {
        let (mut digits, mut letters, mut signs, mut dashes) = (0, 0, 0, 0);
        for c in word.trim_end_matches(['.', ',', ':']).chars() {
            match c {
                '0'..='9' => digits += 1,
                '.' | ',' | '/' | ':' => signs += 1,
                '-' => dashes += 1,
                c if digit(c) != c => letters += 1,
                _ => return false,
            }
        }
        letters > 0 && digits > 1 && digits >= letters && (signs > 0 || dashes == 2 && digits > 3)
    };
    if !text.split(' ').any(misread) {
        return Cow::Borrowed(text);
    }
    let words = text.split(' ').map(|word| {
        if misread(word) {
            word.chars().map(digit).collect::<String>()
        } else {
            word.to_owned()
        }
    });
    Cow::Owned(words.collect::<Vec<_>>().join(" "))
}

/// How many letters differ, when all that do look alike.
fn wrong(a: &str, b: &str) -> Option<usize> {
    let mut wrong = 0;
    for (x, y) in a.chars().zip(b.chars()).filter(|(x, y)| x != y) {
        if !ALIKE
            .iter()
            .any(|group| group.contains(x) && group.contains(y))
        {
            return None;
        }
        wrong += 1;
    }
    Some(wrong)
}

#[cfg(test)]
mod tests {
    use super::{digits, put_right};

    #[test]
    fn letters_among_digits_are_digits_and_words_stay() {
        for (read, printed) in [
            ("Date O5/O3/2018 l2:30", "Date 05/03/2018 12:30"),
            ("TOTAL 1O.5O", "TOTAL 10.50"),
            ("LOT B-12, SS21", "LOT B-12, SS21"),
            ("BOSS 100", "BOSS 100"),
        ] {
            assert_eq!(digits(read), printed);
        }
    }

    #[test]
    fn a_word_with_a_letter_that_looks_like_another_is_put_right() {
        for (read, printed) in [
            ("LUNPUR", "LUMPUR"),
            ("Lunpur.", "Lumpur."),
            ("TNOUSTRIAL", "INDUSTRIAL"),
            ("(SELANG0R)", "(SELANGOR)"),
            ("Hardnare", "Hardware"),
        ] {
            assert_eq!(
                put_right(read, Some(0.6)).as_deref(),
                Some(printed),
                "{read}"
            );
        }
    }

    #[test]
    fn what_is_sure_or_known_or_like_nothing_stays() {
        assert_eq!(put_right("LUNPUR", Some(0.96)), None, "surely read");
        assert_eq!(put_right("LUNPUR", None), None, "a text layer");
        for word in ["LUMPUR", "KAKTUS", "12", "U5/8M", "KLMPUR", "", "¥"] {
            assert_eq!(put_right(word, Some(0.3)), None, "{word}");
        }
    }
}
