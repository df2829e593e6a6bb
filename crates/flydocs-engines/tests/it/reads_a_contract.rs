use flydocs_engines::LocalLayout;

use crate::page::{member, page, rows, text};

#[test]
fn sentences_say_when_between_whom_how_long_and_under_whose_law() {
    let filler = "Each of them shall keep what it learns to itself and shall use it for no other purpose than the one named here";
    let mut lines = vec![
        (60.0, 60.0, "MUTUAL NONDISCLOSURE AGREEMENT"),
        (
            60.0,
            90.0,
            "This Agreement is made as of February 14, 2007 (the \"Effective Date\") by and between Harrow Mills Inc., a",
        ),
        (
            60.0,
            104.0,
            "Delaware corporation, and Pale Lake LLC, an Ohio company.",
        ),
    ];
    lines.extend((0..12).map(|i| (60.0, 130.0 + 14.0 * f64::from(i), filler)));
    lines.push((
        60.0,
        320.0,
        "This Agreement shall remain in effect for a term of two (2) years from the date hereof.",
    ));
    lines.push((
        60.0,
        334.0,
        "It shall be governed by and construed in accordance with the laws of the State of Oregon.",
    ));
    let spec = serde_json::from_value(serde_json::json!({
        "id": "nda", "field_groups": [{"name": "contract", "fields": [
            {"name": "effective_date", "format": "date"},
            {"name": "jurisdiction", "description": "State whose law governs the contract."},
            {"name": "parties", "type": "array", "items": {"type": "string"}},
            {"name": "term", "description": "Length of the contract."}
        ]}]
    }))
    .unwrap();
    let groups = LocalLayout.read(&[page(1, &lines)], &spec);
    let fields = &groups[0].fields;
    assert_eq!(
        text(member(fields, "effective_date")).as_deref(),
        Some("2007-02-14")
    );
    assert_eq!(
        text(member(fields, "jurisdiction")).as_deref(),
        Some("Oregon")
    );
    assert_eq!(text(member(fields, "term")).as_deref(), Some("2 years"));
    let parties: Vec<String> = rows(member(fields, "parties"))
        .iter()
        .filter_map(text)
        .collect();
    assert_eq!(parties, ["Harrow Mills Inc.", "Pale Lake LLC"]);
}
