//! Learns the weights of the confidence: `calibrate MANIFEST WORDS_DIR OUT`.
//!
//! Only cases whose `license_class` is `open` take part. A logistic regression with a ridge, by Newton steps; the
//! cross-validated figures leave whole cases out (five folds). OUT gets the form of `data/confidence.txt`.

use std::{collections::BTreeMap, fmt::Write as _, fs, path::Path, sync::Arc};

use flydocs_contract::{ExtractedField, FieldValue, PageWords, request::DocumentTypeSpec};
use flydocs_engines::LocalLayout;
use serde_json::Value;

const FOLDS: usize = 5;
const RIDGE: f64 = 1.0;

#[derive(serde::Deserialize)]
struct Case {
    id: String,
    document_type: String,
    document_types: Vec<DocumentTypeSpec>,
    expected: BTreeMap<String, Value>,
    #[serde(default)]
    absent: Vec<String>,
    license_class: String,
}

struct Sample {
    case: usize,
    features: Vec<f64>,
    right: bool,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, manifest, words, out] = arguments.as_slice() else {
        return Err("calibrate MANIFEST WORDS_DIR OUT".into());
    };
    let mut names: Vec<&'static str> = Vec::new();
    let mut samples = Vec::new();
    let mut cases = 0;
    for line in fs::read_to_string(manifest)?.lines() {
        let case: Case = serde_json::from_str(line)?;
        if case.license_class != "open" {
            continue;
        }
        let Ok(text) = fs::read_to_string(Path::new(words).join(format!("{}.json", case.id)))
        else {
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
        let verdicts = verdicts(&case, &LocalLayout.read(&pages, spec));
        for (path, features) in LocalLayout.calibration_features(&pages, spec) {
            let Some(right) = verdicts.get(&path) else {
                continue;
            };
            names = features.iter().map(|(name, _)| *name).collect();
            samples.push(Sample {
                case: cases,
                features: features.iter().map(|(_, x)| *x).collect(),
                right: *right,
            });
        }
        cases += 1;
    }
    let all: Vec<&Sample> = samples.iter().collect();
    let weights = fit(&all, names.len());
    let plain: Vec<(f64, bool)> = samples
        .iter()
        .map(|s| (predict(&weights, s), s.right))
        .collect();
    let mut crossed = Vec::new();
    for fold in 0..FOLDS {
        let train: Vec<&Sample> = samples.iter().filter(|s| s.case % FOLDS != fold).collect();
        let weights = fit(&train, names.len());
        crossed.extend(
            samples
                .iter()
                .filter(|s| s.case % FOLDS == fold)
                .map(|s| (predict(&weights, s), s.right)),
        );
    }
    let mut text = String::from(
        "# Weights of the calibration (see docs/reading.md). Made by examples/calibrate.\n",
    );
    writeln!(
        text,
        "# {} values of {cases} open cases, {} right",
        samples.len(),
        samples.iter().filter(|s| s.right).count()
    )?;
    writeln!(text, "# plain: {}", summary(&plain))?;
    writeln!(text, "# cross-validated by case: {}", summary(&crossed))?;
    for (name, weight) in names.iter().zip(&weights) {
        writeln!(text, "{name} {weight:.4}")?;
    }
    fs::write(out, text)?;
    Ok(())
}

/// By path: whether a value is right. Paths whose truth is unknown are left out.
fn verdicts(
    case: &Case,
    groups: &[flydocs_contract::result::ExtractedFieldGroup],
) -> BTreeMap<String, bool> {
    let mut verdicts = BTreeMap::new();
    for group in groups {
        for field in &group.fields {
            let path = format!("{}.{}", group.name, field.name);
            let absent = case.absent.contains(&path);
            match (&field.value, case.expected.get(&path)) {
                (Some(FieldValue::Fields(rows)), Some(Value::Array(truth))) => {
                    table(&path, rows, truth, &mut verdicts);
                }
                (Some(FieldValue::Fields(_)), _) => {}
                (Some(value), Some(truth)) => {
                    verdicts.insert(path, same(value, truth));
                }
                (Some(_), None) if absent => {
                    verdicts.insert(path, false);
                }
                _ => {}
            }
        }
    }
    verdicts
}

