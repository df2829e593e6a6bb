//! Choosing: candidates of every field, scored, weighed against each other, and put into the schema's shape.

mod address;
mod amount;
mod arithmetic;
mod beside;
mod boolean;
mod candidate;
mod choice;
mod date;
mod joint;
mod labelled;
mod letterhead;
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
mod title;
mod totals;
mod typed;
mod window;

pub(crate) use beside::text as text_candidates;
pub(crate) use candidate::{Candidate, Place};
pub(crate) use date::order_of;
pub(crate) use joint::{Choice, choose};
pub(crate) use plan::{Node, Plan};
pub(crate) use prose::contract_parties;
pub(crate) use reader::Reader;
pub(crate) use table::read_rows;
