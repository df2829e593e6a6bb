//! Validators of places and languages.

use super::{Subject, Verdict, codes};

pub(super) fn country_code(subject: Subject<'_>) -> Verdict {
    let code = subject.text()?.to_ascii_uppercase();
    codes::holds(&codes::COUNTRIES, &code)
        .then_some(())
        .ok_or("not a country of ISO 3166-1 alpha-2")
}

pub(super) fn language_code(subject: Subject<'_>) -> Verdict {
    let code = subject.text()?.to_ascii_lowercase();
    codes::holds(&codes::LANGUAGES, &code)
        .then_some(())
        .ok_or("not a language of ISO 639-1")
}

/// Postal codes by country: digits as `9`, letters as `A`, in the forms that are written.
const POSTAL_FORMS: [(&str, &[&str]); 12] = [
    ("BE", &["9999"]),
    ("BR", &["99999-999", "99999999"]),
    ("DE", &["99999"]),
    ("ES", &["99999"]),
    ("FR", &["99999"]),
    ("GB", GB_FORMS),
    ("IT", &["99999"]),
    ("NL", &["9999 AA", "9999AA"]),
    ("PL", &["99-999"]),
    ("PT", &["9999-999"]),
    ("UK", GB_FORMS),
    ("US", &["99999", "99999-9999"]),
];

const GB_FORMS: &[&str] = &[
    "A9 9AA", "A99 9AA", "AA9 9AA", "AA99 9AA", "A9A 9AA", "AA9A 9AA", "A99AA", "A999AA", "AA99AA",
    "AA999AA", "A9A9AA", "AA9A9AA",
];

pub(super) fn postal_code(subject: Subject<'_>) -> Verdict {
    let code = subject.text()?.to_ascii_uppercase();
    let country = subject.country().unwrap_or_default();
    let known = POSTAL_FORMS.iter().find(|(known, _)| *known == country);
    let fits = known.map_or_else(
        || {
            let is_written = |c: char| c.is_alphanumeric() || c == ' ' || c == '-';
            (2..=12).contains(&code.chars().count()) && code.chars().all(is_written)
        },
        |(_, forms)| forms.contains(&form_of(&code).as_str()),
    );
    fits.then_some(()).ok_or("not a postal code of its country")
}

fn form_of(code: &str) -> String {
    let form = code.chars().map(|c| match c {
        '0'..='9' => '9',
        'A'..='Z' => 'A',
        other => other,
    });
    form.collect()
}

pub(super) fn latitude(subject: Subject<'_>) -> Verdict {
    let fits = (-90.0..=90.0).contains(&subject.number()?);
    fits.then_some(()).ok_or("not between -90 and 90")
}

pub(super) fn longitude(subject: Subject<'_>) -> Verdict {
    let fits = (-180.0..=180.0).contains(&subject.number()?);
    fits.then_some(()).ok_or("not between -180 and 180")
}
