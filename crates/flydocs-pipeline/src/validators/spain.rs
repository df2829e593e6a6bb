//! Validators of Spanish tax numbers: of citizens (nif), of foreigners (nie), of companies (cif).

use super::{Subject, Verdict, compact, digits, luhn_sum};

const LETTERS: [char; 23] = [
    'T', 'R', 'W', 'A', 'G', 'M', 'Y', 'F', 'P', 'D', 'X', 'B', 'N', 'J', 'Z', 'S', 'Q', 'V', 'H',
    'L', 'C', 'K', 'E',
];

pub(super) fn nif(subject: Subject<'_>) -> Verdict {
    let number = compact(subject.text()?, " -.");
    is_nif(&number)
        .then_some(())
        .ok_or("not a NIF of 8 digits and their letter")
}

pub(super) fn nie(subject: Subject<'_>) -> Verdict {
    let number = compact(subject.text()?, " -.");
    is_nie(&number)
        .then_some(())
        .ok_or("not a NIE of X, Y or Z, 7 digits and their letter")
}

pub(super) fn cif(subject: Subject<'_>) -> Verdict {
    let number = compact(subject.text()?, " -.");
    is_cif(&number)
        .then_some(())
        .ok_or("not a CIF of a class letter, 7 digits and their control")
}

/// 8 digits and the letter of their remainder by 23.
pub(super) fn is_nif(number: &str) -> bool {
    let Some((digits, letter)) = last_split(number) else {
        return false;
    };
    let is_digits = digits.len() == 8 && digits.bytes().all(|b| b.is_ascii_digit());
    let remainder = digits.parse::<usize>().map(|n| n % 23);
    is_digits && remainder.is_ok_and(|r| LETTERS.get(r) == Some(&letter))
}

/// X, Y or Z as 0, 1 or 2, then as a NIF.
pub(super) fn is_nie(number: &str) -> bool {
    let first = match number.chars().next() {
        Some('X') => '0',
        Some('Y') => '1',
        Some('Z') => '2',
        _ => return false,
    };
    let rest: String = number.chars().skip(1).collect();
    is_nif(&format!("{first}{rest}"))
}

/// A class letter, 7 digits, and a control: a digit, a letter or either, by class.
pub(super) fn is_cif(number: &str) -> bool {
    let Some((body, control)) = last_split(number) else {
        return false;
    };
    let mut chars = body.chars();
    let Some(class) = chars.next() else {
        return false;
    };
    let Some(mut digits) = digits(chars.as_str()).filter(|d| d.len() == 7) else {
        return false;
    };
    digits.push(0);
    let check = (10 - luhn_sum(&digits) % 10) % 10;
    let letter = ['J', 'A', 'B', 'C', 'D', 'E', 'F', 'G', 'H', 'I']
        .get(check as usize)
        .copied();
    let is_digit = control.to_digit(10) == Some(check);
    let is_letter = letter == Some(control);
    match class {
        'A' | 'B' | 'E' | 'H' => is_digit,
        'N' | 'P' | 'Q' | 'R' | 'S' | 'W' => is_letter,
        'C' | 'D' | 'F' | 'G' | 'J' | 'U' | 'V' => is_digit || is_letter,
        _ => false,
    }
}

fn last_split(number: &str) -> Option<(&str, char)> {
    let last = number.chars().next_back()?;
    Some((number.strip_suffix(last)?, last))
}
