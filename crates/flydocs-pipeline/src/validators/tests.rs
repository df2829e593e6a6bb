//! A table of values for every validator: what passes and what does not.

use flydocs_contract::{FieldValue, request::ValidatorSpec};

use super::*;

fn spec(name: &str, params: &serde_json::Value) -> ValidatorSpec {
    serde_json::from_value(serde_json::json!({"name": name, "params": params})).unwrap()
}

fn passes(name: &str, params: &serde_json::Value, value: &FieldValue) -> bool {
    check(&spec(name, params), value).is_ok()
}

fn text(value: &str) -> FieldValue {
    FieldValue::String(value.to_owned())
}

/// Name, parameters, texts that pass, texts that do not.
type Case = (
    &'static str,
    serde_json::Value,
    &'static [&'static str],
    &'static [&'static str],
);

fn cases() -> Vec<Case> {
    use serde_json::json;
    let none = json!({});
    let of = |country: &str| json!({"country": country});
    vec![
        (
            "email",
            none.clone(),
            &[
                "a@b.co",
                " a.b+c@sub.example.org ",
                "ñ@correo.es",
                "o'neil@x.museum",
            ],
            &[
                "", "  ", "a", "a@b", "a@b.c", "@b.co", "a b@c.de", ".a@b.co", "a@@b.co",
                "a@-b.co", "a@b.12",
            ],
        ),
        (
            "uri",
            none.clone(),
            &["https://example.org", "ftp://a.b/c?d#e", "http://[::1]:80/"],
            &[
                "example.org",
                "mailto:a@b.co",
                "https://",
                "http:///path",
                "https://a b",
                "urn:x:y",
            ],
        ),
        (
            "url",
            none.clone(),
            &["https://example.org/x"],
            &["//example.org"],
        ),
        (
            "domain",
            none.clone(),
            &["example.org", "a.b.c", "xn--bcher-kva.example", "1.example"],
            &[
                "example", ".org", "a..b", "-a.org", "a-.org", "a_b.org", "a.org.",
            ],
        ),
        (
            "slug",
            none.clone(),
            &["a", "a-b", "a1-2-b3"],
            &["A", "a--b", "-a", "a-", "a_b", "á"],
        ),
        (
            "ipv4",
            none.clone(),
            &["1.2.3.4", "255.255.255.255"],
            &["1.2.3", "256.1.1.1", "1.2.3.4/8", "01.2.3.4"],
        ),
        (
            "ipv6",
            none.clone(),
            &["::1", "2001:db8::ff", "::ffff:1.2.3.4"],
            &["1.2.3.4", ":::", "12345::"],
        ),
        (
            "date",
            none.clone(),
            &[
                "2024-02-29",
                "20240229",
                "2024-W09-4",
                "2024W094",
                "2024-060",
                "2024W09",
            ],
            &[
                "2023-02-29",
                "29.02.2024",
                "2024-2-9",
                "2024-366-1",
                "2023-366",
                "2024-W60",
                "24-02-29",
            ],
        ),
        (
            "time",
            none.clone(),
            &[
                "12:30",
                "12:30:59",
                "12:30:59.123Z",
                "123059",
                "1230",
                "12:30+02:00",
                "24:00",
            ],
            &[
                "25:00",
                "12:60",
                "1:30",
                "12:30:61",
                "12:30.5",
                "noon",
                "24:01",
                "12:30+24:00",
                "123",
            ],
        ),
        (
            "datetime",
            none.clone(),
            &[
                "2024-02-29T12:30:00Z",
                "2024-02-29 12:30",
                "20240229T123000",
            ],
            &["2024-02-29", "12:30", "2024-02-30T12:30", "2024-02-29T"],
        ),
        (
            "iso_8601",
            none.clone(),
            &["2024-02-29", "2024-02-29T10:00Z", "T10:00"],
            &["yesterday", "10/02/2024"],
        ),
        (
            "uuid",
            none.clone(),
            &[
                "123e4567-e89b-12d3-a456-426614174000",
                "123E4567E89B12D3A456426614174000",
            ],
            &[
                "123e4567-e89b-12d3-a456-42661417400",
                "123e4567e-89b-12d3-a456-426614174000",
                "g23e4567-e89b-12d3-a456-426614174000",
            ],
        ),
        (
            "json",
            none.clone(),
            &["{}", "[1, 2]", "\"a\"", "1"],
            &["{", "a", ""],
        ),
        (
            "hex_color",
            none.clone(),
            &["#fff", "A0B1C2", "#a0b1c2d3"],
            &["#ff", "#ggg", "##fff", "#a0b1c"],
        ),
        (
            "iban",
            none.clone(),
            &[
                "DE89370400440532013000",
                "de89 3704 0044 0532 0130 00",
                "GB29NWBK60161331926819",
                "FR1420041010050500013M02606",
                "NO9386011117947",
                "MT84MALT011000012345MTLCAST001S",
                "ES9121000418450200051332",
            ],
            &[
                "DE88370400440532013000",
                "DE8937040044053201300",
                "XX89370400440532013000",
                "DE89-3704",
                "DE",
                "",
            ],
        ),
        (
            "iban",
            of("DE"),
            &["DE89370400440532013000"],
            &["ES9121000418450200051332"],
        ),
        (
            "bic",
            none.clone(),
            &["DEUTDEFF", "DEUTDEFF500", "NEDSZAJJXXX"],
            &["DEUTDEF", "DEUT1EFF", "DEUTDEFF50", "D3UTDEFF"],
        ),
        (
            "credit_card",
            none.clone(),
            &[
                "4111111111111111",
                "4111 1111 1111 1111",
                "5500-0000-0000-0004",
                "378282246310005",
            ],
            &[
                "4111111111111112",
                "411111111111",
                "41111111111111111111",
                "4111x11111111111",
            ],
        ),
        (
            "currency_code",
            none.clone(),
            &["EUR", "usd", "JPY"],
            &["EURO", "E", "ABC"],
        ),
        (
            "amount",
            none.clone(),
            &["12.50", "1"],
            &["0", "-1", "1,000.00", "EUR 5", "1e5"],
        ),
        (
            "amount",
            json!({"allow_zero": true}),
            &["0", "0.00"],
            &["-1"],
        ),
        ("amount", json!({"allow_negative": true}), &["-1.5"], &["0"]),
        (
            "phone_e164",
            none.clone(),
            &["+34 600 123 456", "34600123456", "+1 (202) 555-0100"],
            &["+0600123456", "12345", "+1234567890123456", "call me"],
        ),
        (
            "country_code",
            none.clone(),
            &["DE", "es", "GB"],
            &["UK", "DEU", "XX", "D"],
        ),
        (
            "language_code",
            none.clone(),
            &["de", "EN", "zh"],
            &["deu", "xx", "d"],
        ),
        (
            "postal_code",
            of("ES"),
            &["28001"],
            &["2800", "28001-1", "SW1A 1AA"],
        ),
        (
            "postal_code",
            of("GB"),
            &["SW1A 1AA", "M1 1AA", "EC1A1BB", "b33 8th"],
            &["28001", "SW1A 1A", "1AA SW1"],
        ),
        (
            "postal_code",
            of("US"),
            &["90210", "90210-1234"],
            &["9021", "90210-12"],
        ),
        ("postal_code", of("PT"), &["1000-001"], &["1000001", "1000"]),
        (
            "postal_code",
            of("NL"),
            &["1012 AB", "1012AB"],
            &["1012", "1012 A1"],
        ),
        ("postal_code", of("BE"), &["1000"], &["10000"]),
        (
            "postal_code",
            of("BR"),
            &["01310-100", "01310100"],
            &["01310"],
        ),
        ("postal_code", of("PL"), &["00-001"], &["00001"]),
        ("postal_code", of("FR"), &["75001"], &["7500"]),
        ("postal_code", of("DE"), &["10115"], &["1011"]),
        ("postal_code", of("IT"), &["00118"], &["001"]),
        (
            "postal_code",
            none.clone(),
            &["12", "AB-123 45"],
            &["1", "1234567890123", "12/34"],
        ),
        (
            "latitude",
            none.clone(),
            &["90", "-90.0", "0"],
            &["90.1", "north"],
        ),
        (
            "longitude",
            none.clone(),
            &["180", "-180"],
            &["180.5", "-181"],
        ),
        (
            "nif",
            none.clone(),
            &["97628930W", "49905015Y", "91639924-n"],
            &["97628930A", "9762893W", "X7628930W"],
        ),
        (
            "nie",
            none.clone(),
            &["Z8709616G", "Y4920142L", "Y3975062D"],
            &["Z8709616H", "A8709616G", "Z870961G"],
        ),
        (
            "cif",
            none.clone(),
            &[
                "A94065075",
                "B22355432",
                "H61309282",
                "P8070123H",
                "Q9622258C",
                "R0464483G",
                "S3778172A",
                "N8435780E",
                "W8216137C",
                "C22092100",
                "C0346155E",
                "G2079823G",
                "J67232561",
                "U7410688A",
                "V51515542",
            ],
            &[
                "A94065076",
                "A9406507E",
                "P80701238",
                "I22355432",
                "B2235543",
                "B223554321",
                "G2079823A",
            ],
        ),
        (
            "vat_id",
            none.clone(),
            &[
                "ES97628930W",
                "ESB22355432",
                "ES Z8709616G",
                "ESK9918503Y",
                "FR25064285364",
                "FRZ6344278494",
                "FR1X409815941",
                "FR 40 303 265 045",
                "DE197255232",
                "DE136695976",
                "IT98073750642",
                "IT00743110157",
                "PT579048314",
                "PT501964843",
                "NL881335939B47",
                "NL004495445B01",
                "NL002455799B11",
                "BE0088269307",
                "BE428759497",
                "ATU74472705",
                "PL4359491479",
                "PL8567346215",
                "DK12345678",
                "EL123456789",
            ],
            &[
                "ES97628930A",
                "ESB22355433",
                "FR26064285364",
                "FRI6344278494",
                "DE197255233",
                "DE097255232",
                "IT98073750643",
                "PT579048315",
                "NL123456789B90",
                "NL881335939C47",
                "BE0088269308",
                "ATU74472706",
                "PL4359491478",
                "DK1234567",
                "97628930W",
                "XX12",
                "DE19725523A",
            ],
        ),
        (
            "vat_id",
            of("ES"),
            &["B22355432", "ESB22355432", "97628930W"],
            &["DE197255232", "B22355433"],
        ),
        ("vat_id", of("AT"), &["U74472705"], &["74472705"]),
        (
            "vat_id",
            of("GR"),
            &["EL123456789", "GR123456789"],
            &["EL12345678"],
        ),
        (
            "ssn",
            none.clone(),
            &["123-45-6789", "899-01-0001", "123456789"],
            &[
                "000-45-6789",
                "666-45-6789",
                "900-45-6789",
                "123-00-6789",
                "123-45-0000",
                "12-345-6789",
                "123-45-678",
            ],
        ),
        (
            "passport_number",
            none,
            &["C01X00T47", "12345", "AB1234567890"],
            &["1234", "AB12345678901", "AB 12345"],
        ),
    ]
}

