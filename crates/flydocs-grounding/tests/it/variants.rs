//! Each way a value may be written on the page.

use flydocs_contract::{Field, FieldValue};
use flydocs_grounding::{Matcher, Options, match_value};

use crate::paper::{page, text, texts};

fn found(value: &FieldValue, on: &str) -> Option<(String, f64)> {
    let page = page(1, on);
    let hit = match_value(value, None, &page, &Options::default())?;
    Some((texts(&page, &hit.words).join(" "), hit.score))
}

#[test]
fn every_variant_finds_its_value() {
    for (value, on, words, score) in [
        // the literal
        (text("ACME Corp"), "from ACME Corp today", "ACME Corp", 1.0),
        (
            text("  acme   CORP "),
            "from ACME Corp today",
            "ACME Corp",
            1.0,
        ),
        (
            text("ACME Corp"),
            "from ACME Corp, today",
            "ACME Corp,",
            1.0,
        ),
        (text("ACME"), "(ACME)", "(ACME)", 1.0),
        (text("STRASSE 5"), "in Stra\u{df}e 5", "Stra\u{df}e 5", 1.0),
        (text("caf\u{e9}"), "cafe\u{301}", "cafe\u{301}", 1.0),
        (text("x"), "a x b", "x", 1.0),
        // punctuation as spaces
        (
            text("INV-2024/001"),
            "No INV 2024 001 x",
            "INV 2024 001",
            1.0,
        ),
        (
            text("INV 2024 001"),
            "No INV-2024/001 x",
            "INV-2024/001",
            1.0,
        ),
        (text("O'Neil"), "Mr O\u{2019}Neil", "O\u{2019}Neil", 1.0),
        // glued to a label
        (text("INV-7"), "Number:INV-7 x", "Number:INV-7", 1.0),
        (
            FieldValue::Integer(1250),
            "Total:1,250 x",
            "Total:1,250",
            1.0,
        ),
        // digits joined
        (text("600 123 456"), "Tel 600.123.456", "600.123.456", 1.0),
        (text("600123456"), "Tel 600 12 34 56", "600 12 34 56", 1.0),
        (
            FieldValue::Integer(600_123_456),
            "Tel 600 123 456",
            "600 123 456",
            1.0,
        ),
        // amounts
        (
            FieldValue::Number(1234.5),
            "Sum 1,234.50 EUR",
            "1,234.50",
            1.0,
        ),
        (
            FieldValue::Number(1234.5),
            "Sum 1.234,50 EUR",
            "1.234,50",
            1.0,
        ),
        (
            FieldValue::Number(1234.5),
            "Sum 1 234,50 EUR",
            "1 234,50",
            1.0,
        ),
        (
            FieldValue::Number(1234.5),
            "Sum 1'234.50 EUR",
            "1'234.50",
            1.0,
        ),
        (
            FieldValue::Number(1234.5),
            "Sum $1,234.50",
            "$1,234.50",
            1.0,
        ),
        (
            FieldValue::Number(1234.5),
            "Sum EUR1234.50",
            "EUR1234.50",
            1.0,
        ),
        (FieldValue::Number(5.0), "Sum 5,00", "5,00", 1.0),
        (FieldValue::Integer(1234), "Sum 1234.00", "1234.00", 1.0),
        (
            FieldValue::Number(-12.5),
            "Sum 12.50 or -12.50",
            "-12.50",
            1.0,
        ),
        (
            FieldValue::Number(12.5),
            "Sum -12.50 or 12.50",
            "12.50",
            1.0,
        ),
        (FieldValue::Number(-12.5), "Sum (12.50)", "(12.50)", 1.0),
        (text("1,234.50"), "Sum 1.234,50 EUR", "1.234,50", 1.0),
        (FieldValue::Integer(1), "1 234 or 1", "1", 1.0),
        (FieldValue::Number(21.0), "VAT 21%", "21%", 1.0),
        // dates
        (text("2026-01-03"), "on 2026-01-03.", "2026-01-03.", 1.0),
        (text("2026-01-03"), "on 03/01/2026", "03/01/2026", 1.0),
        (text("2026-01-03"), "on 3 Jan 2026", "3 Jan 2026", 1.0),
        (
            text("2026-01-03"),
            "on January 3, 2026",
            "January 3, 2026",
            1.0,
        ),
        (
            text("2026-01-03"),
            "am 3. Januar 2026",
            "3. Januar 2026",
            1.0,
        ),
        (
            text("2026-01-03"),
            "a 3 de enero de 2026",
            "3 de enero de 2026",
            1.0,
        ),
        (
            text("2026-01-03"),
            "Date:03.01.2026",
            "Date:03.01.2026",
            1.0,
        ),
        (
            text("2026-01-03"),
            "\u{65e5}\u{4ed8}2026\u{5e74}1\u{6708}3\u{65e5}\u{767a}\u{884c}",
            "\u{65e5}\u{4ed8}2026\u{5e74}1\u{6708}3\u{65e5}\u{767a}\u{884c}",
            1.0,
        ),
        // windows of characters
        (
            text("\u{6771}\u{4eac}\u{90fd}"),
            "\u{4f4f}\u{6240} \u{6771} \u{4eac} \u{90fd} x",
            "\u{6771} \u{4eac} \u{90fd}",
            1.0,
        ),
        (
            text("\u{6771}\u{4eac}\u{90fd}\u{6e2f}\u{533a}"),
            "\u{4f4f}\u{6240}:\u{6771}\u{4eac}\u{90fd}\u{6e2f}\u{533a}1-2",
            "\u{4f4f}\u{6240}:\u{6771}\u{4eac}\u{90fd}\u{6e2f}\u{533a}1-2",
            1.0,
        ),
        (
            text("\u{e01}\u{e23}\u{e38}\u{e07}\u{e40}\u{e17}\u{e1e}"),
            "\u{e17}\u{e35}\u{e48}\u{e01}\u{e23}\u{e38}\u{e07}\u{e40}\u{e17}\u{e1e}",
            "\u{e17}\u{e35}\u{e48}\u{e01}\u{e23}\u{e38}\u{e07}\u{e40}\u{e17}\u{e1e}",
            1.0,
        ),
        // similarity: 2 * 8 / (9 + 9)
        (
            text("Acme Corp"),
            "from Acme C0rp today",
            "Acme C0rp",
            0.8889,
        ),
        // 2 * 12 / (12 + 14): one window of three words for a target of two
        (
            text("Jane Doe-Ray"),
            "for Jane D oe-R ay now",
            "Jane D oe-R ay",
            0.9231,
        ),
        (text("12345678"), "id 1234567B", "1234567B", 0.875),
        (
            text("\u{682a}\u{5f0f}\u{4f1a}\u{793e}\u{65e5}\u{672c}\u{96fb}\u{6c17}"),
            "\u{682a}\u{5f0f}\u{4f1a}\u{793e}\u{65e5}\u{672c}\u{96fb}\u{6a5f}",
            "\u{682a}\u{5f0f}\u{4f1a}\u{793e}\u{65e5}\u{672c}\u{96fb}\u{6a5f}",
            0.9333,
        ),
    ] {
        assert_eq!(
            found(&value, on),
            Some((words.to_owned(), score)),
            "{value:?} on {on:?}"
        );
    }
}

