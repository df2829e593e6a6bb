//! Extracts every case of an evaluation set through the release binary, the way a user would, and scores it.
//!
//! A set is a folder with `manifest.jsonl` (one case a line: id, files, document_types) and the files; the
//! scorer is `score.py` in that folder or the one above.

use std::{
    collections::{BTreeSet, VecDeque},
    io::Write as _,
    path::{Path, PathBuf},
    process::Command,
    sync::Mutex,
    time::Instant,
};

use anyhow::{Context as _, bail};
use serde_json::{Map, Value, json};

use crate::run;

/// Runs all cases, writes `predictions.jsonl` and `score.json`, prints the scorer's table.
pub(crate) fn run(root: &Path, dir: &Path, out: &Path, only: Option<&str>) -> anyhow::Result<()> {
    let out = root.join(out);
    std::fs::create_dir_all(out.join("types"))?;
    run::cargo(root, &["build", "--release", "--locked", "--quiet"])?;
    let binary = root.join("target/release/flydocs");
    let dir = dir
        .canonicalize()
        .with_context(|| format!("{} is no folder", dir.display()))?;
    let manifest = std::fs::read_to_string(dir.join("manifest.jsonl"))
        .with_context(|| format!("{} has no manifest.jsonl", dir.display()))?;
    let mut cases = VecDeque::new();
    let mut kept = String::new();
    for line in manifest.lines().filter(|line| !line.trim().is_empty()) {
        let case: Value =
            serde_json::from_str(line).context("a line of the manifest is not JSON")?;
        if only.is_none_or(|part| case["id"].as_str().is_some_and(|id| id.contains(part))) {
            cases.push_back(case);
            kept.push_str(line);
            kept.push('\n');
        }
    }
    if cases.is_empty() {
        bail!("no case of {} fits", dir.display());
    }
    let manifest = out.join("manifest.jsonl");
    std::fs::write(&manifest, kept)?;

    let started = Instant::now();
    let total = cases.len();
    let queue = Mutex::new(cases);
    let lines = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(2, usize::from) {
            scope.spawn(|| {
                while let Some(case) = queue.lock().ok().and_then(|mut queue| queue.pop_front()) {
                    let prediction = predict(&binary, &dir, &out, &case).unwrap_or_else(
                        |error| json!({"id": case["id"], "error": format!("{error:#}")}),
                    );
                    if let Ok(mut lines) = lines.lock() {
                        lines.push(prediction);
                    }
                }
            });
        }
    });
    let mut lines = lines
        .into_inner()
        .map_err(|_| anyhow::anyhow!("a case panicked"))?;
    lines.sort_by_key(|line| line["id"].to_string());
    let predictions = out.join("predictions.jsonl");
    let mut file = std::fs::File::create(&predictions)?;
    for line in &lines {
        if let Some(error) = line["error"].as_str() {
            run::say(&format!("eval: {}: {error}", line["id"]));
        }
        writeln!(file, "{line}")?;
    }
    run::say(&format!(
        "eval: {total} cases in {:.1} s",
        started.elapsed().as_secs_f64()
    ));
    let scorer = [dir.join("score.py"), dir.join("../score.py")]
        .into_iter()
        .find(|path| path.is_file())
        .context("there is no score.py in the folder or above it")?;
    run::check(
        Command::new("python3")
            .arg(scorer)
            .arg(manifest)
            .arg(predictions)
            .args(["--per-field", "--json"])
            .arg(out.join("score.json")),
    )
}

fn predict(binary: &Path, dir: &Path, out: &Path, case: &Value) -> anyhow::Result<Value> {
    let id = case["id"].as_str().context("a case has no id")?;
    let types = out.join("types").join(format!("{id}.json"));
    std::fs::write(
        &types,
        json!({"document_types": case["document_types"]}).to_string(),
    )?;
    let files: Vec<PathBuf> = case["files"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .map(|file| dir.join(file))
        .collect();
    let output = Command::new(binary)
        .arg("extract")
        .args(files)
        .arg("--types")
        .arg(types)
        .args(["-o", "jsonl"])
        .output()?;
    if !output.status.success() {
        bail!(
            "{}: {}",
            output.status,
            String::from_utf8_lossy(&output.stderr).trim()
        );
    }
    let arrays = array_paths(case);
    let mut fields = Map::new();
    let mut boxes = Map::new();
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let result: Value = serde_json::from_str(line).context("the result is not JSON")?;
        for document in result["documents"].as_array().into_iter().flatten() {
            for group in document["field_groups"].as_array().into_iter().flatten() {
                let name = group["name"].as_str().unwrap_or_default();
                for field in group["fields"].as_array().into_iter().flatten() {
                    let path = format!("{name}.{}", field["name"].as_str().unwrap_or_default());
                    let shape = if arrays.contains(&path) {
                        Shape::Rows
                    } else {
                        Shape::Members
                    };
                    flatten(field, &path, shape, &mut fields, &mut boxes);
                }
            }
        }
    }
    Ok(json!({"id": id, "fields": fields, "boxes": boxes}))
}

/// What the list in a field's value is: both look the same on the wire, the schema tells them apart.
#[derive(Clone, Copy)]
enum Shape {
    Rows,
    Members,
}

fn array_paths(case: &Value) -> BTreeSet<String> {
    let mut paths = BTreeSet::new();
    for spec in case["document_types"].as_array().into_iter().flatten() {
        for group in spec["field_groups"].as_array().into_iter().flatten() {
            for field in group["fields"]
                .as_array()
                .into_iter()
                .flatten()
                .filter(|f| f["type"] == "array")
            {
                let (group, field) = (group["name"].as_str(), field["name"].as_str());
                paths.insert(format!(
                    "{}.{}",
                    group.unwrap_or_default(),
                    field.unwrap_or_default()
                ));
            }
        }
    }
    paths
}

/// The scorer's flat paths: `group.field`, `group.rows[0].member`.
fn flatten(
    field: &Value,
    path: &str,
    shape: Shape,
    fields: &mut Map<String, Value>,
    boxes: &mut Map<String, Value>,
) {
    match &field["value"] {
        Value::Null => {}
        Value::Array(children) => {
            for (i, child) in children.iter().enumerate() {
                let path = match shape {
                    Shape::Rows => format!("{path}[{i}]"),
                    Shape::Members => {
                        format!("{path}.{}", child["name"].as_str().unwrap_or_default())
                    }
                };
                // The sets hold no deeper nesting than rows of members.
                flatten(child, &path, Shape::Members, fields, boxes);
            }
        }
        value => {
            fields.insert(path.to_owned(), value.clone());
            let bbox = &field["bbox"];
            if let (Some(page), true) = (field["pages"][0].as_u64(), bbox.is_object()) {
                boxes.insert(
                    path.to_owned(),
                    json!({"page": page, "xmin": bbox["xmin"], "ymin": bbox["ymin"],
                        "xmax": bbox["xmax"], "ymax": bbox["ymax"]}),
                );
            }
        }
    }
}
