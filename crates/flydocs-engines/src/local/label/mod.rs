//! Labels: what the schema asks for, in the words a document may use, and where the document uses them.

mod description;
mod find;
mod found;

mod lexicon;
mod query;

pub(crate) use find::find_labels;
pub(crate) use found::{Label, Labels};
pub(crate) use lexicon::{ConceptKind, Lexicon, lexicon};
pub(crate) use query::{Kind, Query, Role, column_query_of, query_of};