#[test]
fn what_is_another_value_is_not_found() {
    for (value, on) in [
        (text("Acme Corp"), "from Acne Corporation"),
        (FieldValue::Integer(100), "Sum 1000"),
        (FieldValue::Integer(12), "at 12.50 and 12/2026 and A12"),
        (FieldValue::Number(1234.5), "Sum 12345 or 1,234.60"),
        (FieldValue::Integer(15), "Sum 1.5"),
        // two columns are not one number
        (FieldValue::Integer(12_345), "12          345"),
        (text("2026-01-03"), "on 2026-01-08"),
        (text("2026-06-15"), "a 15 de julio de 2026"),
        (FieldValue::Boolean(true), "true"),
        (FieldValue::Number(f64::NAN), "NaN"),
        (text("   "), "a b"),
        (text("x"), ""),
    ] {
        assert_eq!(found(&value, on), None, "{value:?} on {on:?}");
    }
}

#[test]
fn a_value_of_thirty_words_is_found() {
    let long: Vec<String> = (0..30).map(|at| format!("word{at}")).collect();
    let on = format!(
        "before it\n{}\n{}\nafter it",
        long[..17].join(" "),
        long[17..].join(" ")
    );
    let (words, score) = found(&text(&long.join(" ")), &on).unwrap();
    assert_eq!((words.split(' ').count(), score), (30, 1.0));
    // and with noise in it
    let noisy = on.replace("word9", "w0rd9").replace("word21", "word 21");
    let (words, score) = found(&text(&long.join(" ")), &noisy).unwrap();
    assert_eq!(words.split(' ').count(), 31);
    assert!((0.97..1.0).contains(&score), "{score}");
}

#[test]
fn of_equal_places_the_one_near_its_label_is_chosen() {
    let page = page(
        1,
        "Subtotal                 100.00\n\
         VAT 0%                     0.00\n\
         Total                    100.00\n",
    );
    let matcher = Matcher::new(&page, 0.85);
    let line = |name: &str, description: Option<&str>| {
        let field = Field {
            name: name.to_owned(),
            description: description.map(str::to_owned),
            ..Field::default()
        };
        let hit = matcher
            .find(&FieldValue::Integer(100), Some(&field))
            .unwrap();
        page.words[*hit.words.start()].line
    };
    assert_eq!(line("subtotal", None), 0);
    assert_eq!(line("total", None), 2);
    assert_eq!(line("totalDue", None), 2);
    assert_eq!(line("amount", Some("The total to be paid")), 2);
    assert_eq!(line("net", Some("the Subtotal before tax")), 0);
    // the page has no such word: first in reading order
    assert_eq!(line("price", None), 0);
}
