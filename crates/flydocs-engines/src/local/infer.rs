//! A proposal of a document type: the labelled values of some pages, with names, types and formats, to be edited.

use std::{collections::BTreeMap, sync::Arc};

use flydocs_contract::{
    PageWords,
    request::{DocumentTypeSpec, Field, FieldFormat, FieldGroup, FieldType},
};

use super::{
    choose::{Reader, order_of},
    kinds::kinds,
    label::{ConceptKind, find_labels, lexicon},
    layout::{Document, Span},
    pool::Pool,
    text::fold,
};

/// At most so many fields are proposed.
const LIMIT: usize = 60;

/// A type made of what stands on the pages: known concepts under their usual names, other labels under their own
/// words, and the columns of the first table.
pub(crate) fn propose(pages: &[Arc<PageWords>]) -> DocumentTypeSpec {
    let document = Document::new(pages);
    let pool = Pool::new(&document);
    let labels = find_labels(&document, lexicon(), &[]);
    let order = order_of(pool.order, "", None, false);
    let reader = Reader::new(&document, lexicon(), &labels, &pool, order, Vec::new());
    let mut fields: Vec<Field> = Vec::new();
    let mut columns: Vec<Field> = Vec::new();
    let mut taken = vec![false; document.tokens.len()];
    table_columns(&reader, &mut columns, &mut taken);
    known(&reader, &mut fields, &mut taken);
    other(&reader, &mut fields, &taken);
    fields.truncate(LIMIT);
    let mut groups = Vec::new();
    if !fields.is_empty() || columns.is_empty() {
        if fields.is_empty() {
            fields.push(field(
                "text",
                "What the document says.",
                FieldType::String,
                None,
            ));
        }
        groups.push(FieldGroup {
            name: "fields".to_owned(),
            description: None,
            fields,
        });
    }
    if columns.len() > 1 {
        groups.push(FieldGroup {
            name: "items".to_owned(),
            description: None,
            fields: vec![Field {
                items: Some(Box::new(Field {
                    field_type: FieldType::Object,
                    fields: Some(columns),
                    ..Field::default()
                })),
                ..field("lines", "The lines of the table.", FieldType::Array, None)
            }],
        });
    }
    DocumentTypeSpec {
        id: id_of(&document),
        description: None,
        country: None,
        field_groups: groups,
        visual_checks: Vec::new(),
    }
}

fn field(
    name: &str,
    description: &str,
    field_type: FieldType,
    format: Option<FieldFormat>,
) -> Field {
    Field {
        name: name.to_owned(),
        description: Some(description.to_owned()),
        field_type,
        format,
        ..Field::default()
    }
}

/// The first kind whose title stands on the first page.
fn id_of(document: &Document) -> String {
    for row in document.rows.iter().filter(|r| r.page == 0) {
        let words: Vec<String> = document.tokens[row.tokens.clone()]
            .iter()
            .flat_map(|t| t.pieces.iter().map(|p| p.text.clone()))
            .collect();
        for kind in kinds() {
            let hit = kind
                .titles
                .iter()
                .take(8)
                .any(|t| words.windows(t.len()).any(|w| w == t.as_slice()));
            if let (true, Some(name)) = (hit, kind.names.first()) {
                return name.join("_");
            }
        }
    }
    "document".to_owned()
}

/// Columns of the row that names most of them.
fn table_columns(reader: &Reader<'_>, columns: &mut Vec<Field>, taken: &mut [bool]) {
    let wanted = [
        "line_number",
        "line_code",
        "line_description",
        "quantity",
        "unit",
        "unit_price",
        "line_tax",
        "line_amount",
    ];
    let mut by_row: BTreeMap<usize, Vec<(usize, usize, &str)>> = BTreeMap::new();
    for name in wanted {
        let Some((concept, _)) = reader.lexicon.get(name) else {
            continue;
        };
        for label in reader.labels.of_concept[concept]
            .iter()
            .filter(|l| l.opens && l.closed && l.share > 0.7)
        {
            let row = reader.document.tokens[label.first().first].row;
            let row = by_row.entry(row).or_default();
            if !row
                .iter()
                .any(|(first, _, n)| *n == name || *first == label.first().first)
            {
                row.push((label.first().first, label.last().last, name));
            }
        }
    }
    let Some((_, mut best)) = by_row
        .into_iter()
        .max_by_key(|(row, hits)| (hits.len(), usize::MAX - row))
    else {
        return;
    };
    if best.len() < 3 {
        return;
    }
    best.sort_unstable();
    for (first, last, name) in best {
        taken[first..=last].fill(true);
        let (plain, field_type) = match name {
            "line_description" => ("description", FieldType::String),
            "line_code" => ("code", FieldType::String),
            "unit" => ("unit", FieldType::String),
            "line_number" => ("position", FieldType::String),
            "line_tax" => ("tax", FieldType::String),
            "line_amount" => ("amount", FieldType::Number),
            other => (other, FieldType::Number),
        };
        let printed = Span::whole(reader.document, first, last).text(reader.document);
        columns.push(field(
            plain,
            &format!("Column \"{printed}\"."),
            field_type,
            None,
        ));
    }
}

