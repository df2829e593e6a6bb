//! Addresses: what a line contributes to one.

use std::sync::LazyLock;

use regex::Regex;

use super::expression;
use crate::local::text::{fold, pieces_of};

/// What a line of an address is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct AddressLine {
    /// It names a street, a building, a lot.
    pub street: f64,
    /// It has a postal code, a town or a country.
    pub place: f64,
}

impl AddressLine {
    /// The stronger of both.
    pub(crate) fn score(&self) -> f64 {
        self.street.max(self.place)
    }
}

const STREET_WORDS: &[&str] = &[
    "street",
    "st",
    "road",
    "rd",
    "avenue",
    "ave",
    "av",
    "lane",
    "ln",
    "drive",
    "dr",
    "boulevard",
    "blvd",
    "way",
    "highway",
    "hwy",
    "parkway",
    "pkwy",
    "court",
    "ct",
    "square",
    "sq",
    "terrace",
    "place",
    "pl",
    "suite",
    "ste",
    "apt",
    "floor",
    "flr",
    "level",
    "unit",
    "building",
    "bldg",
    "block",
    "blk",
    "box",
    "lot",
    "no",
    "jalan",
    "jln",
    "taman",
    "tmn",
    "lorong",
    "lrg",
    "kampung",
    "kg",
    "persiaran",
    "lebuh",
    "wisma",
    "menara",
    "plaza",
    "mall",
    "bandar",
    "kawasan",
    "seksyen",
    "section",
    "rue",
    "chemin",
    "quai",
    "impasse",
    "allee",
    "cours",
    "strasse",
    "str",
    "weg",
    "platz",
    "gasse",
    "ring",
    "ufer",
    "damm",
    "calle",
    "c",
    "avenida",
    "avda",
    "plaza",
    "paseo",
    "via",
    "viale",
    "piazza",
    "corso",
    "rua",
    "travessa",
    "straat",
    "laan",
    "plein",
    "gracht",
    "kade",
    "ulica",
    "ul",
    "aleja",
    "house",
    "centre",
    "center",
    "park",
    "industrial",
    "warehouse",
    "basement",
    "ground",
    "nagar",
    "colony",
    "sector",
    "batu",
    "simpang",
    "shopping",
    "complex",
    "kompleks",
    "dusun",
    "bukit",
    "medan",
];

const PLACES: &[&str] = &[
    "germany",
    "deutschland",
    "france",
    "spain",
    "espana",
    "italy",
    "italia",
    "netherlands",
    "nederland",
    "belgium",
    "belgie",
    "belgique",
    "austria",
    "osterreich",
    "switzerland",
    "schweiz",
    "suisse",
    "portugal",
    "poland",
    "polska",
    "malaysia",
    "singapore",
    "india",
    "china",
    "japan",
    "usa",
    "america",
    "kingdom",
    "england",
    "ireland",
    "canada",
    "australia",
    "mexico",
    "brazil",
    "brasil",
    "selangor",
    "johor",
    "penang",
    "perak",
    "sarawak",
    "sabah",
    "melaka",
    "kedah",
    "kelantan",
    "pahang",
    "kuala",
    "lumpur",
    "york",
    "california",
    "texas",
    "london",
    "paris",
    "berlin",
    "karnataka",
    "delhi",
    "mumbai",
    "cedex",
];

const STATES: &str = " AL AK AZ AR CA CO CT DE FL GA HI ID IL IN IA KS KY LA ME MD MA MI MN MS MO MT NE NV NH NJ NM NY NC ND OH OK OR PA RI SC SD TN TX UT VT VA WA WV WI WY DC ";

/// The words above that are long enough to be told from their neighbours.
pub(super) fn known_places() -> impl Iterator<Item = &'static str> {
    let words = STREET_WORDS.iter().chain(PLACES).copied();
    words.filter(|word| word.len() > 4)
}

static POSTAL: LazyLock<Regex> = LazyLock::new(|| {
    expression(
        r"\b(?:(?:[A-Z]{1,2}-? ?)?\d{4,6}(?:-\d{3,4})?|\d{4} ?[A-Z]{2}|\d{2}-\d{3}|[A-Z]{1,2}\d[A-Z\d]? ?\d[A-Z]{2}|[A-Z]\d[A-Z] ?\d[A-Z]\d)\b",
    )
});
static NUMBERED: LazyLock<Regex> = LazyLock::new(|| {
    expression(
        r"(?i)^(?:no\.?,? ?|lot |unit |nr\.? )?#?\d+[\p{L}]?[-/&,\d\p{L}]* ?,? ?\p{L}{2}|\p{L}{3,}\.? \d+ ?[a-z]?(?:$|[,;])",
    )
});
static POST_BOX: LazyLock<Regex> =
    LazyLock::new(|| expression(r"(?i)\bp\.? ?o\.? ?box|postfach|boite postale|\bapartado\b"));

/// A postal code of a text.
fn postal_code(text: &str) -> Option<std::ops::Range<usize>> {
    POSTAL.find_iter(text).map(|m| m.range()).next()
}

/// Whether a folded word names a kind of street or building.
fn is_street_word(word: &str) -> bool {
    STREET_WORDS.contains(&word)
        || (word.len() > 6
            && [
                "strasse", "straat", "gasse", "platz", "plein", "weg", "allee", "laan",
            ]
            .iter()
            .any(|e| word.ends_with(e)))
        || (word.len() > 5 && word.ends_with("str"))
}

/// What a line contributes to an address.
pub(crate) fn address_line(text: &str) -> AddressLine {
    let folded = fold(text);
    let words: Vec<String> = pieces_of(&folded).into_iter().map(|p| p.text).collect();
    let streets = words
        .iter()
        .filter(|w| is_street_word(w) && w.len() > 1)
        .count();
    let numbered = NUMBERED.is_match(text) && !text.contains(':');
    let digits = words.iter().any(|w| w.bytes().all(|b| b.is_ascii_digit()));
    let mut street: f64 = match streets {
        0 => 0.0,
        1 => 0.45,
        _ => 0.75,
    };
    if numbered {
        street += 0.35;
    } else if digits && streets > 0 {
        street += 0.2;
    }
    if POST_BOX.is_match(text) {
        street = street.max(0.8);
    }
    let postal = postal_code(text);
    let mut place: f64 = 0.0;
    if let Some(range) = &postal {
        let letters = text.chars().filter(|c| c.is_alphabetic()).count();
        let alone = text.len() == range.len();
        place += if letters >= 3 {
            0.6
        } else if alone {
            0.35
        } else {
            0.1
        };
        let state = text.get(..range.start).is_some_and(|t| {
            t.trim_end_matches([' ', ','])
                .rsplit([' ', ','])
                .next()
                .is_some_and(|w| w.len() == 2 && STATES.contains(&format!(" {w} ")))
        });
        if state {
            place += 0.3;
        }
    }
    let named = words
        .iter()
        .filter(|w| PLACES.contains(&w.as_str()))
        .count();
    place += 0.35 * named.min(2) as f64;
    if text.contains(':') || text.contains('@') {
        place *= 0.4;
        street *= 0.6;
    }
    if words.len() > 14 {
        place *= 0.5;
        street *= 0.5;
    }
    AddressLine {
        street: street.min(1.0),
        place: place.min(1.0),
    }
}
