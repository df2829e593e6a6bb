//! What is asked for: a field of the schema as kind of value, concept, party and label phrases.

use flydocs_contract::request::{Field, FieldFormat, FieldType};

use super::{
    description::{clauses, quotations, wholes},
    lexicon::{Concept, ConceptKind, Lexicon, lexicon},
};
use crate::local::text::phrase_pieces;

/// The kind of value a field wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    Date,
    Time,
    Amount,
    Integer,
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
    /// An organisation or a person: a party of the document.
    Party,
    Person,
    Address,
    Boolean,
    /// One of the listed values.
    Choice,
    /// Words as printed.
    Text,
}

/// A party: index of a role in the lexicon.
pub(crate) type Role = usize;

/// A phrase that may label the value, and how surely it does.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Phrase {
    /// Its pieces.
    pub words: Vec<String>,
    /// 0 to 1.
    pub weight: f64,
}

/// A field as the reader looks for it.
#[derive(Debug, Clone)]
pub(crate) struct Query {
    /// The kind of value.
    pub kind: Kind,
    /// Index of its concept in the lexicon.
    pub concept: Option<usize>,
    /// The party it is about.
    pub role: Option<Role>,
    /// What may stand beside it.
    pub phrases: Vec<Phrase>,
    /// The description quotes the label as it is printed.
    pub quoted: bool,
    /// The words of name and description.
    pub words: Vec<String>,
}

impl Query {
    /// The concept's name, or "".
    pub(crate) fn concept_name(&self) -> &'static str {
        self.concept
            .and_then(|at| lexicon().concepts.get(at))
            .map_or("", |c| c.name.as_str())
    }

    /// The role's name, or "".
    pub(crate) fn role_name(&self) -> &'static str {
        self.role
            .and_then(|at| lexicon().concepts.get(at))
            .map_or("", |c| c.name.as_str())
    }
}

/// Words that say what kind of value it is and not which one.
const GENERIC: &[&str] = &[
    "number", "no", "id", "name", "date", "amount", "code", "total", "type", "value",
];

/// The query of a field. `groups` are the names of what holds it, outermost first.
pub(crate) fn query_of(field: &Field, groups: &[&str]) -> Query {
    let lexicon = lexicon();
    let description = field.description.as_deref().unwrap_or_default();
    let quoted = quotations(description);
    let words = name_words(&field.name);
    let (mut concept, mut role) = resolve(lexicon, &words);
    if role.is_none() {
        role = groups.iter().rev().find_map(|g| {
            let words = name_words(g);
            roles(lexicon)
                .find(|(_, c)| c.names.contains(&words))
                .map(|(at, _)| at)
        });
    }
    let clauses = clauses(description);
    if concept.is_none() {
        concept = clauses.iter().find_map(|clause| {
            lexicon
                .concepts
                .iter()
                .position(|c| c.kind != ConceptKind::Role && c.names.contains(clause))
        });
    }
    if role.is_none() {
        role = role_in_description(lexicon, description);
    }
    let of_parties = |c: &Concept| {
        matches!(
            c.kind,
            ConceptKind::Vat
                | ConceptKind::TaxNumber
                | ConceptKind::Email
                | ConceptKind::Phone
                | ConceptKind::Url
                | ConceptKind::Organisation
                | ConceptKind::Person
                | ConceptKind::Address
        )
    };
    if concept
        .and_then(|at| lexicon.concepts.get(at))
        .is_some_and(|c| !of_parties(c))
    {
        role = None;
    }
    concept = concept.filter(|at| lexicon.concepts.get(*at).is_some_and(|c| fits(c, field)));
    let kind = kind_of(
        field,
        concept.and_then(|at| lexicon.concepts.get(at)),
        &words,
        !quoted.is_empty(),
    );
    let mut phrases: Vec<Phrase> = Vec::new();
    let mut add = |words: Vec<String>, weight: f64| {
        if words.is_empty() || (words.len() == 1 && words[0].len() < 2 && weight < 1.0) {
            return;
        }
        match phrases.iter_mut().find(|p| p.words == words) {
            Some(p) => p.weight = p.weight.max(weight),
            None => phrases.push(Phrase { words, weight }),
        }
    };
    for quote in &quoted {
        let words = phrase_pieces(quote);
        // The number of a line may stand apart from its label.
        if words.len() > 1 && words[0].chars().all(|c| c.is_ascii_digit()) {
            add(words[1..].to_vec(), 0.97);
        }
        add(words, 1.0);
    }
    if quoted.is_empty() {
        add(words.clone(), if concept.is_some() { 0.95 } else { 1.0 });
        if let Some(c) = concept.and_then(|at| lexicon.concepts.get(at)) {
            for label in &c.labels {
                add(label.clone(), 0.95);
            }
            for label in &c.weak {
                add(label.clone(), 0.7);
            }
            for name in &c.names {
                add(name.clone(), 0.85);
            }
        }
        for clause in &clauses {
            add(clause.clone(), if concept.is_some() { 0.6 } else { 0.85 });
        }
        for whole in wholes(description) {
            add(whole, if concept.is_some() { 0.7 } else { 0.85 });
        }
        let core: Vec<String> = words
            .iter()
            .filter(|w| !GENERIC.contains(&w.as_str()))
            .cloned()
            .collect();
        if core.len() < words.len() && concept.is_none() {
            add(core, 0.7);
        }
    }
    let mut all_words = words;
    all_words.extend(clauses.into_iter().flatten());
    all_words.sort();
    all_words.dedup();
    Query {
        kind,
        concept,
        role,
        phrases,
        quoted: !quoted.is_empty(),
        words: all_words,
    }
}