/// Concepts of the lexicon that have a label with a value beside it.
fn known(reader: &Reader<'_>, fields: &mut Vec<Field>, taken: &mut [bool]) {
    let mut found: Vec<(usize, Field)> = Vec::new();
    for (at, concept) in reader.lexicon.concepts.iter().enumerate() {
        let line = concept.name.starts_with("line_")
            || matches!(
                concept.name.as_str(),
                "quantity" | "unit_price" | "unit" | "adjustment" | "bookkeeping" | "page_number"
            );
        if concept.kind == ConceptKind::Role || line {
            continue;
        }
        let (field_type, format) = match concept.kind {
            ConceptKind::Amount | ConceptKind::Number | ConceptKind::Percent => {
                (FieldType::Number, None)
            }
            ConceptKind::Date => (FieldType::String, Some(FieldFormat::Date)),
            ConceptKind::Email => (FieldType::String, Some(FieldFormat::Email)),
            _ => (FieldType::String, None),
        };
        let label = reader.labels.of_concept[at].iter().find(|l| {
            !l.hidden
                && l.opens
                && l.strength() > 0.6
                && !taken[l.first().first]
                && followed(reader, l.last().last, field_type, format)
        });
        if let Some(label) = label {
            for part in &label.parts {
                taken[part.first..=part.last].fill(true);
            }
            let printed = label
                .parts
                .iter()
                .map(|p| p.text(reader.document))
                .collect::<Vec<_>>()
                .join(" ");
            found.push((
                label.first().first,
                field(
                    &concept.name,
                    &format!("Printed as {printed}."),
                    field_type,
                    format,
                ),
            ));
        }
    }
    found.sort_by_key(|(at, _)| *at);
    fields.extend(found.into_iter().map(|(_, f)| f));
}

/// Whether a value of the type follows a label on its row.
fn followed(
    reader: &Reader<'_>,
    token: usize,
    field_type: FieldType,
    format: Option<FieldFormat>,
) -> bool {
    let document = reader.document;
    let row = document.tokens[token].row;
    let right = |span: &Span| document.tokens[span.first].row == row && span.first > token;
    match (field_type, format) {
        (FieldType::Number, _) => reader.pool.amounts.iter().any(|a| right(&a.span)),
        (_, Some(FieldFormat::Date)) => reader.pool.dates.iter().any(|d| right(&d.span)),
        (_, Some(FieldFormat::Email)) => reader.pool.emails.iter().any(|d| right(&d.span)),
        _ => token + 1 < document.rows[row].tokens.end && !reader.stops.at(token + 1),
    }
}

/// Words with a colon that the lexicon does not know.
fn other(reader: &Reader<'_>, fields: &mut Vec<Field>, taken: &[bool]) {
    let document = reader.document;
    for run in &document.runs {
        let Some(colon) = run
            .tokens
            .clone()
            .take(6)
            .find(|t| document.tokens[*t].text.ends_with(':'))
        else {
            continue;
        };
        let label = run.tokens.start..colon + 1;
        let printed = document.text(label.clone());
        let printed = printed.trim_end_matches(':').trim();
        let words = fold(printed);
        let odd = words.is_empty()
            || words.len() > 50
            || words.chars().any(|c| c.is_ascii_digit())
            || label.clone().any(|t| taken[t]);
        let row = document.tokens[colon].row;
        let value = colon + 1..document.rows[row].tokens.end;
        if odd || value.is_empty() {
            continue;
        }
        let name: String = words
            .split(|c: char| !c.is_alphanumeric())
            .filter(|w| !w.is_empty())
            .collect::<Vec<_>>()
            .join("_");
        if name.is_empty() || fields.iter().any(|f| f.name == name) {
            continue;
        }
        let first = value.start;
        let is = |span: &Span| span.first == first;
        let (field_type, format) = if reader.pool.dates.iter().any(|d| is(&d.span)) {
            (FieldType::String, Some(FieldFormat::Date))
        } else if reader.pool.emails.iter().any(|d| is(&d.span)) {
            (FieldType::String, Some(FieldFormat::Email))
        } else if reader
            .pool
            .amounts
            .iter()
            .any(|a| is(&a.span) && a.value.decimals == 2)
        {
            (FieldType::Number, None)
        } else {
            (FieldType::String, None)
        };
        fields.push(field(
            &name,
            &format!("The value of the label \"{printed}\"."),
            field_type,
            format,
        ));
    }
}
