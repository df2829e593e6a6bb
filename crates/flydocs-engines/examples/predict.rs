//! Reads cached words of pages and writes predictions for the scorer: `predict MANIFEST WORDS_DIR OUT`.

use std::{fs, io::Write as _, path::Path, sync::Arc, time::Instant};

use flydocs_contract::{ExtractedField, FieldValue, PageWords, request::DocumentTypeSpec};
use flydocs_engines::LocalLayout;
use serde_json::{Map, Value, json};

#[derive(serde::Deserialize)]
struct Case {
    id: String,
    document_type: String,
    document_types: Vec<DocumentTypeSpec>,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, manifest, words, out] = arguments.as_slice() else {
        return Err("predict MANIFEST WORDS_DIR OUT".into());
    };
    let mut file = std::io::BufWriter::new(fs::File::create(out)?);
    let (mut pages_read, mut seconds) = (0, 0.0);
    for line in fs::read_to_string(manifest)?.lines() {
        let case: Case = serde_json::from_str(line)?;
        let path = Path::new(words).join(format!("{}.json", case.id));
        let Ok(text) = fs::read_to_string(&path) else {
            continue;
        };
        let pages: Vec<Arc<PageWords>> = serde_json::from_str(&text)?;
        let Some(spec) = case
            .document_types
            .iter()
            .find(|t| t.id == case.document_type)
        else {
            continue;
        };
        let started = Instant::now();
        let groups = LocalLayout.read(&pages, spec);
        seconds += started.elapsed().as_secs_f64();
        pages_read += pages.len();
        let (mut fields, mut boxes, mut confidence) = (Map::new(), Map::new(), Map::new());
        for group in &groups {
            for field in &group.fields {
                let path = format!("{}.{}", group.name, field.name);
                flatten(&path, field, &mut fields, &mut boxes, &mut confidence);
            }
        }
        writeln!(
            file,
            "{}",
            json!({"id": case.id, "fields": fields, "boxes": boxes, "confidence": confidence})
        )?;
    }
    let speed = pages_read as f64 / seconds;
    fs::write(
        format!("{out}.speed"),
        format!("{pages_read} pages, {speed:.1} pages/s\n"),
    )?;
    Ok(())
}

fn flatten(
    path: &str,
    field: &ExtractedField,
    fields: &mut Map<String, Value>,
    boxes: &mut Map<String, Value>,
    confidence: &mut Map<String, Value>,
) {
    match &field.value {
        None => return,
        Some(FieldValue::Fields(inner)) => {
            // The rows of an array carry its name (or that of its items), the members of an object their own.
            let rows = inner.iter().all(|f| f.name == inner[0].name)
                && (inner[0].name == field.name
                    || inner.len() > 1
                    || matches!(inner[0].value, Some(FieldValue::Fields(_))));
            for (at, member) in inner.iter().enumerate() {
                let path = if rows {
                    format!("{path}[{at}]")
                } else {
                    format!("{path}.{}", member.name)
                };
                flatten(&path, member, fields, boxes, confidence);
            }
            return;
        }
        Some(value) => {
            fields.insert(path.to_owned(), json!(value));
        }
    }
    confidence.insert(path.to_owned(), json!(field.confidence));
    if let (Some(b), Some(page)) = (&field.bbox, field.pages.first()) {
        boxes.insert(
            path.to_owned(),
            json!({"page": page, "xmin": b.xmin, "ymin": b.ymin, "xmax": b.xmax, "ymax": b.ymax}),
        );
    }
}