/// The query of a column of a table: the words of lines come before those of whole documents.
pub(crate) fn column_query_of(field: &Field) -> Query {
    let lexicon = lexicon();
    let words = name_words(&field.name);
    let line = |c: &Concept| {
        matches!(c.name.as_str(), "quantity" | "unit_price" | "unit") || c.name.starts_with("line_")
    };
    let concept = lexicon
        .concepts
        .iter()
        .position(|c| line(c) && c.names.contains(&words) && fits(c, field));
    let mut query = query_of(field, &[]);
    let Some((at, concept)) = concept.and_then(|at| Some((at, lexicon.concepts.get(at)?))) else {
        return query;
    };
    query.concept = Some(at);
    query.role = None;
    query.kind = kind_of(field, Some(concept), &words, query.quoted);
    if !query.quoted {
        query.phrases = vec![Phrase { words, weight: 1.0 }];
        for (list, weight) in [(&concept.labels, 0.95), (&concept.names, 0.85)] {
            for phrase in list {
                if !query.phrases.iter().any(|p| p.words == *phrase) {
                    query.phrases.push(Phrase {
                        words: phrase.clone(),
                        weight,
                    });
                }
            }
        }
    }
    query
}

/// A name's words, without the prefix that makes a digit a legal name (`f_409a`).
fn name_words(name: &str) -> Vec<String> {
    let mut words = phrase_pieces(name);
    if words.len() > 1 && words[0] == "f" && words[1].chars().all(|c| c.is_ascii_digit()) {
        words.remove(0);
    }
    words
}

fn roles(lexicon: &Lexicon) -> impl Iterator<Item = (usize, &Concept)> {
    lexicon
        .concepts
        .iter()
        .enumerate()
        .filter(|(_, c)| c.kind == ConceptKind::Role)
}

/// Concept and role of a name.
fn resolve(lexicon: &Lexicon, words: &[String]) -> (Option<usize>, Option<Role>) {
    let find = |words: &[String]| {
        lexicon
            .concepts
            .iter()
            .position(|c| c.kind != ConceptKind::Role && c.names.iter().any(|n| n == words))
    };
    for (role, c) in roles(lexicon) {
        for name in &c.names {
            let rest = if words.starts_with(name) {
                &words[name.len()..]
            } else if words.ends_with(name) {
                &words[..words.len() - name.len()]
            } else {
                continue;
            };
            let party = lexicon.get("party_name").map(|(at, _)| at);
            if rest.is_empty() {
                return (party, Some(role));
            }
            if let Some(concept) = find(rest) {
                return (Some(concept), Some(role));
            }
        }
    }
    (find(words), None)
}

/// A party that the description names ("VAT registration number of the issuer").
fn role_in_description(lexicon: &Lexicon, description: &str) -> Option<Role> {
    let words = phrase_pieces(description);
    let mut best: Option<(usize, Role)> = None;
    for (role, c) in roles(lexicon) {
        for name in &c.names {
            if let Some(at) = words.windows(name.len()).position(|w| w == name.as_slice())
                && best.is_none_or(|(b, _)| at < b)
            {
                best = Some((at, role));
            }
        }
    }
    if words
        .windows(3)
        .any(|w| w[0] == "company" && w[1] == "that" && w[2] == "issued")
    {
        return lexicon.get("seller").map(|(at, _)| at);
    }
    best.map(|(_, role)| role)
}

/// Whether a concept's values fit the field's type.
fn fits(concept: &Concept, field: &Field) -> bool {
    use ConceptKind as K;
    match field.field_type {
        FieldType::Number | FieldType::Integer => {
            matches!(concept.kind, K::Amount | K::Number | K::Percent)
        }
        FieldType::Boolean => false,
        FieldType::String => match field.format {
            Some(FieldFormat::Date | FieldFormat::DateTime) => concept.kind == K::Date,
            Some(FieldFormat::Email) => concept.kind == K::Email,
            Some(FieldFormat::Uri) => concept.kind == K::Url,
            Some(FieldFormat::Currency) => concept.kind == K::Currency,
            _ => true,
        },
        FieldType::Array | FieldType::Object => true,
    }
}

