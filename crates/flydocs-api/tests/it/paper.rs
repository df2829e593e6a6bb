//! Small documents, made from text.

/// A PDF of pages with lines of text.
pub(crate) fn pdf(pages: &[&[&str]]) -> Vec<u8> {
    let mut objects = vec![
        "<< /Type /Catalog /Pages 2 0 R >>".to_owned(),
        String::new(),
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>"
            .to_owned(),
    ];
    let mut kids = Vec::new();
    for lines in pages {
        let mut content = String::from("BT /F1 12 Tf 72 760 Td 16 TL\n");
        for line in *lines {
            content.push_str(&format!("({line}) Tj T*\n"));
        }
        content.push_str("ET");
        let page = objects.len() + 1;
        kids.push(format!("{page} 0 R"));
        objects.push(format!(
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents {} 0 R /Resources << /Font << /F1 3 0 R >> >> >>",
            page + 1
        ));
        objects.push(format!(
            "<< /Length {} >>\nstream\n{content}\nendstream",
            content.len()
        ));
    }
    objects[1] = format!(
        "<< /Type /Pages /Kids [{}] /Count {} >>",
        kids.join(" "),
        kids.len()
    );
    written(&objects, "")
}

fn written(objects: &[String], trailer: &str) -> Vec<u8> {
    let mut text = String::from("%PDF-1.7\n");
    let mut places = Vec::new();
    for (i, object) in objects.iter().enumerate() {
        places.push(text.len());
        text.push_str(&format!("{} 0 obj\n{object}\nendobj\n", i + 1));
    }
    let start = text.len();
    text.push_str(&format!(
        "xref\n0 {}\n0000000000 65535 f \n",
        objects.len() + 1
    ));
    for place in places {
        text.push_str(&format!("{place:010} 00000 n \n"));
    }
    text.push_str(&format!(
        "trailer\n<< /Size {} /Root 1 0 R {trailer} >>\nstartxref\n{start}\n%%EOF\n",
        objects.len() + 1
    ));
    text.into_bytes()
}

/// The invoice of the usual request.
pub(crate) fn invoice() -> Vec<u8> {
    pdf(&[&[
        "INVOICE",
        "Invoice number: RE-2026-0042",
        "Invoice date: 2026-02-01",
        "Total amount: 119.00",
        "Thank you for your order",
    ]])
}

/// A PDF that asks for a password.
pub(crate) fn encrypted() -> Vec<u8> {
    let o = "28".repeat(32);
    let objects = [
        "<< /Type /Catalog /Pages 2 0 R >>".to_owned(),
        "<< /Type /Pages /Kids [] /Count 0 >>".to_owned(),
        format!("<< /Filter /Standard /V 2 /R 3 /Length 128 /P -44 /O <{o}> /U <{o}> >>"),
    ];
    written(
        &objects,
        "/Encrypt 3 0 R /ID [<0123456789abcdef0123456789abcdef> <0123456789abcdef0123456789abcdef>]",
    )
}
