//! `cargo xtask bench pages`: words and drawing of PDFs, ours beside pdfium and PyMuPDF in the same run.
//!
//! The files are the PDFs that the source distributions of pdfplumber, pypdf and pdfminer.six carry, or those
//! of `--files DIR`. Times are processor seconds; recall is the share of PyMuPDF's words that a side has with
//! the same text and a box that overlaps by half. A page that is drawn is a JPEG in the end, on every side.

use std::{
    collections::HashMap,
    fs,
    io::{BufRead, BufReader, Read as _},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::{Context as _, Result, bail};
use flydocs_contract::Rect;
use flydocs_pages::{ImageFormat, ImageSize, OcrEngine, Options, Pages, Reader, Source};
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;
use unicode_normalization::UnicodeNormalization;

use crate::run::{check, project_root, say};

const PEERS: [&str; 3] = ["pypdfium2==5.15.2", "pymupdf", "pillow"];
const DISTRIBUTIONS: [&str; 3] = ["pdfplumber", "pypdf", "pdfminer.six"];
const PEER: &str = include_str!("pages_peer.py");
/// As many pages of a file as the peers read.
const MAX_PAGES: u32 = 200;

type Words = Vec<(f64, f64, f64, f64, String)>;

/// What one side did with one file.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Done {
    #[serde(default)]
    file: String,
    #[serde(default)]
    seconds: f64,
    #[serde(default)]
    words: Option<Vec<Words>>,
    #[serde(default)]
    error: Option<String>,
}

/// `args`: `--files DIR` (PDFs to read instead of the distributions'), `--most N` files (150).
pub(crate) fn run(args: &[String]) -> Result<()> {
    let after = |name: &str| {
        args.iter()
            .position(|a| a == name)
            .and_then(|at| args.get(at + 1))
    };
    if let Some(job) = after("--ours") {
        return ours(job, args);
    }
    let folder = project_root()?.join("target/bench/pages");
    fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let python = environment(&folder)?;
    let mut files = match after("--files") {
        Some(given) => pdfs(Path::new(given))?,
        None => distributed(&folder, &python)?,
    };
    let most: usize = after("--most").map_or(Ok(150), |n| n.parse())?;
    if files.len() > most {
        let step = files.len() as f64 / most as f64;
        files = (0..most)
            .map(|n| files[(n as f64 * step) as usize].clone())
            .collect();
    }
    if files.is_empty() {
        bail!("no PDF to measure with");
    }
    say(&format!("{} files", files.len()));
    let script = folder.join("peer.py");
    fs::write(&script, PEER)?;
    let peer = |engine: &str, job: &str| {
        let mut command = Command::new(&python);
        command.arg(&script).args([engine, job]).args(&files);
        listen(&mut command)
    };
    let own = |job: &str| {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["bench", "pages", "--ours", job]).args(&files);
        listen(&mut command)
    };
    let reference = peer("pymupdf", "words")?;
    let words = [
        ("flydocs", own("words")?),
        ("pdfium", peer("pdfium", "words")?),
        ("PyMuPDF", peer("pymupdf", "words")?),
    ];
    let drawn = [
        ("flydocs", own("draw")?),
        ("pdfium", peer("pdfium", "draw")?),
        ("PyMuPDF", peer("pymupdf", "draw")?),
    ];
    report(&reference, &words, &drawn);
    Ok(())
}

/// Our side, in a process of its own like the others; files follow the job.
#[expect(clippy::print_stdout, reason = "the parent reads it")]
fn ours(job: &str, args: &[String]) -> Result<()> {
    let at = args.iter().position(|a| a == "--ours").unwrap_or_default();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    for file in args.iter().skip(at + 2) {
        let done = runtime
            .block_on(one(job, file))
            .unwrap_or_else(|error| Done {
                error: Some(error.to_string()),
                ..Done::default()
            });
        let done = Done {
            file: file.clone(),
            ..done
        };
        println!("{}", serde_json::to_string(&done)?);
    }
    Ok(())
}

async fn one(job: &str, file: &str) -> Result<Done> {
    let reader = Pages::new(Options {
        ocr_engine: OcrEngine::None,
        concurrency: 1,
        max_pages: 100_000,
        ..Options::default()
    });
    let never = CancellationToken::new();
    let source = Source {
        filename: file.to_owned(),
        content: fs::read(file)?.into(),
        declared_media_type: None,
    };
    let began = processor_seconds();
    let rows = reader.load(source, &never).await?;
    let row = rows.first().context("no row")?;
    let mut pages = Vec::new();
    if job == "draw" {
        reader
            .image(row, 1, ImageSize::Dpi(200.0), ImageFormat::Jpeg, &never)
            .await?;
    } else {
        for page in 1..=row.page_count.min(MAX_PAGES) {
            pages.push(reader.words(row, page, None, &never).await?);
        }
    }
    let seconds = processor_seconds() - began;
    let words = pages
        .iter()
        .map(|page| {
            page.words
                .iter()
                .map(|w| {
                    (
                        w.rect.xmin,
                        w.rect.ymin,
                        w.rect.xmax,
                        w.rect.ymax,
                        w.text.clone(),
                    )
                })
                .collect()
        })
        .collect();
    Ok(Done {
        seconds,
        words: Some(words),
        ..Done::default()
    })
}

fn processor_seconds() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// A Python with the peers in it, made once.
fn environment(folder: &Path) -> Result<PathBuf> {
    let home = folder.join("venv");
    let python = home.join("bin/python");
    let stamp = home.join("installed");
    let wanted = PEERS.join(" ");
    if fs::read_to_string(&stamp).is_ok_and(|installed| installed == wanted) {
        return Ok(python);
    }
    say("installing the peers");
    check(Command::new("python3").arg("-m").arg("venv").arg(&home))?;
    check(
        Command::new(&python)
            .args(["-m", "pip", "install", "--quiet"])
            .args(PEERS),
    )?;
    fs::write(&stamp, wanted)?;
    Ok(python)
}

