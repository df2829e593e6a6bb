//! entity_resolution: rows that speak of the same entity become one.
//!
//! Rows with the same key are one entity. A row without a key joins the one keyed entity whose name it carries; the
//! rest come together by name. Nothing depends on the order of the rows, only the order of the answer does.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use flydocs_contract::{
    FieldValue,
    result::{ExtractedField, ExtractedFieldGroup},
};
use unicode_normalization::{UnicodeNormalization, char::is_combining_mark};

/// Names of members that hold a name, best first.
const NAME_MEMBERS: [&str; 4] = ["nombre", "name", "razon_social", "full_name"];
/// The member that is a key wherever it is asked for.
const KEY_MEMBER: &str = "dni";

/// What tells entities apart.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Identity<'a> {
    /// The member that holds the name.
    name: Option<&'a str>,
    /// Members that hold a key, the first that has a value counts.
    keys: &'a [String],
    min_shared_tokens: usize,
}

impl<'a> Identity<'a> {
    pub(crate) fn new(match_by: &'a [String], min_shared_tokens: u32) -> Self {
        let known = NAME_MEMBERS
            .iter()
            .find_map(|name| match_by.iter().find(|entry| *entry == name));
        let name = known.or_else(|| match_by.iter().find(|entry| *entry != KEY_MEMBER));
        Self {
            name: name.map(String::as_str),
            keys: match_by,
            min_shared_tokens: min_shared_tokens as usize,
        }
    }

    /// The first key a row has, `dni` before the others.
    fn key(&self, row: &ExtractedField) -> Option<(&'a str, String)> {
        let others = self.keys.iter().map(String::as_str);
        let mut keys = others
            .clone()
            .filter(|key| *key == KEY_MEMBER)
            .chain(others.filter(|key| *key != KEY_MEMBER && Some(*key) != self.name));
        keys.find_map(|key| Some((key, key_of(&text_of(member(row, key)?)?)?)))
    }

    fn name_tokens(&self, row: &ExtractedField) -> Tokens {
        let name = self.name.and_then(|name| text_of(member(row, name)?));
        name.map(|name| tokens(&name)).unwrap_or_default()
    }

    /// Whether two names are of one entity: one holds all words of the other, and those are enough.
    fn is_same_name(&self, one: &Tokens, other: &Tokens) -> bool {
        let (small, large) = if one.len() <= other.len() {
            (one, other)
        } else {
            (other, one)
        };
        !small.is_empty() && small.len() >= self.min_shared_tokens && small.is_subset(large)
    }
}

type Tokens = BTreeSet<String>;

/// Resolves the rows of one array of a group, in place.
pub(crate) fn resolve(group: &mut ExtractedFieldGroup, array: &str, identity: &Identity<'_>) {
    let field = group.fields.iter_mut().find(|f| f.name == array);
    if let Some(FieldValue::Fields(rows)) = field.and_then(|f| f.value.as_mut()) {
        let entities = clusters(rows, identity);
        let canonical = entities
            .iter()
            .filter_map(|members| canonical(members.iter().filter_map(|i| rows.get(*i))));
        *rows = canonical.collect();
    }
}

/// Positions of the rows of each entity; entities in the order of their first rows.
fn clusters(rows: &[ExtractedField], identity: &Identity<'_>) -> Vec<Vec<usize>> {
    let mut keyed: BTreeMap<(&str, String), Vec<usize>> = BTreeMap::new();
    let mut unkeyed = Vec::new();
    for (i, row) in rows.iter().enumerate() {
        match identity.key(row) {
            Some(key) => keyed.entry(key).or_default().push(i),
            None => unkeyed.push((i, identity.name_tokens(row))),
        }
    }
    let mut entities: Vec<_> = keyed.into_values().collect();
    // A name that fits two keyed entities says nothing; only names of keyed rows are looked at, so that no row that
    // joins opens the door to the next.
    let names: Vec<Vec<Tokens>> = entities
        .iter()
        .map(|members| {
            let rows = members.iter().filter_map(|i| rows.get(*i));
            rows.map(|row| identity.name_tokens(row)).collect()
        })
        .collect();
    let mut left = Vec::new();
    for (i, name) in unkeyed {
        let mut fitting = names.iter().enumerate().filter(|(_, known)| {
            known
                .iter()
                .any(|known| identity.is_same_name(known, &name))
        });
        match (fitting.next(), fitting.next()) {
            (Some((entity, _)), None) => {
                if let Some(members) = entities.get_mut(entity) {
                    members.push(i);
                }
            }
            _ => left.push((i, name)),
        }
    }
    entities.extend(by_name(left, identity));
    for members in &mut entities {
        members.sort_unstable();
    }
    entities.sort_unstable_by_key(|members| members.first().copied());
    entities
}

