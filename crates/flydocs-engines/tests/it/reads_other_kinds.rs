//! Kinds of documents in several languages, made for these tests: what stands on the page must come back.

use flydocs_contract::request::DocumentTypeSpec;
use flydocs_engines::LocalLayout;
use serde_json::{Value, json};

use crate::page::{member, page, rows, text};

/// A page, the fields of its type, and what they must be.
struct Kind {
    name: &'static str,
    parts: &'static [(f64, f64, &'static str)],
    fields: Value,
    expected: &'static [(&'static str, Option<&'static str>)],
}

fn read(kind: &Kind) -> Vec<String> {
    let spec: DocumentTypeSpec = serde_json::from_value(json!({
        "id": "t", "field_groups": [{"name": "g", "fields": kind.fields}]
    }))
    .unwrap();
    let groups = LocalLayout.read(&[page(1, kind.parts)], &spec);
    kind.expected
        .iter()
        .filter_map(|(path, wanted)| {
            let mut fields = &groups[0].fields[..];
            let mut steps: Vec<&str> = path.split('.').collect();
            let last = steps.pop().unwrap();
            for step in steps {
                let at: Option<usize> = step.parse().ok();
                let field = at.map_or_else(|| Some(member(fields, step)), |at| fields.get(at));
                fields = field.map_or(&[], rows);
            }
            let field = fields.iter().find(|f| f.name == last);
            let got = field.and_then(text);
            (got.as_deref() != *wanted)
                .then(|| format!("{}: {path}: {got:?} instead of {wanted:?}", kind.name))
        })
        .collect()
}

