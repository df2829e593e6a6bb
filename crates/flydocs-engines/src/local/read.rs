//! Reading one document: layout, labels, candidates, choice, confidence, and the answer in the schema's shape.

use std::sync::Arc;

use flydocs_contract::{
    BoundingBox, ExtractedField, FieldValue, PageWords,
    request::{DocumentTypeSpec, FieldType},
    result::ExtractedFieldGroup,
};

use super::{
    choose::{
        Candidate, Choice, Node, Plan, Reader, choose, contract_parties, order_of, read_rows,
        text_candidates,
    },
    confidence::{Features, confidence},
    label::{Query, find_labels, lexicon},
    layout::Document,
    pool::Pool,
};

/// A document as it was read.
#[derive(Debug)]
pub(crate) struct Reading<'a> {
    /// The groups, in the schema's order.
    pub groups: Vec<ExtractedFieldGroup>,
    /// What was chosen, by query.
    pub choices: Vec<Choice>,
    /// The schema as it was worked through.
    pub plan: Plan<'a>,
    /// The document laid out.
    pub document: Document,
    /// The features of every value, by path: what the calibration is made from.
    pub features: Vec<(String, Features)>,
}

/// Reads a document.
pub(crate) fn read<'a>(
    pages: &[Arc<PageWords>],
    document_type: &'a DocumentTypeSpec,
) -> Reading<'a> {
    let document = Document::new(pages);
    let pool = Pool::new(&document);
    let plan = Plan::new(document_type);
    let labels = find_labels(&document, lexicon(), &plan.queries);
    let us_style = pool.currencies.iter().any(|c| c.value == "USD")
        && !pool.currencies.iter().any(|c| c.value == "EUR");
    let order = order_of(
        pool.order,
        document_type.description.as_deref().unwrap_or_default(),
        document_type.country.as_deref(),
        us_style,
    );
    let reader = Reader::new(
        &document,
        lexicon(),
        &labels,
        &pool,
        order,
        plan.queries.iter().map(Query::concept_name).collect(),
    );
    let choices = choose(&reader, &plan);
    let mut features = Vec::new();
    let groups = plan
        .groups
        .iter()
        .map(|(name, nodes)| ExtractedFieldGroup {
            name: (*name).to_owned(),
            fields: nodes
                .iter()
                .map(|node| {
                    let mut build = Build {
                        reader: &reader,
                        plan: &plan,
                        choices: &choices,
                        features: &mut features,
                    };
                    build.field(node, &format!("{name}.{}", node.name()))
                })
                .collect(),
        })
        .collect();
    Reading {
        groups,
        choices,
        plan,
        document,
        features,
    }
}

/// Builds the answer for the nodes of the plan.
struct Build<'a, 'r> {
    reader: &'r Reader<'a>,
    plan: &'r Plan<'a>,
    choices: &'r [Choice],
    features: &'r mut Vec<(String, Features)>,
}

impl Build<'_, '_> {
    fn field(&mut self, node: &Node<'_>, path: &str) -> ExtractedField {
        match node {
            Node::Leaf(field, query) => {
                let choice = &self.choices[*query];
                match choice.chosen() {
                    Some(candidate) => {
                        self.value(&field.name, path, *query, candidate, choice.runner_up())
                    }
                    None => ExtractedField::empty(&field.name),
                }
            }
            Node::Object(field, members) => {
                let members = members
                    .iter()
                    .map(|m| self.field(m, &format!("{path}.{}", m.name())))
                    .collect();
                container(&field.name, members)
            }
            Node::Table(field, columns) => {
                let name = row_name(field);
                let rows = read_rows(self.reader, columns, &self.plan.queries)
                    .into_iter()
                    .enumerate()
                    .map(|(row, cells)| {
                        let members = columns
                            .iter()
                            .zip(cells)
                            .map(|((column, query), cell)| match (cell, query) {
                                (Some(candidate), Some(query)) => {
                                    let path = format!("{path}[{row}].{}", column.name);
                                    self.value(&column.name, &path, *query, &candidate, 0.0)
                                }
                                _ => ExtractedField::empty(&column.name),
                            })
                            .collect();
                        container(&name, members)
                    })
                    .collect();
                array(&field.name, rows)
            }
            Node::List(field, query) => {
                let name = row_name(field);
                let item = field
                    .items
                    .as_deref()
                    .map_or(FieldType::String, |i| i.field_type);
                let rows = list(self.reader, *query, &self.plan.queries[*query], item)
                    .into_iter()
                    .enumerate()
                    .map(|(row, candidate)| {
                        self.value(&name, &format!("{path}[{row}]"), *query, &candidate, 0.0)
                    })
                    .collect();
                array(&field.name, rows)
            }
        }
    }

