//! The engine as the pipeline asks it, on pages made in the tests.

mod page;

mod answers_the_port;
mod classifies_and_splits;
mod reads_a_contract;
mod reads_an_invoice;
mod survives_anything;
