//! The engine as the pipeline asks it, on pages made in the tests.

#![expect(
    clippy::unwrap_used,
    reason = "a page or a type that cannot be made fails its test"
)]

mod page;

mod answers_the_port;
mod classifies_and_splits;
mod reads_a_contract;
mod reads_a_form;
mod reads_a_receipt;
mod reads_an_invoice;
mod reads_other_kinds;
mod survives_anything;
