//! Typed recognisers: each finds the spans of a row that can be one kind of value, and normalises them.

mod address;
mod amount;
mod bic;
mod checkbox;
mod currency;
mod date;
mod email;
mod iban;
mod identifier;
mod line;
mod misread;
mod organisation;
mod phone;
mod tax_number;
mod time;
mod url;
mod vat;

use std::ops::Range;

pub(crate) use self::{
    address::{AddressLine, address_line},
    amount::{
        Amount, DecimalStyle, amounts, decimal_style, parse_number, recognised_amounts,
        spoken_number,
    },
    bic::bics,
    checkbox::{Tick, tick_of},
    currency::currencies,
    date::{Date, DayOrder, dates, day_order},
    email::emails,
    iban::ibans,
    identifier::identifiers,
    line::LineText,
    misread::{digits, put_right},
    organisation::{
        has_legal_form, of_a_firm, organisation_score, person_score, registered, repaired,
    },
    phone::phones,
    tax_number::tax_numbers,
    time::times,
    url::urls,
    vat::vat_ids,
};

/// Something found in a text.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Found<T> {
    /// Its bytes in the text.
    pub range: Range<usize>,
    /// The value, normalised.
    pub value: T,
    /// How surely it is of its kind by form alone, 0 to 1.
    pub form: f64,
}

impl<T> Found<T> {
    const fn new(range: Range<usize>, value: T, form: f64) -> Self {
        Self { range, value, form }
    }
}

/// Compiles an expression that is part of the program; a mistake in it finds nothing and fails its test.
fn expression(pattern: &str) -> regex::Regex {
    regex::Regex::new(pattern).unwrap_or_else(|error| {
        tracing::error!(%error, "an expression of the recognisers does not compile");
        never()
    })
}

#[expect(clippy::expect_used, reason = "a literal that is known to compile")]
fn never() -> regex::Regex {
    regex::Regex::new("[^\\s\\S]").expect("a class without characters")
}

/// The character before a byte.
fn before(text: &str, at: usize) -> Option<char> {
    text.get(..at).and_then(|t| t.chars().next_back())
}

/// The character at a byte.
fn after(text: &str, at: usize) -> Option<char> {
    text.get(at..).and_then(|t| t.chars().next())
}

#[cfg(test)]
mod tests;
