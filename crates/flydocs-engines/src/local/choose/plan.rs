//! The schema as the reader works through it: one query for every leaf and every column.

use flydocs_contract::request::{DocumentTypeSpec, Field, FieldType};

use crate::local::label::{Query, column_query_of, query_of};

/// A node of the plan, in the schema's order.
#[derive(Debug)]
pub(crate) enum Node<'a> {
    /// A leaf: index of its query.
    Leaf(&'a Field, usize),
    /// An object and its members.
    Object(&'a Field, Vec<Node<'a>>),
    /// An array of objects: its columns (index of query each); members that are no leaves stay empty.
    Table(&'a Field, Vec<(&'a Field, Option<usize>)>),
    /// An array of values.
    List(&'a Field, usize),
}

impl Node<'_> {
    /// The name of its field.
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Leaf(field, _)
            | Self::Object(field, _)
            | Self::Table(field, _)
            | Self::List(field, _) => &field.name,
        }
    }
}

/// All groups with their nodes, and the queries of all leaves.
#[derive(Debug, Default)]
pub(crate) struct Plan<'a> {
    /// Groups: name and nodes.
    pub groups: Vec<(&'a str, Vec<Node<'a>>)>,
    /// The queries.
    pub queries: Vec<Query>,
    /// The field and the path of each query; columns and lists take no part in the choice of single values.
    pub leaves: Vec<Leaf<'a>>,
}

/// What stands behind a query.
#[derive(Debug)]
pub(crate) struct Leaf<'a> {
    /// The field.
    pub field: &'a Field,
    /// Its path, `group.field`.
    pub path: String,
    /// A single value (and not a column or a list).
    pub single: bool,
}

impl<'a> Plan<'a> {
    /// The plan of a document type.
    pub(crate) fn new(document_type: &'a DocumentTypeSpec) -> Self {
        let mut plan = Self::default();
        for group in &document_type.field_groups {
            let nodes = group
                .fields
                .iter()
                .map(|field| {
                    plan.node(
                        field,
                        &format!("{}.{}", group.name, field.name),
                        &[&group.name],
                    )
                })
                .collect();
            plan.groups.push((&group.name, nodes));
        }
        plan
    }

    fn node(&mut self, field: &'a Field, path: &str, above: &[&str]) -> Node<'a> {
        match (field.field_type, &field.items, &field.fields) {
            (FieldType::Object, _, Some(members)) => {
                let mut inside = above.to_vec();
                inside.push(&field.name);
                let nodes = members
                    .iter()
                    .map(|member| self.node(member, &format!("{path}.{}", member.name), &inside))
                    .collect();
                Node::Object(field, nodes)
            }
            (FieldType::Array, Some(items), _) => match &items.fields {
                Some(columns) if items.field_type == FieldType::Object => {
                    let columns = columns
                        .iter()
                        .map(|column| {
                            let leaf =
                                !matches!(column.field_type, FieldType::Array | FieldType::Object);
                            let query = leaf.then(|| {
                                self.add(
                                    column,
                                    column_query_of(column),
                                    format!("{path}[].{}", column.name),
                                    false,
                                )
                            });
                            (column, query)
                        })
                        .collect();
                    Node::Table(field, columns)
                }
                _ => {
                    let query = query_of(field, above);
                    Node::List(field, self.add(field, query, path.to_owned(), false))
                }
            },
            _ => {
                let query = query_of(field, above);
                Node::Leaf(field, self.add(field, query, path.to_owned(), true))
            }
        }
    }

    fn add(&mut self, field: &'a Field, query: Query, path: String, single: bool) -> usize {
        self.queries.push(query);
        self.leaves.push(Leaf {
            field,
            path,
            single,
        });
        self.queries.len() - 1
    }
}
