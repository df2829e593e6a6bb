//! Everything of the document that has the form of a typed value, found once and shared by all fields.

use std::borrow::Cow;

use flydocs_contract::FieldValue;

use crate::local::{
    layout::{Document, Span},
    recognise::{
        Amount, Date, DayOrder, DecimalStyle, Found, LineText, amounts, bics, currencies, dates,
        day_order, decimal_style, digits, emails, ibans, identifiers, phones, recognised_amounts,
        tax_numbers, times, urls, vat_ids,
    },
};

/// A typed value at its place.
#[derive(Debug, Clone)]
pub(crate) struct Typed<T> {
    /// Where.
    pub span: Span,
    /// What.
    pub value: T,
    /// How surely by form, 0 to 1.
    pub form: f64,
}

/// All typed values of a document.
#[derive(Debug, Default)]
pub(crate) struct Pool {
    pub dates: Vec<Typed<Date>>,
    pub amounts: Vec<Typed<Amount>>,
    pub currencies: Vec<Typed<&'static str>>,
    pub ibans: Vec<Typed<String>>,
    pub bics: Vec<Typed<String>>,
    pub vats: Vec<Typed<String>>,
    pub tax_numbers: Vec<Typed<String>>,
    pub emails: Vec<Typed<String>>,
    pub phones: Vec<Typed<String>>,
    pub urls: Vec<Typed<String>>,
    pub times: Vec<Typed<String>>,
    pub identifiers: Vec<Typed<String>>,
    /// The decimal separator the document uses.
    pub style: Option<DecimalStyle>,
    /// The order of day and month its dates show.
    pub order: Option<DayOrder>,
}

impl Pool {
    /// Runs every recogniser over every row.
    pub(crate) fn new(document: &Document) -> Self {
        let lines: Vec<LineText> = document
            .rows
            .iter()
            .map(|row| LineText::new(document, row.tokens.clone()))
            .collect();
        let mut pool = Self {
            style: decimal_style(lines.iter().map(|l| l.text.as_str())),
            ..Self::default()
        };
        for line in &lines {
            pool.add(document, line);
        }
        pool.order = day_order(pool.dates.iter().map(|d| &d.value));
        pool
    }

    fn add(&mut self, document: &Document, line: &LineText) {
        let recognised = line
            .first()
            .is_some_and(|t| document.recognised(document.tokens[t].page));
        let numeric = if recognised {
            digits(&line.text)
        } else {
            Cow::Borrowed(line.text.as_str())
        };
        let found_dates = dates(&numeric);
        let found_ibans = ibans(&line.text);
        let inside = |range: &std::ops::Range<usize>| {
            found_dates
                .iter()
                .any(|d| d.form > 0.5 && d.range.start <= range.start && range.end <= d.range.end)
                || found_ibans.iter().any(|d| {
                    d.form > 0.4 && d.range.start <= range.start && range.end <= d.range.end
                })
        };
        let numbers = if recognised {
            recognised_amounts(&numeric, self.style)
        } else {
            amounts(&numeric, self.style)
        }
        .into_iter()
        .filter(|n| !inside(&n.range))
        .collect();
        let names = identifiers(&line.text)
            .into_iter()
            .map(|mut n| {
                if inside(&n.range) {
                    n.form *= 0.15;
                }
                n
            })
            .collect();
        collect(document, line, numbers, &mut self.amounts);
        collect(document, line, names, &mut self.identifiers);
        collect(document, line, found_dates, &mut self.dates);
        collect(document, line, found_ibans, &mut self.ibans);
        collect(document, line, currencies(&line.text), &mut self.currencies);
        collect(document, line, bics(&line.text), &mut self.bics);
        collect(document, line, vat_ids(&line.text), &mut self.vats);
        collect(
            document,
            line,
            tax_numbers(&line.text),
            &mut self.tax_numbers,
        );
        collect(document, line, emails(&line.text), &mut self.emails);
        collect(document, line, phones(&line.text), &mut self.phones);
        collect(document, line, urls(&line.text), &mut self.urls);
        collect(document, line, times(&line.text), &mut self.times);
    }
}

fn collect<T>(
    document: &Document,
    line: &LineText,
    found: Vec<Found<T>>,
    into: &mut Vec<Typed<T>>,
) {
    for f in found {
        if let Some(span) = line.span(document, f.range) {
            into.push(Typed {
                span,
                value: f.value,
                form: f.form,
            });
        }
    }
}

/// A number as a value: whole ones as integers when the field wants that.
pub(crate) fn number(value: f64, integer: bool) -> FieldValue {
    if integer && value.fract() == 0.0 && value.abs() < 9e15 {
        FieldValue::Integer(value as i64)
    } else {
        FieldValue::Number(value)
    }
}
