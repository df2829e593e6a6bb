//! A table of cases for each recogniser, and the property that none of them panics.

use proptest::prelude::*;

use super::*;

fn values<T: Clone>(found: Vec<Found<T>>) -> Vec<T> {
    found.into_iter().map(|f| f.value).collect()
}

#[test]
fn dates_are_read_in_the_forms_people_write() {
    for (text, iso) in [
        ("2018-06-05", "2018-06-05"),
        ("vom 05.06.2018", "2018-06-05"),
        ("12/31/2020", "2020-12-31"),
        ("31/12/2020", "2020-12-31"),
        ("24-11-17", "2017-11-24"),
        ("August 3 , 2014", "2014-08-03"),
        ("du 02 Juillet 2015", "2015-07-02"),
        ("19 april 2014", "2014-04-19"),
        ("1. März 2020", "2020-03-01"),
        ("le 1er février 2021", "2021-02-01"),
        ("3 de enero de 2019", "2019-01-03"),
        ("14th day of February, 2007", "2007-02-14"),
        ("25 MAR 2018", "2018-03-25"),
        ("25MAR2018", "2018-03-25"),
        ("2020年1月3日", "2020-01-03"),
        ("4/ 20/98", "1998-04-20"),
        ("Date:13/11/2017", "2017-11-13"),
        ("20180605", "2018-06-05"),
        ("1 November 1991", "1991-11-01"),
    ] {
        assert_eq!(
            values(dates(text)).first().map(ToString::to_string),
            Some(iso.to_owned()),
            "{text}"
        );
    }
}

#[test]
fn what_is_no_date_is_not_read_as_one() {
    for text in [
        "1.234.567",
        "99/99/2020",
        "192.168.10.12",
        "4000001123452",
        "201/113/40209",
        "5 kg",
        "03-7859 9863",
        "",
    ] {
        assert!(dates(text).is_empty(), "{text}");
    }
}

#[test]
fn the_document_tells_the_order_of_day_and_month() {
    let of = |text| day_order(values(dates(text)).iter());
    assert_eq!(of("01/02/2020 13/02/2020"), Some(DayOrder::DayFirst));
    assert_eq!(of("01/02/2020 02/13/2020"), Some(DayOrder::MonthFirst));
    assert_eq!(of("01/02/2020"), None);
    let both = values(dates("01/02/2020"));
    assert_eq!(
        both[0].read(DayOrder::MonthFirst).map(|d| d.to_string()),
        Some("2020-01-02".into())
    );
}

#[test]
fn amounts_are_read_with_either_separator() {
    for (text, style, value) in [
        ("1.234,56", None, 1234.56),
        ("1,234.56", None, 1234.56),
        ("1'234.50", None, 1234.5),
        ("1 234,50 €", None, 1234.5),
        ("€ 399,00", None, 399.0),
        ("RM 9.00", None, 9.0),
        ("RM9.00", None, 9.0),
        ("$4.11", None, 4.11),
        ("-14,73", None, -14.73),
        ("(12.00)", None, -12.0),
        ("3,3333", Some(DecimalStyle::Comma), 3.3333),
        ("1.000", Some(DecimalStyle::Comma), 1000.0),
        ("1.000", Some(DecimalStyle::Point), 1.0),
        ("0.025", None, 0.025),
        ("$5,000", None, 5000.0),
        ("Rs 1939", None, 1939.0),
        ("120 000,00 €", None, 120_000.0),
    ] {
        let found = amounts(text, style);
        assert!(
            found.iter().any(|f| (f.value.value - value).abs() < 1e-9),
            "{text}: {found:?}"
        );
    }
    assert_eq!(amounts("160,00 €", None)[0].value.currency, Some("EUR"));
    assert!(amounts("19 %", None)[0].value.percent);
}

#[test]
fn numbers_inside_codes_are_weak_amounts() {
    for text in ["201/113/40209", "RE-20170509", "TX-471102"] {
        assert!(amounts(text, None).iter().all(|f| f.form < 0.5), "{text}");
    }
}

#[test]
fn the_document_tells_its_decimal_separator() {
    assert_eq!(
        decimal_style(["12,00", "1.200,50"]),
        Some(DecimalStyle::Comma)
    );
    assert_eq!(decimal_style(["12.00", "v1.2"]), Some(DecimalStyle::Point));
    assert_eq!(decimal_style(["12"]), None);
}