#[test]
fn every_validator_knows_good_from_bad() {
    for (name, params, good, bad) in cases() {
        for value in good {
            assert!(
                passes(name, &params, &text(value)),
                "{name} {params} refuses {value:?}"
            );
        }
        for value in bad {
            assert!(
                !passes(name, &params, &text(value)),
                "{name} {params} takes {value:?}"
            );
        }
    }
}

#[test]
fn every_validator_of_the_catalogue_has_its_cases_and_stands_in_the_manual() {
    let manual = include_str!("../../../../docs/validators.md");
    let cases = cases();
    for name in names() {
        assert!(
            cases.iter().any(|(of, ..)| *of == name),
            "{name} has no cases"
        );
        assert!(
            manual.contains(&format!("`{name}`")),
            "{name} is not in docs/validators.md"
        );
    }
    for (name, ..) in cases {
        assert!(is_known(name), "{name} is not in the catalogue");
    }
    let mut sorted: Vec<_> = names().collect();
    sorted.sort_unstable();
    sorted.dedup();
    assert_eq!(
        sorted.len(),
        names().count(),
        "a name stands twice in the catalogue"
    );
}

#[test]
fn values_that_are_no_text_are_taken_where_that_makes_sense() {
    let none = serde_json::json!({});
    let object = FieldValue::Fields(Vec::new());
    for (name, value, wanted) in [
        ("json", object.clone(), true),
        ("json", FieldValue::Integer(1), false),
        (
            "credit_card",
            FieldValue::Integer(4_111_111_111_111_111),
            true,
        ),
        ("phone_e164", FieldValue::Integer(34_600_123_456), true),
        ("amount", FieldValue::Number(0.5), true),
        ("amount", FieldValue::Integer(-1), false),
        ("amount", FieldValue::Number(f64::NAN), false),
        ("latitude", FieldValue::Number(91.0), false),
        ("latitude", FieldValue::Integer(-45), true),
        ("email", FieldValue::Integer(1), false),
        ("iban", object, false),
        ("nif", FieldValue::Boolean(true), false),
    ] {
        assert_eq!(passes(name, &none, &value), wanted, "{name} {value:?}");
    }
}

#[test]
fn an_unknown_validator_says_so() {
    let error = check(&spec("colour", &serde_json::json!({})), &text("red")).unwrap_err();
    assert!(error.contains("colour"));
}

#[test]
fn a_message_names_the_validator_and_never_the_value() {
    let spec = spec("iban", &serde_json::json!({}));
    let message = check(&spec, &text("DE00SECRET")).unwrap_err();
    assert!(
        message.starts_with("iban: ") && !message.contains("SECRET"),
        "{message}"
    );
}
