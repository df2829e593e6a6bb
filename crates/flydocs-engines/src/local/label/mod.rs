//! Labels: what the schema asks for, in the words a document may use, and where the document uses them.

mod find;
mod lexicon;
mod query;

pub(crate) use find::{Label, Labels, find_labels};
pub(crate) use lexicon::{ConceptKind, Lexicon, lexicon};
pub(crate) use query::{Kind, Query, Role, column_query_of, query_of};