/// The PDFs inside the source distributions, unpacked once.
fn distributed(folder: &Path, python: &Path) -> Result<Vec<PathBuf>> {
    let files = folder.join("files");
    let stamp = files.join("complete");
    if !stamp.exists() {
        let archives = folder.join("archives");
        fs::create_dir_all(&archives)?;
        fs::create_dir_all(&files)?;
        check(
            Command::new(python)
                .args([
                    "-m",
                    "pip",
                    "download",
                    "--quiet",
                    "--no-deps",
                    "--no-binary",
                    ":all:",
                    "--dest",
                ])
                .arg(&archives)
                .args(DISTRIBUTIONS),
        )?;
        for archive in fs::read_dir(&archives)? {
            check(
                Command::new("tar")
                    .arg("-xzf")
                    .arg(archive?.path())
                    .arg("-C")
                    .arg(&files),
            )?;
        }
        fs::write(&stamp, "")?;
    }
    pdfs(&files)
}

fn pdfs(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in
            fs::read_dir(&folder).with_context(|| format!("cannot list {}", folder.display()))?
        {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
            } else if path
                .extension()
                .is_some_and(|e| e.eq_ignore_ascii_case("pdf"))
            {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

fn listen(command: &mut Command) -> Result<HashMap<String, Done>> {
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .context("a side cannot be started")?;
    let stdout = child.stdout.take().context("a side has no output")?;
    // what parsers complain about on the way is theirs
    let stderr = child.stderr.take();
    let quiet = std::thread::spawn(move || {
        let mut complaints = String::new();
        if let Some(mut stderr) = stderr {
            let _length = stderr.read_to_string(&mut complaints);
        }
        complaints
    });
    let mut done = HashMap::new();
    for line in BufReader::new(stdout).lines() {
        let line = line?;
        if let Ok(one) = serde_json::from_str::<Done>(&line) {
            done.insert(one.file.clone(), one);
        }
    }
    let status = child.wait()?;
    let complaints = quiet.join().unwrap_or_default();
    if done.is_empty() {
        bail!(
            "a side did nothing ({status}): {}",
            complaints.lines().last().unwrap_or_default()
        );
    }
    Ok(done)
}

type Side<'a> = (&'a str, HashMap<String, Done>);

#[expect(clippy::print_stdout, reason = "the table is what the command is for")]
fn report(reference: &HashMap<String, Done>, words: &[Side<'_>], drawn: &[Side<'_>]) {
    println!(
        "{:10} {:>6} {:>7} {:>10} {:>10} {:>12}",
        "words", "read", "pages", "recall", "precision", "pages/cpu-s"
    );
    for (name, side) in words {
        let (mut hits, mut wanted, mut given, mut pages, mut seconds, mut read) =
            (0, 0, 0, 0, 0.0, 0);
        for (file, truth) in reference {
            let Some(truth) = &truth.words else {
                continue;
            };
            wanted += truth.iter().map(Vec::len).sum::<usize>();
            let Some(Done {
                words: Some(own),
                seconds: spent,
                ..
            }) = side.get(file)
            else {
                continue;
            };
            read += 1;
            pages += own.len();
            seconds += spent;
            given += own.iter().map(Vec::len).sum::<usize>();
            hits += truth
                .iter()
                .zip(own)
                .map(|(t, o)| matches(t, o))
                .sum::<usize>();
        }
        println!(
            "{name:10} {read:>6} {pages:>7} {:>9.1}% {:>9.1}% {:>12.0}",
            100.0 * hits as f64 / wanted.max(1) as f64,
            100.0 * hits as f64 / given.max(1) as f64,
            pages as f64 / f64::max(seconds, 1e-9)
        );
    }
    println!(
        "{:10} {:>6} {:>16}",
        "drawing", "drawn", "ms a JPEG, 200 dpi"
    );
    let common: Vec<&String> = drawn
        .first()
        .map(|(_, first)| first.keys().collect::<Vec<_>>())
        .unwrap_or_default()
        .into_iter()
        .filter(|file| {
            drawn
                .iter()
                .all(|(_, side)| side.get(*file).is_some_and(|d| d.error.is_none()))
        })
        .collect();
    for (name, side) in drawn {
        let seconds: f64 = common
            .iter()
            .filter_map(|file| side.get(*file))
            .map(|d| d.seconds)
            .sum();
        println!(
            "{name:10} {:>6} {:>16.1}",
            common.len(),
            1000.0 * seconds / common.len().max(1) as f64
        );
    }
}

/// Words of `truth` that `own` has, each used once.
fn matches(truth: &Words, own: &Words) -> usize {
    let mut by_text: HashMap<String, Vec<Rect>> = HashMap::new();
    for (x0, y0, x1, y1, text) in own {
        by_text
            .entry(text.nfkc().collect())
            .or_default()
            .push(Rect::new(*x0, *y0, *x1, *y1));
    }
    let mut hits = 0;
    for (x0, y0, x1, y1, text) in truth {
        let rect = Rect::new(*x0, *y0, *x1, *y1);
        let key: String = text.nfkc().collect();
        if let Some(candidates) = by_text.get_mut(&key)
            && let Some(at) = candidates.iter().position(|c| c.iou(&rect) >= 0.5)
        {
            candidates.swap_remove(at);
            hits += 1;
        }
    }
    hits
}
