//! Validator of VAT numbers: the form of the country, and its check digit where the scheme has one.

use super::{Subject, Verdict, compact, digits, finance::mod_97, luhn_sum, spain};

type Scheme = fn(&str) -> bool;

/// Countries whose check is known; the number comes without its prefix.
const SCHEMES: [(&str, Scheme); 9] = [
    ("AT", austria),
    ("BE", belgium),
    ("DE", germany),
    ("ES", spain),
    ("FR", france),
    ("IT", italy),
    ("NL", netherlands),
    ("PL", poland),
    ("PT", portugal),
];

/// Other countries with VAT numbers: how long they are without the prefix.
const LENGTHS: [(&str, std::ops::RangeInclusive<usize>); 24] = [
    ("BG", 9..=10),
    ("CH", 9..=12),
    ("CY", 9..=9),
    ("CZ", 8..=10),
    ("DK", 8..=8),
    ("EE", 9..=9),
    ("EL", 9..=9),
    ("FI", 8..=8),
    ("GB", 5..=12),
    ("GR", 9..=9),
    ("HR", 11..=11),
    ("HU", 8..=8),
    ("IE", 8..=9),
    ("LT", 9..=12),
    ("LU", 8..=8),
    ("LV", 11..=11),
    ("MC", 11..=11),
    ("MT", 8..=8),
    ("NO", 9..=12),
    ("RO", 2..=10),
    ("SE", 12..=12),
    ("SI", 8..=8),
    ("SK", 10..=10),
    ("XI", 5..=12),
];

pub(super) fn vat_id(subject: Subject<'_>) -> Verdict {
    let number = compact(subject.text()?, " \u{a0}-./");
    if !number.bytes().all(|b| b.is_ascii_alphanumeric()) {
        return Err("a VAT number is of letters and digits");
    }
    let prefix = number.get(..2).filter(|p| is_country(p));
    let wanted = subject.country();
    let (country, body) = match (&wanted, prefix) {
        (Some(wanted), Some(prefix)) if same_country(wanted, prefix) => {
            (wanted.as_str(), number.get(2..).unwrap_or_default())
        }
        // Two letters may be the start of the number itself.
        (Some(wanted), _) => (wanted.as_str(), number.as_str()),
        (None, Some(prefix)) => (prefix, number.get(2..).unwrap_or_default()),
        (None, None) => return Err("no country in front; name it with params.country"),
    };
    if let Some((_, fits)) = SCHEMES.iter().find(|(known, _)| *known == country) {
        return fits(body)
            .then_some(())
            .ok_or("not a VAT number of its country");
    }
    let length = LENGTHS.iter().find(|(known, _)| *known == country);
    let fits = length
        .map_or(2..=13, |(_, length)| length.clone())
        .contains(&body.len())
        && body.bytes().any(|b| b.is_ascii_digit());
    fits.then_some(()).ok_or("not a VAT number of its country")
}

fn is_country(code: &str) -> bool {
    SCHEMES.iter().any(|(known, _)| *known == code)
        || LENGTHS.iter().any(|(known, _)| *known == code)
}

/// Greece writes EL, Northern Ireland XI.
fn same_country(wanted: &str, prefix: &str) -> bool {
    wanted == prefix
        || matches!(
            (wanted, prefix),
            ("GR", "EL") | ("EL", "GR") | ("GB", "XI") | ("UK", "GB")
        )
}

fn spain(body: &str) -> bool {
    // K, L and M are personal numbers whose letter counts over the seven digits.
    let of_a_person = body
        .strip_prefix(['K', 'L', 'M'])
        .is_some_and(|rest| spain::is_nif(&format!("0{rest}")));
    spain::is_nif(body) || spain::is_nie(body) || spain::is_cif(body) || of_a_person
}

fn france(body: &str) -> bool {
    let (Some(key), Some(siren)) = (body.get(..2), body.get(2..)) else {
        return false;
    };
    let Some(figures) = digits(siren).filter(|d| d.len() == 9) else {
        return false;
    };
    // Monaco's are no SIREN.
    if !siren.starts_with("000") && !luhn_sum(&figures).is_multiple_of(10) {
        return false;
    }
    let Ok(number) = siren.parse::<u64>() else {
        return false;
    };
    if let Ok(key) = key.parse::<u64>() {
        return (number * 100 + 12) % 97 == key;
    }
    lettered_key(key).is_some_and(|key| (number + 1 + key / 11) % 11 == key % 11)
}

