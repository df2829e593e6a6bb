//! Validators of what belongs to a person: phone numbers, passports, social security numbers.

use super::{Subject, Verdict, compact};

pub(super) fn phone_e164(subject: Subject<'_>) -> Verdict {
    let number = compact(&subject.digits_or_text()?, " \u{a0}-.()/");
    let digits = number.strip_prefix('+').unwrap_or(&number);
    let fits = (7..=15).contains(&digits.len())
        && digits.bytes().all(|b| b.is_ascii_digit())
        && !digits.starts_with('0');
    fits.then_some(())
        .ok_or("not a phone number with its country's code (E.164)")
}

pub(super) fn ssn(subject: Subject<'_>) -> Verdict {
    let text = subject.text()?;
    let parts: Vec<_> = text.split('-').collect();
    let is_number = |part: &str| part.bytes().all(|b| b.is_ascii_digit());
    let (area, group, serial) = match *parts {
        [area, group, serial] => (area, group, serial),
        [whole] if whole.len() == 9 && is_number(whole) => {
            let (area, rest) = whole.split_at(3);
            let (group, serial) = rest.split_at(2);
            (area, group, serial)
        }
        _ => return Err("not of the form 3-2-4 digits"),
    };
    let has_form = (area.len(), group.len(), serial.len()) == (3, 2, 4)
        && [area, group, serial].into_iter().all(is_number);
    if !has_form {
        return Err("not of the form 3-2-4 digits");
    }
    let is_given_out = !matches!(area, "000" | "666")
        && !area.starts_with('9')
        && group != "00"
        && serial != "0000";
    is_given_out
        .then_some(())
        .ok_or("a social security number that is never given out")
}

pub(super) fn passport_number(subject: Subject<'_>) -> Verdict {
    let text = subject.text()?;
    let fits = (5..=12).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_alphanumeric());
    fits.then_some(())
        .ok_or("not a passport number of 5 to 12 letters and digits")
}
