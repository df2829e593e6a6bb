//! `cargo xtask nasty DIR`: every hostile or odd file of a set goes through the reader, isolated as in the
//! service, and the checker beside the set judges outcome, error class, time and memory.

use std::{
    collections::{BTreeMap, HashMap},
    fs,
    path::{Path, PathBuf},
    process::Command,
    sync::mpsc::{RecvTimeoutError, Sender, channel},
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, bail};
use flydocs_pages::{
    Error, ImageFormat, ImageSize, Isolation, Options, Pages, Reader, Row, Source,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::run::{cargo, check, project_root, say};

/// Our codes in the words of the set; a limit goes by its name.
const CODES: &[(&str, &str)] = &[
    ("encrypted_pdf", "encrypted_document"),
    ("encrypted_file", "encrypted_document"),
    ("corrupt_pdf", "corrupt_document"),
    ("unsupported_file", "unsupported_type"),
    ("image_conversion_failed", "corrupt_document"),
    ("office_conversion_failed", "corrupt_document"),
    ("archive_extraction_failed", "corrupt_document"),
    ("empty_file", "empty_file"),
    ("unsafe_archive", "unsafe_archive"),
    ("file_too_large", "processing_limit_exceeded"),
    ("limit_exceeded/pages", "page_limit_exceeded"),
    ("limit_exceeded/page_pixels", "page_too_large"),
    ("limit_exceeded/image_pixels", "image_too_large"),
    (
        "limit_exceeded/expanded_bytes",
        "decompression_limit_exceeded",
    ),
    (
        "limit_exceeded/expanded_files",
        "archive_entry_limit_exceeded",
    ),
    ("limit_exceeded/depth", "archive_depth_exceeded"),
    ("limit_exceeded/time", "processing_limit_exceeded"),
    ("limit_exceeded/memory", "processing_limit_exceeded"),
];

/// Pages of a row that are read; the rest costs the same and says nothing new.
const PAGES_READ: u32 = 10;
/// Longest time for one piece of work on a file.
const WORK_SECONDS: u64 = 8;
/// How often the memory of the children is looked at.
const TICK: Duration = Duration::from_millis(10);

#[derive(Debug, Deserialize)]
struct Case {
    id: String,
    file: String,
    #[serde(default)]
    upload_name: Option<String>,
    #[serde(default)]
    filename: Option<String>,
    limits: Limits,
    #[serde(default)]
    expected: Option<BTreeMap<String, Value>>,
}

#[derive(Debug, Deserialize)]
struct Limits {
    max_seconds: f64,
}

#[derive(Debug, Serialize)]
struct Outcome {
    id: String,
    status: &'static str,
    error_class: Option<String>,
    http: Option<u16>,
    detail: Option<String>,
    seconds: f64,
    peak_mb: f64,
    rows: usize,
    pages: u32,
    words: usize,
    /// Expected values whose text stands on a page, and how many are expected.
    values: Option<(usize, usize)>,
}

/// `args`: the folder of the set; `--only TEXT` for cases whose id contains it; `--child PROGRAM` to read the
/// files in, instead of one that is built for it (`flydocs` itself is one).
pub(crate) fn run(args: &[String]) -> Result<()> {
    let Some(folder) = args.first().map(PathBuf::from) else {
        bail!("which set? cargo xtask nasty DIR [--only TEXT] [--child PROGRAM]");
    };
    let after = |name: &str| {
        args.iter()
            .position(|a| a == name)
            .and_then(|at| args.get(at + 1))
    };
    let only = after("--only");
    let root = project_root()?;
    let child = match after("--child") {
        Some(given) => PathBuf::from(given),
        None => built_child(&root)?,
    };
    let manifest = folder.join("manifest.jsonl");
    let cases = cases(&manifest, only.map(String::as_str))?;
    let out = root.join("target/nasty");
    fs::create_dir_all(&out).with_context(|| format!("cannot make {}", out.display()))?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    let mut outcomes = Vec::new();
    for case in &cases {
        let outcome = runtime.block_on(one(case, &folder, &child))?;
        say(&format!(
            "{:34} {:7} {:5.2} s {:5.0} MB {}",
            outcome.id,
            outcome.status,
            outcome.seconds,
            outcome.peak_mb,
            outcome.error_class.as_deref().unwrap_or_default()
        ));
        outcomes.push(outcome);
    }
    let lines: Vec<String> = outcomes
        .iter()
        .map(serde_json::to_string)
        .collect::<serde_json::Result<_>>()?;
    let results = out.join("results.jsonl");
    fs::write(&results, lines.join("\n") + "\n")?;
    let map = out.join("codes.json");
    let codes: HashMap<_, _> = CODES.iter().copied().collect();
    fs::write(&map, serde_json::to_vec_pretty(&codes)?)?;
    summary(&outcomes);
    if only.is_some() {
        return Ok(());
    }
    let checker = folder.join("../nasty_check.py");
    check(
        Command::new("python3")
            .arg(checker)
            .arg(manifest)
            .arg(results)
            .arg("--map")
            .arg(map),
    )
}

/// The program whose children read the files, optimised, and where cargo put it.
fn built_child(root: &Path) -> Result<PathBuf> {
    let arguments = [
        "build",
        "--release",
        "--package",
        "flydocs-pages",
        "--bin",
        "flydocs-pages-child",
    ];
    cargo(root, &arguments)?;
    let target =
        std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    Ok(target.join("release/flydocs-pages-child"))
}

fn cases(manifest: &Path, only: Option<&str>) -> Result<Vec<Case>> {
    let text = fs::read_to_string(manifest)
        .with_context(|| format!("cannot read {}", manifest.display()))?;
    let mut cases = Vec::new();
    for line in text.lines().filter(|l| !l.trim().is_empty()) {
        let case: Case = serde_json::from_str(line)
            .with_context(|| format!("a line of {} is no case", manifest.display()))?;
        if only.is_none_or(|text| case.id.contains(text)) {
            cases.push(case);
        }
    }
    Ok(cases)
}

async fn one(case: &Case, folder: &Path, child: &Path) -> Result<Outcome> {
    let path = folder.join(&case.file);
    let content = fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let given = case.upload_name.clone().or_else(|| case.filename.clone());
    let filename = given.unwrap_or_else(|| {
        path.file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned()
    });
    let source = Source {
        filename,
        content: content.into(),
        declared_media_type: None,
    };
    // a reader of its own: nothing of one case helps or hurts the next
    let reader = Pages::new(Options {
        isolation: Isolation::Process,
        isolation_program: Some(child.to_owned()),
        isolation_timeout_s: WORK_SECONDS,
        ..Options::default()
    });
    let cancel = CancellationToken::new();
    let mut outcome = Outcome {
        id: case.id.clone(),
        status: "success",
        error_class: None,
        http: None,
        detail: None,
        seconds: 0.0,
        peak_mb: 0.0,
        rows: 0,
        pages: 0,
        words: 0,
        values: None,
    };
    let (stop, watching) = watch();
    let began = Instant::now();
    let patience = Duration::from_secs_f64(case.limits.max_seconds + 5.0);
    let mut text = String::new();
    let read = tokio::time::timeout(
        patience,
        read(&reader, source, &mut outcome, &mut text, &cancel),
    );
    match read.await {
        Err(_) => outcome.status = "timeout",
        Ok(Ok(())) => {}
        Ok(Err(error)) => refuse(&mut outcome, &error),
    }
    outcome.seconds = (began.elapsed().as_secs_f64() * 100.0).round() / 100.0;
    drop(stop);
    outcome.peak_mb = watching.join().unwrap_or(0.0);
    outcome.values = case
        .expected
        .as_ref()
        .map(|expected| found(expected, &text));
    Ok(outcome)
}

/// Loads the file, reads its pages and draws the first.
async fn read(
    reader: &Pages,
    source: Source,
    outcome: &mut Outcome,
    text: &mut String,
    cancel: &CancellationToken,
) -> Result<(), Error> {
    let rows: Vec<Row> = reader.load(source, cancel).await?;
    outcome.rows = rows.len();
    for row in &rows {
        outcome.pages += row.page_count;
        for page in 1..=row.page_count.min(PAGES_READ) {
            match reader.words(row, page, None, cancel).await {
                Ok(words) => {
                    outcome.words += words.words.len();
                    *text += &words.text();
                    text.push('\n');
                }
                // a page that cannot be recognised is noted beside a result, it refuses nothing
                Err(error @ (Error::OcrFailed { .. } | Error::OcrUnavailable { .. })) => {
                    outcome.detail = Some(error.to_string());
                }
                Err(error) => return Err(error),
            }
        }
        reader
            .image(row, 1, ImageSize::Width(600), ImageFormat::Png, cancel)
            .await?;
    }
    Ok(())
}

fn refuse(outcome: &mut Outcome, error: &Error) {
    outcome.detail = Some(error.to_string());
    let Error::Refused { code, facts, .. } = error else {
        outcome.status = "crash";
        return;
    };
    outcome.status = "error";
    outcome.http = Some(code.http_status());
    let limit = facts.get("limit").and_then(Value::as_str);
    outcome.error_class = Some(limit.map_or_else(
        || code.as_str().to_owned(),
        |limit| format!("{}/{limit}", code.as_str()),
    ));
}

/// How many expected values stand in the text, numbers and dates in any of their usual forms.
fn found(expected: &BTreeMap<String, Value>, text: &str) -> (usize, usize) {
    let squeeze = |t: &str| -> String { t.chars().filter(|c| c.is_alphanumeric()).collect() };
    let text = squeeze(text).to_lowercase();
    let wanted: Vec<&Value> = expected.values().filter(|v| !v.is_null()).collect();
    let hits = wanted.iter().filter(|value| {
        let forms: Vec<String> = match value {
            Value::Number(n) => {
                let n = n.as_f64().unwrap_or(0.0);
                vec![format!("{n:.2}"), format!("{n}")]
            }
            Value::String(s) => {
                let mut forms = vec![s.clone()];
                if let [year, month, day] = s.split('-').collect::<Vec<_>>().as_slice() {
                    forms.push(format!("{day}{month}{year}"));
                    forms.push(format!("{month}{day}{year}"));
                }
                forms
            }
            other => vec![other.to_string()],
        };
        forms
            .iter()
            .any(|form| text.contains(&squeeze(form).to_lowercase()))
    });
    (hits.count(), wanted.len())
}

fn summary(outcomes: &[Outcome]) {
    let (hits, wanted) = outcomes
        .iter()
        .filter(|o| o.status == "success")
        .filter_map(|o| o.values)
        .fold((0, 0), |sum, v| (sum.0 + v.0, sum.1 + v.1));
    let slowest = outcomes.iter().map(|o| o.seconds).fold(0.0, f64::max);
    let largest = outcomes.iter().map(|o| o.peak_mb).fold(0.0, f64::max);
    say(&format!(
        "{}",
        json!({"cases": outcomes.len(), "values_on_their_page": hits, "values_expected": wanted,
               "slowest_s": slowest, "largest_mb": largest})
    ));
    for outcome in outcomes {
        if outcome.status == "success" && outcome.values.is_some_and(|(hits, wanted)| hits < wanted)
        {
            let (hits, wanted) = outcome.values.unwrap_or_default();
            say(&format!("read in part: {} {hits}/{wanted}", outcome.id));
        }
    }
}

/// Watches the memory of all processes below this one until the sender is dropped; the peak in MB.
fn watch() -> (Sender<()>, std::thread::JoinHandle<f64>) {
    let (stop, stopped) = channel::<()>();
    let own = std::process::id();
    let watching = std::thread::spawn(move || {
        let mut peak = 0.0_f64;
        while stopped.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout) {
            peak = peak.max(below(own));
        }
        peak
    });
    (stop, watching)
}