fn check(kind: &Kind) {
    let wrong = read(kind);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_bank_statement() {
    check(&Kind {
        name: "statement",
        parts: &[
            (60.0, 50.0, "Harbour Savings Bank"),
            (60.0, 90.0, "Account holder:"),
            (180.0, 90.0, "Ingrid Solberg"),
            (60.0, 104.0, "IBAN:"),
            (180.0, 104.0, "DE89 3704 0044 0532 0130 00"),
            (60.0, 118.0, "Statement period:"),
            (180.0, 118.0, "1 March 2024 - 31 March 2024"),
            (60.0, 132.0, "Opening balance"),
            (480.0, 132.0, "1,200.00"),
            (60.0, 170.0, "Date"),
            (140.0, 170.0, "Description"),
            (380.0, 170.0, "Amount"),
            (480.0, 170.0, "Balance"),
            (60.0, 186.0, "04/03/2024"),
            (140.0, 186.0, "Rent March"),
            (380.0, 186.0, "-850.00"),
            (480.0, 186.0, "350.00"),
            (60.0, 202.0, "15/03/2024"),
            (140.0, 202.0, "Salary"),
            (375.0, 202.0, "2,100.00"),
            (475.0, 202.0, "2,450.00"),
            (60.0, 230.0, "Closing balance"),
            (475.0, 230.0, "2,450.00"),
        ],
        fields: json!([
            {"name": "account_holder"}, {"name": "iban"},
            {"name": "opening_balance", "type": "number"}, {"name": "closing_balance", "type": "number"},
            {"name": "transactions", "type": "array", "items": {"name": "t", "type": "object", "fields": [
                {"name": "date", "format": "date"}, {"name": "description"}, {"name": "amount", "type": "number"}, {"name": "balance", "type": "number"}]}}
        ]),
        expected: &[
            ("account_holder", Some("Ingrid Solberg")),
            ("iban", Some("DE89370400440532013000")),
            ("opening_balance", Some("1200")),
            ("closing_balance", Some("2450")),
            ("transactions.0.date", Some("2024-03-04")),
            ("transactions.0.description", Some("Rent March")),
            ("transactions.0.amount", Some("-850")),
            ("transactions.1.amount", Some("2100")),
            ("transactions.1.balance", Some("2450")),
            ("transactions.1.date", Some("2024-03-15")),
        ],
    });
}

#[test]
fn a_german_payslip() {
    check(&Kind {
        name: "payslip",
        parts: &[
            (60.0, 50.0, "Entgeltabrechnung März 2024"),
            (60.0, 80.0, "Personalnummer"),
            (200.0, 80.0, "004711"),
            (60.0, 94.0, "Name"),
            (200.0, 94.0, "Jonas Behrens"),
            (60.0, 108.0, "Geburtsdatum"),
            (200.0, 108.0, "7. Januar 1988"),
            (60.0, 122.0, "Steuerklasse"),
            (200.0, 122.0, "III"),
            (60.0, 136.0, "Eintritt"),
            (200.0, 136.0, "01.04.2019"),
            (60.0, 180.0, "Gesamtbrutto"),
            (470.0, 180.0, "4.250,00"),
            (60.0, 194.0, "Lohnsteuer"),
            (475.0, 194.0, "412,33"),
            (60.0, 208.0, "Gesetzliches Netto"),
            (470.0, 208.0, "2.987,10"),
            (60.0, 222.0, "Auszahlungsbetrag"),
            (470.0, 222.0, "2.987,10"),
        ],
        fields: json!([
            {"name": "personalnummer"}, {"name": "name", "description": "Name des Arbeitnehmers"},
            {"name": "geburtsdatum", "format": "date"}, {"name": "steuerklasse"},
            {"name": "lohnsteuer", "type": "number"}, {"name": "gesamtbrutto", "type": "number"},
            {"name": "auszahlungsbetrag", "type": "number"}
        ]),
        expected: &[
            ("personalnummer", Some("004711")),
            ("name", Some("Jonas Behrens")),
            ("geburtsdatum", Some("1988-01-07")),
            ("steuerklasse", Some("III")),
            ("lohnsteuer", Some("412.33")),
            ("gesamtbrutto", Some("4250")),
            ("auszahlungsbetrag", Some("2987.1")),
        ],
    });
}

#[test]
fn a_purchase_order_with_nested_parties_and_lines() {
    check(&Kind {
        name: "order",
        parts: &[
            (60.0, 50.0, "PURCHASE ORDER"),
            (380.0, 50.0, "PO Number: PO-88123"),
            (380.0, 64.0, "Order date: May 3, 2024"),
            (60.0, 100.0, "Vendor"),
            (330.0, 100.0, "Ship to"),
            (60.0, 114.0, "Brightwater Supplies Inc."),
            (330.0, 114.0, "Quarry Lane School"),
            (60.0, 128.0, "88 Dock Street"),
            (330.0, 128.0, "5 Quarry Lane"),
            (60.0, 142.0, "Portland, OR 97201"),
            (330.0, 142.0, "Salem, OR 97301"),
            (60.0, 200.0, "Item"),
            (120.0, 200.0, "Description"),
            (330.0, 200.0, "Qty"),
            (400.0, 200.0, "Price"),
            (480.0, 200.0, "Total"),
            (60.0, 216.0, "A-1"),
            (120.0, 216.0, "Copy paper A4"),
            (335.0, 216.0, "10"),
            (400.0, 216.0, "4.20"),
            (480.0, 216.0, "42.00"),
            (60.0, 232.0, "B-7"),
            (120.0, 232.0, "Staples"),
            (340.0, 232.0, "3"),
            (400.0, 232.0, "1.50"),
            (485.0, 232.0, "4.50"),
            (400.0, 260.0, "Total"),
            (480.0, 260.0, "$46.50"),
            (
                60.0,
                300.0,
                "Contact: Dana Reed, dana.reed@quarry.example, +1 503 555 0142",
            ),
        ],
        fields: json!([
            {"name": "po_number"}, {"name": "order_date", "format": "date"},
            {"name": "vendor", "type": "object", "fields": [{"name": "name"}, {"name": "address"}]},
            {"name": "ship_to", "type": "object", "fields": [{"name": "name"}, {"name": "address"}]},
            {"name": "email", "format": "email"}, {"name": "phone"}, {"name": "total", "type": "number"},
            {"name": "items", "type": "array", "items": {"name": "item", "type": "object", "fields": [
                {"name": "description"}, {"name": "quantity", "type": "integer"}, {"name": "price", "type": "number"}, {"name": "total", "type": "number"}]}}
        ]),
        expected: &[
            ("po_number", Some("PO-88123")),
            ("order_date", Some("2024-05-03")),
            ("vendor.name", Some("Brightwater Supplies Inc.")),
            ("vendor.address", Some("88 Dock Street Portland, OR 97201")),
            ("ship_to.name", Some("Quarry Lane School")),
            ("ship_to.address", Some("5 Quarry Lane Salem, OR 97301")),
            ("email", Some("dana.reed@quarry.example")),
            ("total", Some("46.5")),
            ("items.0.description", Some("Copy paper A4")),
            ("items.0.quantity", Some("10")),
            ("items.1.price", Some("1.5")),
            ("items.1.total", Some("4.5")),
        ],
    });
}

#[test]
fn a_french_delivery_note_and_a_description_as_the_only_hint() {
    check(&Kind {
        name: "bon de livraison",
        parts: &[
            (60.0, 50.0, "BON DE LIVRAISON"),
            (60.0, 80.0, "N° BL :"),
            (180.0, 80.0, "BL-2024-553"),
            (60.0, 94.0, "Date de livraison :"),
            (180.0, 94.0, "12 février 2024"),
            (60.0, 108.0, "Transporteur :"),
            (180.0, 108.0, "Transports Girard SARL"),
            (60.0, 122.0, "Nombre de colis :"),
            (180.0, 122.0, "14"),
            (60.0, 136.0, "Poids brut :"),
            (180.0, 136.0, "382,5 kg"),
            (60.0, 150.0, "Remise :"),
            (180.0, 150.0, "12,5 %"),
        ],
        fields: json!([
            {"name": "f1", "description": "Numéro du bon de livraison (N° BL)"},
            {"name": "f2", "description": "Date de livraison", "format": "date"},
            {"name": "f3", "description": "Transporteur"},
            {"name": "nombre_de_colis", "type": "integer"},
            {"name": "poids_brut", "type": "number"},
            {"name": "remise", "type": "number", "description": "Remise en pourcent"}
        ]),
        expected: &[
            ("f1", Some("BL-2024-553")),
            ("f2", Some("2024-02-12")),
            ("f3", Some("Transports Girard SARL")),
            ("nombre_de_colis", Some("14")),
            ("poids_brut", Some("382.5")),
            ("remise", Some("12.5")),
        ],
    });
}

#[test]
fn a_spanish_identity_card() {
    check(&Kind {
        name: "dni",
        parts: &[
            (60.0, 50.0, "DOCUMENTO NACIONAL DE IDENTIDAD"),
            (60.0, 80.0, "APELLIDOS"),
            (60.0, 94.0, "GARCÍA LORENTE"),
            (60.0, 118.0, "NOMBRE"),
            (60.0, 132.0, "LUCÍA"),
            (60.0, 156.0, "SEXO"),
            (180.0, 156.0, "NACIONALIDAD"),
            (60.0, 170.0, "F"),
            (180.0, 170.0, "ESP"),
            (60.0, 194.0, "FECHA DE NACIMIENTO"),
            (60.0, 208.0, "14 03 1991"),
            (60.0, 232.0, "DNI"),
            (90.0, 232.0, "12345678Z"),
            (60.0, 256.0, "VALIDEZ"),
            (60.0, 270.0, "30 09 2031"),
        ],
        fields: json!([
            {"name": "apellidos"}, {"name": "nombre"}, {"name": "sexo", "enum": ["M", "F"]},
            {"name": "nacionalidad"}, {"name": "fecha_nacimiento", "description": "Fecha de nacimiento", "format": "date"},
            {"name": "dni", "validators": [{"name": "nif"}]}, {"name": "validez", "format": "date"}
        ]),
        expected: &[
            ("apellidos", Some("GARCÍA LORENTE")),
            ("nombre", Some("LUCÍA")),
            ("sexo", Some("F")),
            ("nacionalidad", Some("ESP")),
            ("fecha_nacimiento", Some("1991-03-14")),
            ("dni", Some("12345678Z")),
            ("validez", Some("2031-09-30")),
        ],
    });
}

#[test]
fn an_italian_a_portuguese_a_dutch_and_a_polish_invoice() {
    const EXPECTED: &[(&str, Option<&str>)] = &[
        ("invoice_number", Some("2024/118")),
        ("issue_date", Some("2024-03-05")),
        ("due_date", Some("2024-04-04")),
        ("net_total", Some("1000")),
        ("tax_total", Some("220")),
        ("total", Some("1220")),
    ];
    let fields = || {
        json!([
            {"name": "invoice_number"}, {"name": "issue_date", "format": "date"}, {"name": "due_date", "format": "date"},
            {"name": "net_total", "type": "number"}, {"name": "tax_total", "type": "number"}, {"name": "total", "type": "number"}
        ])
    };
    for (name, parts) in [
        (
            "it",
            &[
                (60.0, 80.0, "Fattura n. 2024/118"),
                (60.0, 94.0, "Data: 5 marzo 2024"),
                (60.0, 108.0, "Scadenza: 4 aprile 2024"),
                (60.0, 150.0, "Imponibile"),
                (300.0, 150.0, "1.000,00"),
                (60.0, 164.0, "IVA 22%"),
                (300.0, 164.0, "220,00"),
                (60.0, 178.0, "Totale fattura"),
                (300.0, 178.0, "1.220,00"),
            ][..],
        ),
        (
            "pt",
            &[
                (60.0, 80.0, "Fatura n.º 2024/118"),
                (60.0, 94.0, "Data de emissão: 5 de março de 2024"),
                (60.0, 108.0, "Data de vencimento: 4 de abril de 2024"),
                (60.0, 150.0, "Subtotal"),
                (300.0, 150.0, "1.000,00"),
                (60.0, 164.0, "IVA 22%"),
                (300.0, 164.0, "220,00"),
                (60.0, 178.0, "Total com IVA"),
                (300.0, 178.0, "1.220,00"),
            ][..],
        ),
        (
            "nl",
            &[
                (60.0, 80.0, "Factuurnummer: 2024/118"),
                (60.0, 94.0, "Factuurdatum: 5 maart 2024"),
                (60.0, 108.0, "Vervaldatum: 4 april 2024"),
                (60.0, 150.0, "Subtotaal"),
                (300.0, 150.0, "€ 1.000,00"),
                (60.0, 164.0, "BTW 22%"),
                (300.0, 164.0, "€ 220,00"),
                (60.0, 178.0, "Totaal incl. btw"),
                (300.0, 178.0, "€ 1.220,00"),
            ][..],
        ),
        (
            "pl",
            &[
                (60.0, 80.0, "Faktura VAT nr 2024/118"),
                (60.0, 94.0, "Data wystawienia: 5 marca 2024"),
                (60.0, 108.0, "Termin płatności: 4 kwietnia 2024"),
                (60.0, 150.0, "Wartość netto"),
                (300.0, 150.0, "1 000,00 zł"),
                (60.0, 164.0, "Kwota VAT"),
                (300.0, 164.0, "220,00 zł"),
                (60.0, 178.0, "Razem brutto"),
                (300.0, 178.0, "1 220,00 zł"),
            ][..],
        ),
        (
            "es",
            &[
                (60.0, 80.0, "Factura nº: 2024/118"),
                (60.0, 94.0, "Fecha de emisión: 5 de marzo de 2024"),
                (60.0, 108.0, "Fecha de vencimiento: 4 de abril de 2024"),
                (60.0, 150.0, "Base imponible"),
                (300.0, 150.0, "1.000,00 €"),
                (60.0, 164.0, "IVA 22 %"),
                (300.0, 164.0, "220,00 €"),
                (60.0, 178.0, "Importe total"),
                (300.0, 178.0, "1.220,00 €"),
            ][..],
        ),
    ] {
        check(&Kind {
            name,
            parts,
            fields: fields(),
            expected: EXPECTED,
        });
    }
}

#[test]
fn a_bill_of_lading() {
    check(&Kind {
        name: "lading",
        parts: &[
            (200.0, 40.0, "BILL OF LADING"),
            (60.0, 80.0, "Shipper"),
            (330.0, 80.0, "B/L No."),
            (60.0, 94.0, "Amber Coast Exports Ltd"),
            (330.0, 94.0, "HKG-7741209"),
            (60.0, 108.0, "7 Quay Road, Harwich CO12 3HH"),
            (60.0, 140.0, "Consignee"),
            (60.0, 154.0, "Polar Foods AS"),
            (60.0, 168.0, "Havnegata 9, 7010 Trondheim"),
            (60.0, 200.0, "Vessel"),
            (200.0, 200.0, "Port of loading"),
            (380.0, 200.0, "Port of discharge"),
            (60.0, 214.0, "MV Solveig"),
            (200.0, 214.0, "Harwich"),
            (380.0, 214.0, "Trondheim"),
            (60.0, 240.0, "Gross weight: 18,250 kg"),
            (60.0, 254.0, "Number of packages: 412"),
        ],
        fields: json!([
            {"name": "bl_number", "description": "B/L No."}, {"name": "shipper"}, {"name": "consignee"},
            {"name": "vessel"}, {"name": "port_of_loading"}, {"name": "port_of_discharge"},
            {"name": "gross_weight", "type": "number"}, {"name": "number_of_packages", "type": "integer"}
        ]),
        expected: &[
            ("bl_number", Some("HKG-7741209")),
            ("shipper", Some("Amber Coast Exports Ltd")),
            ("consignee", Some("Polar Foods AS")),
            ("vessel", Some("MV Solveig")),
            ("port_of_loading", Some("Harwich")),
            ("port_of_discharge", Some("Trondheim")),
            ("gross_weight", Some("18250")),
            ("number_of_packages", Some("412")),
        ],
    });
}
