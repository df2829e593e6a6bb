//! Names of organisations and people, by their shape.

use crate::local::text::{fold, pieces_of};

const LEGAL_FORMS: &[&str] = &[
    "gmbh",
    "ag",
    "kg",
    "ohg",
    "ug",
    "gbr",
    "ev",
    "eg",
    "mbh",
    "kgaa",
    "se",
    "inc",
    "llc",
    "llp",
    "ltd",
    "limited",
    "corp",
    "corporation",
    "plc",
    "company",
    "co",
    "bhd",
    "sdn",
    "pte",
    "pty",
    "sarl",
    "sas",
    "sa",
    "eurl",
    "sasu",
    "snc",
    "sci",
    "srl",
    "spa",
    "sl",
    "slu",
    "bv",
    "nv",
    "vof",
    "lda",
    "ltda",
    "sp",
    "oy",
    "ab",
    "as",
    "aps",
    "kft",
    "sro",
    "doo",
    "pvt",
    "enterprise",
    "enterprises",
    "trading",
    "holdings",
    "group",
    "gruppe",
    "foundation",
    "stiftung",
    "verein",
    "versicherung",
    "bank",
    "university",
    "universitat",
    "hotel",
    "restaurant",
    "services",
    "solutions",
    "technologies",
    "systems",
    "industries",
    "partners",
    "associates",
    "institute",
];

/// The words above that are long enough to be told from their neighbours.
pub(super) fn known_firms() -> impl Iterator<Item = &'static str> {
    LEGAL_FORMS.iter().copied().filter(|word| word.len() > 4)
}

/// Of these an ordinary word of some language: they count only in capitals or after other words of a name.
const WEAK: &[&str] = &[
    "se", "as", "ab", "sa", "sp", "spa", "ag", "co", "company", "sci", "sl", "ev", "eg", "bank",
    "group", "services", "systems", "hotel",
];

/// Whether a text has a legal form or a word of firms in it.
pub(crate) fn has_legal_form(text: &str) -> bool {
    let joined = fold(text).replace(['.', '/'], "");
    if joined.contains("s/b") {
        return true;
    }
    let words: Vec<String> = pieces_of(&joined).into_iter().map(|p| p.text).collect();
    words.iter().enumerate().any(|(at, w)| {
        LEGAL_FORMS.contains(&w.as_str())
            && (at > 0 || words.len() == 1)
            && (!WEAK.contains(&w.as_str()) || at + 2 >= words.len())
    }) || fold(text).contains(" s/b")
}

/// A number of a register in brackets, as after the name of a firm: "(814198-X)".
pub(crate) fn registered(printed: &str) -> bool {
    printed.split('(').skip(1).any(|inside| {
        let number: String = inside
            .chars()
            .take_while(|c| *c != ')' && *c != ' ')
            .collect();
        let digits = number.chars().filter(char::is_ascii_digit).count();
        digits >= 5
            && number
                .chars()
                .all(|c| c.is_ascii_digit() || c == '-' || c.is_ascii_uppercase())
    })
}

/// What firms do, as the second line of their name says it.
const TRADES: &[&str] = &[
    "stationery",
    "books",
    "bookstore",
    "hardware",
    "timber",
    "trading",
    "enterprise",
    "marketing",
    "electrical",
    "electronics",
    "bakery",
    "cafe",
    "coffee",
    "restaurant",
    "supermarket",
    "market",
    "mart",
    "pharmacy",
    "furniture",
    "motors",
    "machinery",
    "packaging",
    "industries",
    "supplies",
    "services",
    "solutions",
    "construction",
    "engineering",
    "logistics",
    "transport",
    "and",
    "the",
];

/// Whether a line has nothing but a trade and legal forms in it ("STATIONERY SDN. BHD").
pub(crate) fn of_a_firm(text: &str) -> bool {
    let words = pieces_of(&fold(text));
    let known = |w: &str| TRADES.contains(&w) || LEGAL_FORMS.contains(&w);
    words.len() > 1
        && words.iter().all(|w| known(&w.text))
        && words
            .iter()
            .any(|w| TRADES.contains(&w.text.as_str()) && w.text.len() > 3)
}