fn kind_of(field: &Field, concept: Option<&Concept>, words: &[String], quoted: bool) -> Kind {
    use ConceptKind as K;
    if field.allowed.as_ref().is_some_and(|a| !a.is_empty()) {
        return Kind::Choice;
    }
    match field.field_type {
        FieldType::Boolean => return Kind::Boolean,
        FieldType::Integer => return Kind::Integer,
        FieldType::Number => {
            return match concept.map(|c| c.kind) {
                Some(K::Percent) => Kind::Percent,
                _ => Kind::Amount,
            };
        }
        _ => {}
    }
    match field.format {
        Some(FieldFormat::Date | FieldFormat::DateTime) => return Kind::Date,
        Some(FieldFormat::Time) => return Kind::Time,
        Some(FieldFormat::Email) => return Kind::Email,
        Some(FieldFormat::Uri) => return Kind::Url,
        Some(FieldFormat::Currency) => return Kind::Currency,
        Some(FieldFormat::Uuid) => return Kind::Identifier,
        None => {}
    }
    for validator in &field.validators {
        match validator.name.as_str() {
            "iban" => return Kind::Iban,
            "bic" => return Kind::Bic,
            "email" => return Kind::Email,
            "uri" | "url" | "domain" => return Kind::Url,
            "vat_id" => return Kind::Vat,
            "nif" | "nie" | "cif" | "ssn" => return Kind::TaxNumber,
            "phone_e164" => return Kind::Phone,
            "currency_code" => return Kind::Currency,
            "date" | "iso_8601" => return Kind::Date,
            "time" => return Kind::Time,
            "passport_number" | "credit_card" => return Kind::Identifier,
            _ => {}
        }
    }
    if quoted {
        return Kind::Text;
    }
    if let Some(concept) = concept {
        return match concept.kind {
            K::Date => Kind::Date,
            K::Time => Kind::Time,
            K::Identifier => Kind::Identifier,
            K::Currency => Kind::Currency,
            K::Iban => Kind::Iban,
            K::Bic => Kind::Bic,
            K::Vat => Kind::Vat,
            K::TaxNumber => Kind::TaxNumber,
            K::Email => Kind::Email,
            K::Phone => Kind::Phone,
            K::Url => Kind::Url,
            K::Organisation | K::Name => Kind::Party,
            K::Person => Kind::Person,
            K::Address => Kind::Address,
            K::Amount | K::Number | K::Percent | K::Text | K::Role => Kind::Text,
        };
    }
    match words.last().map(String::as_str) {
        Some("number" | "no" | "id" | "code" | "reference" | "nr" | "ref") => Kind::Identifier,
        Some("date") => Kind::Date,
        Some("time") => Kind::Time,
        Some("name") => Kind::Party,
        Some("address") => Kind::Address,
        Some("tin" | "ssn" | "ein") => Kind::TaxNumber,
        Some("email" | "mail") => Kind::Email,
        Some("phone" | "telephone" | "tel" | "fax" | "mobile") => Kind::Phone,
        Some("website" | "url") => Kind::Url,
        Some("currency") => Kind::Currency,
        Some("iban") => Kind::Iban,
        Some("bic" | "swift") => Kind::Bic,
        _ => Kind::Text,
    }
}

#[cfg(test)]
mod tests {
    use flydocs_contract::request::{Field, FieldFormat, FieldType};

    use super::{Kind, query_of};

    fn field(name: &str, description: &str, field_type: FieldType) -> Field {
        Field {
            name: name.into(),
            description: Some(description.into()),
            field_type,
            ..Field::default()
        }
    }

    #[test]
    fn a_name_says_concept_and_party() {
        for (name, concept, role, kind) in [
            ("invoice_number", "invoice_number", "", Kind::Identifier),
            ("seller_vat_id", "vat_id", "seller", Kind::Vat),
            ("buyerName", "party_name", "buyer", Kind::Party),
            ("supplier", "party_name", "seller", Kind::Party),
            ("order_number", "order_number", "", Kind::Identifier),
            ("iban", "iban", "", Kind::Iban),
        ] {
            let query = query_of(&field(name, "", FieldType::String), &[]);
            assert_eq!(
                (query.concept_name(), query.role_name(), query.kind),
                (concept, role, kind),
                "{name}"
            );
        }
        assert_eq!(
            query_of(&field("name", "", FieldType::String), &["seller"]).role_name(),
            "seller"
        );
    }

    #[test]
    fn a_quoted_label_is_taken_at_its_word() {
        let query = query_of(
            &field(
                "no",
                "The value for the label \"Proj. No.\" on the form.",
                FieldType::String,
            ),
            &[],
        );
        assert!(query.quoted);
        assert_eq!(query.phrases.len(), 1);
        assert_eq!(query.phrases[0].words, ["proj", "no"]);
        let example = query_of(
            &field(
                "term",
                "Length, for example \"3 years\".",
                FieldType::String,
            ),
            &[],
        );
        assert!(!example.quoted);
    }

    #[test]
    fn clauses_of_the_description_are_labels_too() {
        let query = query_of(
            &field(
                "x",
                "Box 4, federal income tax withheld.",
                FieldType::Number,
            ),
            &[],
        );
        assert!(
            query
                .phrases
                .iter()
                .any(|p| p.words.join(" ") == "federal income tax withheld")
        );
        assert_eq!(query.kind, Kind::Amount);
    }

    #[test]
    fn the_format_decides_the_kind() {
        let date = Field {
            format: Some(FieldFormat::Date),
            ..field("when", "", FieldType::String)
        };
        assert_eq!(query_of(&date, &[]).kind, Kind::Date);
    }
}