/// Rows are matched to the true rows with which they share most cells.
fn table(
    path: &str,
    rows: &[ExtractedField],
    truth: &[Value],
    verdicts: &mut BTreeMap<String, bool>,
) {
    let cell = |row: &ExtractedField, truth: &Value| -> Vec<(String, bool)> {
        let Some(FieldValue::Fields(members)) = &row.value else {
            return Vec::new();
        };
        members
            .iter()
            .filter_map(|m| {
                let wanted = truth.get(&m.name)?;
                m.value.as_ref().map(|v| (m.name.clone(), same(v, wanted)))
            })
            .collect()
    };
    let mut taken = vec![false; truth.len()];
    for (at, row) in rows.iter().enumerate() {
        let best = (0..truth.len()).filter(|t| !taken[*t]).max_by_key(|t| {
            (
                cell(row, &truth[*t]).iter().filter(|(_, ok)| *ok).count(),
                usize::MAX - t.abs_diff(at),
            )
        });
        let Some(best) = best else { continue };
        taken[best] = true;
        for (name, right) in cell(row, &truth[best]) {
            verdicts.insert(format!("{path}[{at}].{name}"), right);
        }
    }
}

fn same(value: &FieldValue, truth: &Value) -> bool {
    let plain = |t: &str| {
        t.chars()
            .filter(|c| c.is_alphanumeric())
            .flat_map(char::to_lowercase)
            .collect::<String>()
    };
    match (value, truth) {
        (FieldValue::Number(n), t) => t.as_f64().is_some_and(|t| (t - n).abs() <= 0.005),
        (FieldValue::Integer(n), t) => t.as_f64().is_some_and(|t| (t - *n as f64).abs() <= 0.005),
        (FieldValue::Boolean(b), t) => t.as_bool() == Some(*b),
        (FieldValue::String(s), Value::String(t)) => plain(s) == plain(t),
        _ => false,
    }
}

fn predict(weights: &[f64], sample: &Sample) -> f64 {
    let sum: f64 = weights
        .iter()
        .zip(&sample.features)
        .map(|(w, x)| w * x)
        .sum();
    1.0 / (1.0 + (-sum).exp())
}

/// Newton steps on the penalised likelihood.
fn fit(samples: &[&Sample], size: usize) -> Vec<f64> {
    let mut weights = vec![0.0; size];
    for _ in 0..25 {
        let mut gradient: Vec<f64> = weights.iter().map(|w| -RIDGE * w).collect();
        let mut hessian = vec![vec![0.0; size]; size];
        for (at, row) in hessian.iter_mut().enumerate() {
            row[at] = RIDGE;
        }
        for sample in samples {
            let p = predict(&weights, sample);
            let error = f64::from(u8::from(sample.right)) - p;
            for (i, x) in sample.features.iter().enumerate() {
                gradient[i] += error * x;
                for (h, y) in hessian[i].iter_mut().zip(&sample.features) {
                    *h += p * (1.0 - p) * x * y;
                }
            }
        }
        let step = solve(hessian, gradient);
        for (w, s) in weights.iter_mut().zip(step) {
            *w += s;
        }
    }
    weights
}

/// Gauss elimination; the matrix is symmetric and positive.
fn solve(mut a: Vec<Vec<f64>>, mut b: Vec<f64>) -> Vec<f64> {
    let size = b.len();
    for i in 0..size {
        for j in i + 1..size {
            let factor = a[j][i] / a[i][i];
            let row = a[i].clone();
            for (x, y) in a[j].iter_mut().zip(&row).skip(i) {
                *x -= factor * y;
            }
            b[j] -= factor * b[i];
        }
    }
    for i in (0..size).rev() {
        for j in i + 1..size {
            b[i] -= a[i][j] * b[j];
        }
        b[i] /= a[i][i];
    }
    b
}

/// Brier score, expected calibration error, and how right the sure ones are.
fn summary(predictions: &[(f64, bool)]) -> String {
    let hit = |right: bool| f64::from(u8::from(right));
    let count = predictions.len() as f64;
    let brier = predictions
        .iter()
        .map(|(p, right)| (p - hit(*right)).powi(2))
        .sum::<f64>()
        / count;
    let mut error = 0.0;
    for bin in 0..10 {
        let inside: Vec<&(f64, bool)> = predictions
            .iter()
            .filter(|(p, _)| ((p * 10.0) as usize).min(9) == bin)
            .collect();
        let mean = inside.iter().map(|(p, _)| p).sum::<f64>();
        let right = inside.iter().map(|(_, r)| hit(*r)).sum::<f64>();
        error += (mean - right).abs() / count;
    }
    let sure: Vec<&(f64, bool)> = predictions.iter().filter(|(p, _)| *p >= 0.9).collect();
    let right = sure.iter().filter(|(_, r)| *r).count();
    format!(
        "Brier {brier:.4}, calibration error {error:.4}, {} of {} values with 0.9 or more are right ({:.3})",
        right,
        sure.len(),
        right as f64 / sure.len().max(1) as f64
    )
}