/// Legal forms of two words: each may have a letter wrong.
const PAIRS: &[(&str, &str)] = &[
    ("sdn", "bhd"),
    ("pvt", "ltd"),
    ("pte", "ltd"),
    ("pty", "ltd"),
];

/// A recognised name with its legal form as it must have been printed ("SON BHD" is "SDN BHD").
pub(crate) fn repaired(name: &str) -> Option<String> {
    let words: Vec<&str> = name.split(' ').collect();
    let (at, last) = (words.len().checked_sub(2)?, words.last()?);
    let plain = |w: &str| fold(w.trim_matches(|c: char| !c.is_alphanumeric()));
    let (first, second) = (plain(words[at]), plain(last));
    let one_off = |a: &str, b: &str| {
        a.chars().count() == b.chars().count()
            && a.chars().zip(b.chars()).filter(|(x, y)| x != y).count() == 1
    };
    let short: Vec<char> = last.chars().collect();
    if let ['S' | 's' | '$' | '5', '/', 'B' | 'b' | '8' | 'R'] = short.as_slice()
        && *last != "S/B"
    {
        return Some(format!("{} S/B", words[..=at].join(" ")));
    }
    for (a, b) in PAIRS {
        let fixed = match (first == *a, second == *b) {
            (true, false) if one_off(&second, b) => (words[at].to_owned(), b.to_uppercase()),
            (false, true) if one_off(&first, a) => (a.to_uppercase(), (*last).to_owned()),
            (false, false) if at > 0 && one_off(&first, a) && one_off(&second, b) => {
                (a.to_uppercase(), b.to_uppercase())
            }
            _ => continue,
        };
        let mut out: Vec<String> = words[..at].iter().map(|w| (*w).to_owned()).collect();
        out.extend([fixed.0, fixed.1]);
        return Some(out.join(" "));
    }
    None
}

/// How much a line looks like the name of an organisation, 0 to 1.
pub(crate) fn organisation_score(text: &str) -> f64 {
    let letters = text.chars().filter(|c| c.is_alphabetic()).count();
    let digits = text.chars().filter(char::is_ascii_digit).count();
    let words = text.split(' ').count();
    if letters < 2 || words > 10 || text.contains('@') || text.ends_with(':') {
        return 0.0;
    }
    let mut score: f64 = 0.45;
    if has_legal_form(text) {
        score += 0.4;
    }
    if digits > 0 {
        score -= 0.1 + 0.5 * digits as f64 / (letters + digits) as f64;
    }
    let capitals = text
        .split(' ')
        .filter(|w| w.chars().next().is_some_and(char::is_uppercase))
        .count();
    score += 0.15 * (capitals as f64 / words as f64 - 0.5);
    if words > 6 {
        score -= 0.1;
    }
    score.clamp(0.0, 1.0)
}

/// How much a text looks like the name of a person, 0 to 1.
pub(crate) fn person_score(text: &str) -> f64 {
    let words: Vec<&str> = text.split(' ').filter(|w| !w.is_empty()).collect();
    if !(1..=5).contains(&words.len())
        || text
            .chars()
            .any(|c| c.is_ascii_digit() || matches!(c, '@' | ':' | '€' | '$'))
    {
        return 0.0;
    }
    let titled = matches!(
        fold(words[0]).trim_end_matches('.'),
        "mr" | "mrs"
            | "ms"
            | "dr"
            | "prof"
            | "herr"
            | "herrn"
            | "frau"
            | "m"
            | "mme"
            | "mlle"
            | "sr"
            | "sra"
            | "sig"
            | "dott"
    );
    let capitals = words
        .iter()
        .filter(|w| w.chars().next().is_some_and(char::is_uppercase))
        .count();
    if capitals < words.len().min(2) {
        return 0.1;
    }
    let mut score: f64 = if words.len() == 1 { 0.35 } else { 0.65 };
    if titled {
        score += 0.25;
    }
    if has_legal_form(text) {
        score -= 0.3;
    }
    score.clamp(0.0, 1.0)
}