#[test]
fn ibans_are_checked() {
    let found = ibans("IBAN : FR76 3000 6000 0112 3456 7890 189 - BIC");
    assert_eq!(found[0].value, "FR7630006000011234567890189");
    assert!((found[0].form - 1.0).abs() < f64::EPSILON);
    assert!(ibans("DE88200800000970375701")[0].form < 0.9);
    assert!(ibans("XX12 3456").is_empty());
}

#[test]
fn bics_vat_ids_and_tax_numbers_are_found() {
    assert_eq!(values(bics("BIC: COBADEFFXXX")), ["COBADEFFXXX"]);
    assert!(bics("RECHNUNG GESAMTES").iter().all(|f| f.form < 0.3));
    assert_eq!(values(vat_ids("USt-ID: DE136695976")), ["DE136695976"]);
    assert_eq!(values(vat_ids("TVA FR 604 219 388 61")), ["FR60421938861"]);
    assert_eq!(values(vat_ids("BTW NL810433941B01")), ["NL810433941B01"]);
    assert_eq!(
        values(tax_numbers("Steuernummer: 201/113/40209")),
        ["201/113/40209"]
    );
}

#[test]
fn mails_urls_phones_and_times_are_found() {
    assert_eq!(
        values(emails("Mail a.b@c.example.com.")),
        ["a.b@c.example.com"]
    );
    assert_eq!(
        values(urls("see http://localhost/ or")),
        ["http://localhost/"]
    );
    assert_eq!(values(phones("Tel. +49 932 431 500")), ["+49 932 431 500"]);
    assert_eq!(values(phones("fax (555) 23 78 -51")), ["(555) 23 78 -51"]);
    assert_eq!(values(times("at 4:29 PM")), ["16:29"]);
}

#[test]
fn currencies_are_named_by_sign_and_code() {
    assert_eq!(values(currencies("Total 12 €")), ["EUR"]);
    assert_eq!(values(currencies("Total (RM)")), ["MYR"]);
    assert_eq!(values(currencies("amounts in USD")), ["USD"]);
    assert!(currencies("TAX INVOICE").is_empty());
}

#[test]
fn firms_and_people_are_told_by_their_shape() {
    assert!(has_legal_form("Lieferant GmbH"));
    assert!(has_legal_form("SOON HUAT SDN. BHD."));
    assert!(!has_legal_form("Max Mustermann"));
    assert!(organisation_score("Coolblue B.V.") > organisation_score("12345 Stadthausen"));
    assert!(person_score("Mr. Charles Burns") > person_score("Invoice Date"));
}

#[test]
fn lines_of_addresses_are_told_from_others() {
    for line in [
        "NO 2, JALAN BULAN BM U5/BM,",
        "410 Terry Ave North",
        "Kundenstraße 15",
        "P.O. Box 202032",
        "35 rue de la République",
    ] {
        assert!(address_line(line).street > 0.5, "{line}");
    }
    for line in [
        "40150 SHAH ALAM, SELANGOR",
        "New Haven, CT 06520-8283",
        "DE 80333 München",
        "1025 RX Amsterdam",
    ] {
        assert!(address_line(line).place > 0.5, "{line}");
    }
    assert!(address_line("TAX INVOICE").score() < 0.3);
}

proptest! {
    #[test]
    fn nothing_panics_on_any_text(text in "\\PC{0,80}", digits in "[0-9./,:€$ A-Za-z'()%-]{0,60}") {
        for t in [&text, &digits] {
            let ranges: Vec<std::ops::Range<usize>> = dates(t).into_iter().map(|f| f.range)
                .chain(amounts(t, None).into_iter().map(|f| f.range))
                .chain(amounts(t, Some(DecimalStyle::Comma)).into_iter().map(|f| f.range))
                .chain(ibans(t).into_iter().map(|f| f.range))
                .chain(bics(t).into_iter().map(|f| f.range))
                .chain(vat_ids(t).into_iter().map(|f| f.range))
                .chain(tax_numbers(t).into_iter().map(|f| f.range))
                .chain(emails(t).into_iter().map(|f| f.range))
                .chain(urls(t).into_iter().map(|f| f.range))
                .chain(phones(t).into_iter().map(|f| f.range))
                .chain(times(t).into_iter().map(|f| f.range))
                .chain(currencies(t).into_iter().map(|f| f.range))
                .chain(identifiers(t).into_iter().map(|f| f.range))
                .collect();
            for range in ranges {
                prop_assert!(t.get(range.clone()).is_some(), "{range:?} in {t:?}");
            }
            organisation_score(t);
            person_score(t);
            address_line(t);
        }
    }
}
