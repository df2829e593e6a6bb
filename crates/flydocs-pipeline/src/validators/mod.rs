//! The catalogue of validators: one function a name. A value that is `null` never comes here.

pub(crate) mod codes;
mod finance;
pub(crate) mod iso8601;
mod network;
mod person;
mod place;
mod spain;
mod text;
mod vat;

pub(crate) use finance::is_currency;
use flydocs_contract::{FieldValue, JsonObject, request::ValidatorSpec};
pub(crate) use text::{is_email, is_uri, is_uuid};

/// What is wrong with a value, without the value.
pub(crate) type Verdict = Result<(), &'static str>;

/// A value under a validator, with the validator's parameters.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Subject<'a> {
    value: &'a FieldValue,
    params: &'a JsonObject,
}

impl<'a> Subject<'a> {
    /// A text that is not blank, trimmed.
    fn text(&self) -> Result<&'a str, &'static str> {
        match self.value {
            FieldValue::String(text) if !text.trim().is_empty() => Ok(text.trim()),
            _ => Err("not a text"),
        }
    }

    /// A text, or the decimal digits of an integer (numbers of cards and phones are often read as such).
    fn digits_or_text(&self) -> Result<String, &'static str> {
        match self.value {
            FieldValue::Integer(number) => Ok(number.to_string()),
            _ => self.text().map(str::to_owned),
        }
    }

    /// A number, or a text that is one in plain decimal form.
    fn number(&self) -> Result<f64, &'static str> {
        let number = match self.value {
            FieldValue::Integer(number) => Some(*number as f64),
            FieldValue::Number(number) => Some(*number),
            FieldValue::String(text) => {
                let text = text.trim();
                let is_plain = text
                    .bytes()
                    .all(|b| b.is_ascii_digit() || b"+-.".contains(&b));
                is_plain.then(|| text.parse().ok()).flatten()
            }
            FieldValue::Boolean(_) | FieldValue::Fields(_) => None,
        };
        number.filter(|n| n.is_finite()).ok_or("not a number")
    }

    /// The country of the parameters, in capitals.
    fn country(&self) -> Option<String> {
        let country = self.params.get("country")?.as_str()?.trim();
        (!country.is_empty()).then(|| country.to_ascii_uppercase())
    }

    fn flag(&self, name: &str) -> bool {
        self.params.get(name).and_then(serde_json::Value::as_bool) == Some(true)
    }
}

type Check = fn(Subject<'_>) -> Verdict;

/// Every validator by name.
const CATALOGUE: [(&str, Check); 31] = [
    ("email", text::email),
    ("uri", text::uri),
    ("url", text::uri),
    ("domain", text::domain),
    ("slug", text::slug),
    ("ipv4", network::ipv4),
    ("ipv6", network::ipv6),
    ("date", iso8601::date),
    ("time", iso8601::time),
    ("datetime", iso8601::datetime),
    ("iso_8601", iso8601::any),
    ("uuid", text::uuid),
    ("json", text::json),
    ("hex_color", text::hex_color),
    ("iban", finance::iban),
    ("bic", finance::bic),
    ("credit_card", finance::credit_card),
    ("currency_code", finance::currency_code),
    ("amount", finance::amount),
    ("phone_e164", person::phone_e164),
    ("country_code", place::country_code),
    ("language_code", place::language_code),
    ("postal_code", place::postal_code),
    ("latitude", place::latitude),
    ("longitude", place::longitude),
    ("nif", spain::nif),
    ("nie", spain::nie),
    ("cif", spain::cif),
    ("vat_id", vat::vat_id),
    ("ssn", person::ssn),
    ("passport_number", person::passport_number),
];

/// The names of the catalogue.
pub fn names() -> impl Iterator<Item = &'static str> {
    CATALOGUE.iter().map(|(name, _)| *name)
}

/// Whether the catalogue has a validator of this name.
pub fn is_known(name: &str) -> bool {
    names().any(|known| known == name)
}

/// Asks one validator about a value; what is wrong with it, in a sentence.
pub fn check(spec: &ValidatorSpec, value: &FieldValue) -> Result<(), String> {
    let Some((name, check)) = CATALOGUE.iter().find(|(name, _)| *name == spec.name) else {
        return Err(format!("there is no validator called {:?}", spec.name));
    };
    let subject = Subject {
        value,
        params: &spec.params,
    };
    check(subject).map_err(|wrong| format!("{name}: {wrong}"))
}

/// The digits of a text, most significant first; `None` when something else is in it.
fn digits(text: &str) -> Option<Vec<u32>> {
    text.chars().map(|c| c.to_digit(10)).collect()
}

/// The Luhn sum of digits whose last is the check digit: a multiple of ten when they fit.
fn luhn_sum(digits: &[u32]) -> u32 {
    let from_the_right = digits.iter().rev().enumerate();
    from_the_right
        .map(|(place, digit)| match (place % 2, digit * 2) {
            (0, _) => *digit,
            (_, doubled) if doubled > 9 => doubled - 9,
            (_, doubled) => doubled,
        })
        .sum()
}

/// The text without separators, in capitals.
fn compact(text: &str, separators: &str) -> String {
    text.chars()
        .filter(|c| !separators.contains(*c))
        .map(|c| c.to_ascii_uppercase())
        .collect()
}

#[cfg(test)]
mod tests;