    fn value(
        &mut self,
        name: &str,
        path: &str,
        query: usize,
        candidate: &Candidate,
        runner_up: f64,
    ) -> ExtractedField {
        let features = Features::new(
            self.reader.document,
            &self.plan.queries[query],
            candidate,
            runner_up,
        );
        let field = extracted(self.reader.document, name, candidate, confidence(&features));
        self.features.push((path.to_owned(), features));
        field
    }
}

/// The name of a row: that of `items`, else that of the array.
fn row_name(field: &flydocs_contract::Field) -> String {
    match field.items.as_deref() {
        Some(items) if !items.name.is_empty() => items.name.clone(),
        _ => field.name.clone(),
    }
}

/// The values of an array of texts or numbers: the parties of a contract, or what stands beside its label.
fn list(reader: &Reader<'_>, index: usize, query: &Query, item: FieldType) -> Vec<Candidate> {
    if query
        .words
        .iter()
        .any(|w| matches!(w.as_str(), "party" | "parties"))
    {
        let parties = contract_parties(reader);
        if !parties.is_empty() {
            return parties;
        }
    }
    let mut found = Vec::new();
    text_candidates(reader, index, query, 6, 1.0, &mut found);
    found.retain(|c| c.score > 0.4);
    found.sort_by(|a, b| b.score.total_cmp(&a.score));
    let Some(best) = found.into_iter().next() else {
        return Vec::new();
    };
    best.spans
        .iter()
        .filter_map(|span| {
            Candidate::text(
                reader.document,
                vec![*span],
                best.score,
                best.evidence.clone(),
            )
        })
        .filter_map(|mut candidate| {
            if matches!(item, FieldType::Number | FieldType::Integer) {
                let value = super::recognise::parse_number(&candidate.text, reader.pool.style)?;
                candidate.value = super::pool::number(value, item == FieldType::Integer);
            }
            Some(candidate)
        })
        .collect()
}

fn extracted(
    document: &Document,
    name: &str,
    candidate: &Candidate,
    confidence: f64,
) -> ExtractedField {
    let page = &document.pages[candidate.page];
    let mut pages = vec![page.number];
    for span in &candidate.spans {
        let number = document.page_of(span.first).number;
        if !pages.contains(&number) {
            pages.push(number);
        }
    }
    // A value that runs over a page break has its box on its first page.
    let rect = candidate
        .spans
        .iter()
        .filter(|s| document.tokens[s.first].page == candidate.page)
        .map(|s| s.rect(document))
        .reduce(|a, b| a.union(&b))
        .unwrap_or(candidate.rect);
    let bbox = document
        .fraction(candidate.page, &rect)
        .clipped()
        .map(|rect| BoundingBox::unjudged(rect, page.source.into(), None));
    ExtractedField {
        value: Some(candidate.value.clone()),
        pages,
        confidence,
        bbox,
        ..ExtractedField::empty(name)
    }
}

/// An object or a row: null when none of its members has a value.
fn container(name: &str, members: Vec<ExtractedField>) -> ExtractedField {
    let known: Vec<&ExtractedField> = members.iter().filter(|m| m.value.is_some()).collect();
    if known.is_empty() {
        return ExtractedField {
            value: Some(FieldValue::Fields(members)),
            ..ExtractedField::empty(name)
        };
    }
    let confidence = known.iter().map(|m| m.confidence).sum::<f64>() / known.len() as f64;
    let pages = pages_of(&known);
    ExtractedField {
        pages,
        confidence,
        value: Some(FieldValue::Fields(members)),
        ..ExtractedField::empty(name)
    }
}

fn array(name: &str, rows: Vec<ExtractedField>) -> ExtractedField {
    if rows.is_empty() {
        return ExtractedField::empty(name);
    }
    let all: Vec<&ExtractedField> = rows.iter().collect();
    let confidence = all.iter().map(|m| m.confidence).sum::<f64>() / all.len() as f64;
    let pages = pages_of(&all);
    ExtractedField {
        pages,
        confidence,
        value: Some(FieldValue::Fields(rows)),
        ..ExtractedField::empty(name)
    }
}

fn pages_of(fields: &[&ExtractedField]) -> Vec<u32> {
    let mut pages: Vec<u32> = fields
        .iter()
        .flat_map(|f| f.pages.iter().copied())
        .collect();
    pages.sort_unstable();
    pages.dedup();
    pages
}