/// Rows without a key: the fullest names are entities, a shorter one joins the only entity it fits.
fn by_name(rows: Vec<(usize, Tokens)>, identity: &Identity<'_>) -> Vec<Vec<usize>> {
    let mut named: BTreeMap<Tokens, Vec<usize>> = BTreeMap::new();
    let mut alone = Vec::new();
    for (i, name) in rows {
        // Equal names too must be of enough words.
        if identity.is_same_name(&name, &name) {
            named.entry(name).or_default().push(i);
        } else {
            alone.push(vec![i]);
        }
    }
    let names: Vec<_> = named.keys().cloned().collect();
    let is_part = |name: &Tokens| {
        names
            .iter()
            .any(|n| n.len() > name.len() && name.is_subset(n))
    };
    let full: Vec<_> = names.iter().filter(|name| !is_part(name)).collect();
    let mut entities: HashMap<&Tokens, Vec<usize>> = HashMap::new();
    for (name, members) in &named {
        let mut fitting = full.iter().filter(|full| name.is_subset(full));
        let entity = match (fitting.next(), fitting.next()) {
            (Some(only), None) => *only,
            _ => name,
        };
        entities.entry(entity).or_default().extend(members);
    }
    entities.into_values().chain(alone).collect()
}

/// The best of each member over all rows of an entity.
fn canonical<'a>(rows: impl Iterator<Item = &'a ExtractedField>) -> Option<ExtractedField> {
    let mut rows = rows.peekable();
    let mut best = (*rows.peek()?).clone();
    let mut members: Vec<ExtractedField> = Vec::new();
    let (mut pages, mut confidence) = (Vec::new(), 0.0_f64);
    for row in rows {
        for page in &row.pages {
            if !pages.contains(page) {
                pages.push(*page);
            }
        }
        confidence = confidence.max(row.confidence);
        let Some(FieldValue::Fields(fields)) = &row.value else {
            continue;
        };
        for field in fields {
            match members.iter_mut().find(|m| m.name == field.name) {
                Some(known) if weight(field) > weight(known) => *known = field.clone(),
                Some(_) => {}
                None => members.push(field.clone()),
            }
        }
    }
    best.pages = pages;
    best.confidence = confidence;
    if matches!(best.value, Some(FieldValue::Fields(_)) | None) && !members.is_empty() {
        best.value = Some(FieldValue::Fields(members));
    }
    Some(best)
}

/// How much a member says: nothing, or as much as it is long.
fn weight(field: &ExtractedField) -> usize {
    let Some(value) = &field.value else {
        return 0;
    };
    match value {
        FieldValue::Fields(fields) => fields.iter().map(weight).sum(),
        FieldValue::String(text) => text.trim().chars().count(),
        FieldValue::Boolean(_) | FieldValue::Integer(_) | FieldValue::Number(_) => {
            text_of(value).map_or(0, |text| text.chars().count())
        }
    }
}

fn member<'a>(row: &'a ExtractedField, name: &str) -> Option<&'a FieldValue> {
    let Some(FieldValue::Fields(members)) = &row.value else {
        // A row that is a value alone is its own only member.
        return row.value.as_ref().filter(|_| row.name == name);
    };
    members.iter().find(|m| m.name == name)?.value.as_ref()
}

fn text_of(value: &FieldValue) -> Option<String> {
    match value {
        FieldValue::String(text) => Some(text.clone()),
        FieldValue::Integer(number) => Some(number.to_string()),
        FieldValue::Number(number) => Some(number.to_string()),
        FieldValue::Boolean(flag) => Some(flag.to_string()),
        FieldValue::Fields(_) => None,
    }
}

/// The letters and digits of a key, in capitals; `None` when there are none.
fn key_of(text: &str) -> Option<String> {
    let key: String = text
        .chars()
        .filter(|c| c.is_alphanumeric())
        .flat_map(char::to_uppercase)
        .collect();
    (!key.is_empty()).then_some(key)
}

