//! Validators of money: accounts, banks, cards, currencies, amounts.

use super::{Subject, Verdict, codes, compact, digits, luhn_sum};

pub(super) fn iban(subject: Subject<'_>) -> Verdict {
    let iban = compact(subject.text()?, " \u{a0}");
    if !iban.bytes().all(|b| b.is_ascii_alphanumeric()) {
        return Err("an IBAN is of letters and digits");
    }
    let (Some(country), Some(check), Some(account)) =
        (iban.get(..2), iban.get(2..4), iban.get(4..))
    else {
        return Err("too short for an IBAN");
    };
    let Some(length) = codes::iban_length(country) else {
        return Err("not of a country that has IBANs");
    };
    if iban.len() != length {
        return Err("not as long as an IBAN of its country");
    }
    if subject.country().is_some_and(|wanted| wanted != country) {
        return Err("an IBAN of another country");
    }
    let is_checked = check.bytes().all(|b| b.is_ascii_digit())
        && mod_97(&format!("{account}{country}{check}")) == Some(1);
    is_checked
        .then_some(())
        .ok_or("the check digits of the IBAN do not fit")
}

/// The remainder by 97 of a text whose letters count as 10 to 35.
pub(super) fn mod_97(text: &str) -> Option<u32> {
    text.chars().try_fold(0, |rest: u32, c| {
        let value = c.to_digit(36)?;
        let shift = if value < 10 { 10 } else { 100 };
        Some((rest * shift + value) % 97)
    })
}

pub(super) fn bic(subject: Subject<'_>) -> Verdict {
    let bic = subject.text()?.to_ascii_uppercase();
    let letters = |range| {
        let part: Option<&str> = bic.get(range);
        part.is_some_and(|p| p.bytes().all(|b| b.is_ascii_uppercase()))
    };
    let fits = matches!(bic.len(), 8 | 11)
        && letters(0..4)
        && letters(4..6)
        && bic.bytes().all(|b| b.is_ascii_alphanumeric());
    fits.then_some(()).ok_or("not a BIC of 8 or 11 characters")
}

pub(super) fn credit_card(subject: Subject<'_>) -> Verdict {
    let number = compact(&subject.digits_or_text()?, " -");
    let Some(digits) = digits(&number).filter(|d| (13..=19).contains(&d.len())) else {
        return Err("not a card number of 13 to 19 digits");
    };
    let fits = luhn_sum(&digits).is_multiple_of(10);
    fits.then_some(())
        .ok_or("the check digit of the card number does not fit")
}

pub(super) fn currency_code(subject: Subject<'_>) -> Verdict {
    is_currency(subject.text()?)
        .then_some(())
        .ok_or("not a currency of ISO 4217")
}

/// A code of ISO 4217.
pub(crate) fn is_currency(text: &str) -> bool {
    codes::holds(&codes::CURRENCIES, &text.to_ascii_uppercase())
}

pub(super) fn amount(subject: Subject<'_>) -> Verdict {
    let amount = subject.number()?;
    if amount == 0.0 && !subject.flag("allow_zero") {
        return Err("zero, which params.allow_zero would allow");
    }
    if amount < 0.0 && !subject.flag("allow_negative") {
        return Err("negative, which params.allow_negative would allow");
    }
    Ok(())
}
