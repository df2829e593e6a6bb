//! The synonym table `data/lexicon.txt`, read once.

use std::{collections::HashMap, sync::LazyLock};

use crate::local::text::phrase_pieces;

/// What kind of value a concept has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum ConceptKind {
    Date,
    Time,
    Amount,
    Number,
    Percent,
    Identifier,
    Currency,
    Iban,
    Bic,
    Vat,
    TaxNumber,
    Email,
    Phone,
    Url,
    Organisation,
    Person,
    Name,
    Address,
    Text,
    /// Not a value: a party of the document.
    Role,
}

impl ConceptKind {
    fn parse(word: &str) -> Option<Self> {
        Some(match word {
            "date" => Self::Date,
            "time" => Self::Time,
            "amount" => Self::Amount,
            "number" => Self::Number,
            "percent" => Self::Percent,
            "identifier" => Self::Identifier,
            "currency" => Self::Currency,
            "iban" => Self::Iban,
            "bic" => Self::Bic,
            "vat" => Self::Vat,
            "tax_number" => Self::TaxNumber,
            "email" => Self::Email,
            "phone" => Self::Phone,
            "url" => Self::Url,
            "organisation" => Self::Organisation,
            "person" => Self::Person,
            "name" => Self::Name,
            "address" => Self::Address,
            "text" => Self::Text,
            "role" => Self::Role,
            _ => return None,
        })
    }
}

/// One paragraph of the table.
#[derive(Debug, Clone)]
pub(crate) struct Concept {
    /// Its name.
    pub name: String,
    /// The kind of its value.
    pub kind: ConceptKind,
    /// Names a schema gives such a field, in pieces.
    pub names: Vec<Vec<String>>,
    /// Labels as printed, in pieces.
    pub labels: Vec<Vec<String>>,
    /// Labels that also mean other things, in pieces.
    pub weak: Vec<Vec<String>>,
    /// The concept whose value it takes when it has no label.
    pub otherwise: Option<String>,
}

/// The whole table.
#[derive(Debug, Default)]
pub(crate) struct Lexicon {
    /// In the order of the file.
    pub concepts: Vec<Concept>,
    by_name: HashMap<String, usize>,
}

impl Lexicon {
    /// Reads the form that `data/README.md` describes; lines that do not fit are returned.
    fn parse(text: &str) -> (Self, Vec<String>) {
        let mut lexicon = Self::default();
        let mut faults = Vec::new();
        for line in text
            .lines()
            .map(str::trim)
            .filter(|l| !l.is_empty() && !l.starts_with('#'))
        {
            if let Some(head) = line.strip_prefix('[').and_then(|l| l.strip_suffix(']')) {
                let kind = head
                    .split_once(' ')
                    .and_then(|(name, kind)| Some((name, ConceptKind::parse(kind)?)));
                let Some((name, kind)) = kind else {
                    faults.push(line.to_owned());
                    continue;
                };
                lexicon
                    .by_name
                    .insert(name.to_owned(), lexicon.concepts.len());
                lexicon.concepts.push(Concept {
                    name: name.to_owned(),
                    kind,
                    names: Vec::new(),
                    labels: Vec::new(),
                    weak: Vec::new(),
                    otherwise: None,
                });
                continue;
            }
            let (Some((key, rest)), Some(concept)) =
                (line.split_once(": "), lexicon.concepts.last_mut())
            else {
                faults.push(line.to_owned());
                continue;
            };
            let phrases = rest
                .split(" | ")
                .map(phrase_pieces)
                .filter(|p| !p.is_empty());
            match key {
                "names" => concept.names.extend(phrases),
                "else" => concept.otherwise = Some(rest.to_owned()),
                _ if key.len() == 2 => {
                    for part in rest.split(" | ") {
                        let phrase = phrase_pieces(part);
                        let list = if part.starts_with('~') {
                            &mut concept.weak
                        } else {
                            &mut concept.labels
                        };
                        if !phrase.is_empty() && !list.contains(&phrase) {
                            list.push(phrase);
                        }
                    }
                }
                _ => faults.push(line.to_owned()),
            }
        }
        (lexicon, faults)
    }

    /// A concept by its name.
    pub(crate) fn get(&self, name: &str) -> Option<(usize, &Concept)> {
        let at = *self.by_name.get(name)?;
        Some((at, self.concepts.get(at)?))
    }
}

static LEXICON: LazyLock<Lexicon> = LazyLock::new(|| {
    let (lexicon, faults) = Lexicon::parse(include_str!("../../../data/lexicon.txt"));
    for fault in faults {
        tracing::error!(line = fault, "a line of the lexicon does not fit");
    }
    lexicon
});

/// The table.
pub(crate) fn lexicon() -> &'static Lexicon {
    &LEXICON
}

#[cfg(test)]
mod tests {
    use super::{Lexicon, lexicon};

    #[test]
    fn every_line_of_the_table_fits_its_form() {
        let (_, faults) = Lexicon::parse(include_str!("../../../data/lexicon.txt"));
        assert_eq!(faults, Vec::<String>::new());
    }

    #[test]
    fn a_concept_that_falls_back_names_one_that_exists() {
        for concept in &lexicon().concepts {
            if let Some(other) = &concept.otherwise {
                assert!(lexicon().get(other).is_some(), "{other}");
            }
        }
        assert!(lexicon().concepts.len() > 40);
    }

    #[test]
    fn a_line_that_does_not_fit_is_reported() {
        assert_eq!(Lexicon::parse("[total nonsense]").1.len(), 1);
        assert_eq!(Lexicon::parse("en: a").1.len(), 1);
    }
}