/// The words of a name, without marks and case.
fn tokens(name: &str) -> Tokens {
    let plain: String = name
        .nfkd()
        .filter(|c| !is_combining_mark(*c))
        .flat_map(char::to_lowercase)
        .collect();
    plain
        .split(|c: char| !c.is_alphanumeric())
        .filter(|token| !token.is_empty())
        .map(str::to_owned)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(members: &[(&str, &str)], page: u32, confidence: f64) -> ExtractedField {
        let fields = members.iter().map(|(name, value)| ExtractedField {
            value: (!value.is_empty()).then(|| FieldValue::String((*value).to_owned())),
            pages: vec![page],
            ..ExtractedField::empty(*name)
        });
        ExtractedField {
            value: Some(FieldValue::Fields(fields.collect())),
            pages: vec![page],
            confidence,
            ..ExtractedField::empty("person")
        }
    }

    fn resolved(rows: Vec<ExtractedField>, match_by: &[&str]) -> Vec<ExtractedField> {
        let match_by: Vec<_> = match_by.iter().map(|s| (*s).to_owned()).collect();
        let mut group = ExtractedFieldGroup {
            name: "people".to_owned(),
            fields: vec![ExtractedField {
                value: Some(FieldValue::Fields(rows)),
                ..ExtractedField::empty("people")
            }],
        };
        resolve(&mut group, "people", &Identity::new(&match_by, 2));
        match group.fields.remove(0).value {
            Some(FieldValue::Fields(rows)) => rows,
            other => panic!("rows are left: {other:?}"),
        }
    }

    fn names(rows: &[ExtractedField]) -> Vec<String> {
        rows.iter()
            .map(|r| text_of(member(r, "name").unwrap()).unwrap())
            .collect()
    }

    /// Every order of the rows, to show that none matters.
    fn orders<T: Clone>(items: &[T]) -> Vec<Vec<T>> {
        if items.is_empty() {
            return vec![Vec::new()];
        }
        (0..items.len())
            .flat_map(|i| {
                let mut rest = items.to_vec();
                let first = rest.remove(i);
                orders(&rest).into_iter().map(move |mut order| {
                    order.insert(0, first.clone());
                    order
                })
            })
            .collect()
    }

    #[test]
    fn the_same_key_is_the_same_entity_however_it_is_written() {
        let rows = vec![
            row(&[("dni", "12345678-z"), ("name", "Ana")], 1, 0.5),
            row(&[("dni", "12345678Z"), ("name", "Ana María López")], 2, 0.9),
            row(&[("dni", "87654321X"), ("name", "Ana María López")], 2, 0.4),
        ];
        let rows = resolved(rows, &["dni", "name"]);
        assert_eq!(names(&rows), ["Ana María López", "Ana María López"]);
        assert_eq!(rows[0].pages, [1, 2]);
        assert!((rows[0].confidence - 0.9).abs() < 1e-12);
        // The longest of each member, the first of equals.
        assert_eq!(
            text_of(member(&rows[0], "dni").unwrap()).unwrap(),
            "12345678-z"
        );
    }

    #[test]
    fn a_row_without_a_key_joins_the_one_keyed_entity_of_its_name_in_every_order() {
        let rows = [
            row(&[("dni", "1A"), ("name", "José Pérez García")], 1, 0.5),
            row(&[("dni", ""), ("name", "PEREZ GARCIA")], 2, 0.5),
            row(&[("dni", "2B"), ("name", "Luis Soto")], 3, 0.5),
        ];
        for order in orders(&rows) {
            let resolved = resolved(order, &["dni", "name"]);
            assert_eq!(resolved.len(), 2);
            let joined = resolved.iter().find(|r| r.pages.len() == 2).unwrap();
            assert_eq!(text_of(member(joined, "dni").unwrap()).unwrap(), "1A");
        }
    }

    #[test]
    fn a_name_that_fits_two_keyed_entities_joins_none() {
        let rows = [
            row(&[("dni", "1A"), ("name", "José Pérez García")], 1, 0.5),
            row(&[("dni", "2B"), ("name", "José Pérez Soto")], 2, 0.5),
            row(&[("dni", ""), ("name", "José Pérez")], 3, 0.5),
        ];
        for order in orders(&rows) {
            assert_eq!(resolved(order, &["dni", "name"]).len(), 3);
        }
    }

    #[test]
    fn without_keys_a_shorter_name_joins_the_only_fuller_one() {
        let rows = [
            row(&[("name", "Acme Tools")], 1, 0.5),
            row(&[("name", "Acme Tools Ltd")], 2, 0.5),
            row(&[("name", "Acme")], 3, 0.5),
            row(&[("name", "Acme")], 4, 0.5),
        ];
        for order in orders(&rows) {
            // One word is not enough, also not for equal names.
            assert_eq!(resolved(order, &["name"]).len(), 3);
        }
        let rows = [
            row(&[("name", "Acme Tools")], 1, 0.5),
            row(&[("name", "Acme Tools Ltd")], 2, 0.5),
            row(&[("name", "Acme Tools GmbH")], 3, 0.5),
        ];
        for order in orders(&rows) {
            // Two fuller names fit: they must not become one through the shorter.
            assert_eq!(resolved(order, &["name"]).len(), 3);
        }
    }

    #[test]
    fn the_name_member_is_the_known_one_else_the_first_that_is_no_key() {
        let entries = |list: &[&str]| list.iter().map(|s| (*s).to_owned()).collect::<Vec<_>>();
        for (match_by, wanted) in [
            (entries(&["passport", "full_name"]), Some("full_name")),
            (entries(&["full_name", "nombre"]), Some("nombre")),
            (entries(&["dni", "holder", "passport"]), Some("holder")),
            (entries(&["dni"]), None),
        ] {
            assert_eq!(Identity::new(&match_by, 2).name, wanted);
        }
    }

    #[test]
    fn resolving_twice_changes_nothing_more() {
        let rows = vec![
            row(&[("dni", "1A"), ("name", "José Pérez García")], 1, 0.5),
            row(&[("dni", ""), ("name", "Pérez García")], 2, 0.7),
            row(&[("dni", ""), ("name", "Luis Soto Ruiz")], 2, 0.7),
            row(&[("dni", ""), ("name", "Soto Ruiz")], 3, 0.7),
        ];
        let once = resolved(rows, &["dni", "name"]);
        assert_eq!(once.len(), 2);
        assert_eq!(resolved(once.clone(), &["dni", "name"]), once);
    }
}