/// Peak memory of each process below `ancestor`, added up.
fn below(ancestor: u32) -> f64 {
    let mut parents = HashMap::new();
    let Ok(processes) = fs::read_dir("/proc") else {
        return 0.0;
    };
    for entry in processes.flatten() {
        let Some(pid) = entry
            .file_name()
            .to_str()
            .and_then(|n| n.parse::<u32>().ok())
        else {
            continue;
        };
        let Ok(status) = fs::read_to_string(entry.path().join("status")) else {
            continue;
        };
        let field = |name: &str| {
            let line = status.lines().find(|l| l.starts_with(name))?;
            line.split_whitespace().nth(1)?.parse::<u64>().ok()
        };
        let parent = field("PPid:").unwrap_or(0) as u32;
        parents.insert(pid, (parent, field("VmHWM:").unwrap_or(0)));
    }
    let is_below = |mut pid: u32| {
        for _ in 0..32 {
            match parents.get(&pid) {
                Some((parent, _)) if *parent == ancestor => return true,
                Some((parent, _)) => pid = *parent,
                None => return false,
            }
        }
        false
    };
    let kilobytes: u64 = parents
        .iter()
        .filter(|(pid, _)| is_below(**pid))
        .map(|(_, (_, peak))| *peak)
        .sum();
    kilobytes as f64 / 1024.0
}
