//! Choosing: candidates of every field, scored, weighed against each other, and put into the schema's shape.

mod address;
mod arithmetic;
mod boolean;
mod candidate;
mod joint;
mod option;
mod party;
mod plan;
mod prose;
mod reader;
mod relation;
mod scalar;
mod section;
mod table;
mod text;

pub(crate) use candidate::{Candidate, Place};
pub(crate) use joint::{Choice, choose};
pub(crate) use plan::{Node, Plan};
pub(crate) use prose::contract_parties;
pub(crate) use reader::Reader;
pub(crate) use scalar::{order_of, text as text_candidates};
pub(crate) use table::read_rows;
