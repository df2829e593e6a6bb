//! Titles: words that name the kind of a document and not a party.

use crate::local::text::fold;

/// Words of titles of documents.
const TITLES: &[&str] = &[
    "invoice",
    "tax",
    "receipt",
    "bill",
    "rechnung",
    "facture",
    "factura",
    "fattura",
    "factuur",
    "statement",
    "simplified",
    "original",
    "copy",
    "page",
    "seite",
    "retail",
    "payment",
    "credit",
    "note",
    "cash",
    "order",
    "quotation",
    "date",
    "datum",
    "form",
    "document",
    "welcome",
    "thank",
    "you",
    "duplicate",
    "official",
    "project",
    "sample",
    "exhibit",
    "agreement",
    "handelsrechnung",
    "gutschrift",
    "beleg",
];

/// Words that name the kind of a document and not a party.
pub(super) fn is_title(text: &str) -> bool {
    let folded = fold(text);
    let words: Vec<&str> = folded
        .split(|c: char| !c.is_alphanumeric())
        .filter(|w| !w.is_empty())
        .collect();
    !words.is_empty() && words.iter().filter(|w| TITLES.contains(w)).count() * 2 > words.len()
}