/// The figure of a French key with a letter in it (neither I nor O).
fn lettered_key(key: &str) -> Option<u64> {
    let place = |c: char| match c {
        '0'..='9' => c.to_digit(10).map(u64::from),
        'A'..='H' => Some(u64::from(c as u32 - 'A' as u32) + 10),
        'J'..='N' => Some(u64::from(c as u32 - 'J' as u32) + 18),
        'P'..='Z' => Some(u64::from(c as u32 - 'P' as u32) + 23),
        _ => None,
    };
    let mut chars = key.chars();
    let (first, second) = (chars.next()?, chars.next()?);
    let (one, two) = (place(first)?, place(second)?);
    if first.is_ascii_digit() {
        (one * 24 + two).checked_sub(10)
    } else {
        (one * 34 + two).checked_sub(100)
    }
}

fn germany(body: &str) -> bool {
    let Some(digits) = digits(body).filter(|d| d.len() == 9 && d.first() != Some(&0)) else {
        return false;
    };
    // ISO 7064, MOD 11,10.
    let check = digits.iter().take(8).fold(10, |product, digit| {
        let sum = (digit + product) % 10;
        (if sum == 0 { 10 } else { sum } * 2) % 11
    });
    (check + digits.last().copied().unwrap_or(10)) % 10 == 1
}

fn italy(body: &str) -> bool {
    digits(body).is_some_and(|d| {
        d.len() == 11 && d.iter().take(7).any(|x| *x > 0) && luhn_sum(&d).is_multiple_of(10)
    })
}

fn portugal(body: &str) -> bool {
    let Some(digits) = digits(body).filter(|d| d.len() == 9 && d.first() != Some(&0)) else {
        return false;
    };
    let sum: u32 = digits
        .iter()
        .take(8)
        .zip((2..=9).rev())
        .map(|(d, w)| d * w)
        .sum();
    digits.last() == Some(&((11 - sum % 11) % 11 % 10))
}

fn netherlands(body: &str) -> bool {
    let (Some(number), Some("B"), Some(suffix)) = (body.get(..9), body.get(9..10), body.get(10..))
    else {
        return false;
    };
    let (Some(digits), Some(order)) = (digits(number), digits(suffix)) else {
        return false;
    };
    if order.len() != 2 || order == [0, 0] || digits.iter().all(|d| *d == 0) {
        return false;
    }
    let weighted: u32 = digits
        .iter()
        .take(8)
        .zip((2..=9).rev())
        .map(|(d, w)| d * w)
        .sum();
    let is_citizen = weighted % 11 == digits.last().copied().unwrap_or(10);
    is_citizen || mod_97(&format!("NL{body}")) == Some(1)
}

fn belgium(body: &str) -> bool {
    // Numbers of before 2008 have nine digits.
    let number = if body.len() == 9 {
        format!("0{body}")
    } else {
        body.to_owned()
    };
    if number.len() != 10 || !number.starts_with(['0', '1']) || digits(&number).is_none() {
        return false;
    }
    let (Some(Ok(base)), Some(Ok(check))) = (
        number.get(..8).map(str::parse::<u64>),
        number.get(8..).map(str::parse::<u64>),
    ) else {
        return false;
    };
    base > 0 && 97 - base % 97 == check
}

fn austria(body: &str) -> bool {
    let digits = body.strip_prefix('U').and_then(digits);
    let Some(digits) = digits.filter(|d| d.len() == 8) else {
        return false;
    };
    let Some((check, base)) = digits.split_last() else {
        return false;
    };
    (6 + 100 - luhn_sum(base)) % 10 == *check
}

fn poland(body: &str) -> bool {
    let Some(digits) = digits(body).filter(|d| d.len() == 10) else {
        return false;
    };
    let weights = [6, 5, 7, 2, 3, 4, 5, 6, 7];
    let sum: u32 = digits.iter().zip(weights).map(|(d, w)| d * w).sum();
    digits.last() == Some(&(sum % 11))
}
