//! `cargo xtask bench ground`: values found on pages, ours beside RapidFuzz in the same run.
//!
//! The pages and values are made from a fixed seed; the peers run in a Python environment under `target/`.

use std::{
    fmt::Write as _,
    hint::black_box,
    path::{Path, PathBuf},
    process::Command,
    time::Instant,
};

use anyhow::{Context as _, Result};
use flydocs_contract::{FieldValue, PageWords, Rect, Word, WordSource};
use flydocs_grounding::Matcher;
use serde::{Deserialize, Serialize};

use crate::run::{check, output, project_root, say};

const RAPIDFUZZ: &str = "rapidfuzz==3.14.6";
const THRESHOLD: f64 = 0.85;
const PEER: &str = include_str!("ground_peer.py");

/// The work both sides do: every value of a page is looked for on that page.
#[derive(Debug, Serialize)]
struct Work {
    threshold: f64,
    pages: Vec<PageWork>,
}

#[derive(Debug, Serialize)]
struct PageWork {
    words: Vec<String>,
    values: Vec<Value>,
}

#[derive(Debug, Serialize)]
struct Value {
    text: String,
    kind: Kind,
}

/// How a value stands on its page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Kind {
    /// Word for word.
    Literal,
    /// With one character in eight changed.
    Noisy,
    /// Not at all.
    Absent,
}

/// What one side did.
#[derive(Debug, Deserialize)]
struct Figures {
    name: String,
    seconds: f64,
    /// Found, by kind: literal, noisy, absent.
    found: [usize; 3],
}

/// Runs the benchmark; `args`: `--pages N` (40), `--words N` a page (400), `--values N` a page (30).
pub(crate) fn run(args: &[String]) -> Result<()> {
    let pages = number(args, "--pages", 40)?;
    let words = number(args, "--words", 400)?;
    let values = number(args, "--values", 30)?;
    let work = Work::new(pages, words, values);
    let folder = project_root()?.join("target/bench/ground");
    std::fs::create_dir_all(&folder)
        .with_context(|| format!("cannot make the folder {}", folder.display()))?;
    let input = folder.join("work.json");
    std::fs::write(&input, serde_json::to_vec(&work)?)
        .with_context(|| format!("cannot write {}", input.display()))?;
    let python = environment(&folder)?;
    let script = folder.join("peer.py");
    std::fs::write(&script, PEER).with_context(|| format!("cannot write {}", script.display()))?;
    let ours = ours(&work);
    let said = output(Command::new(&python).arg(&script).arg(&input))?;
    let peers: Vec<Figures> =
        serde_json::from_str(&said).context("the peers did not answer with their figures")?;
    print(&work, &ours, &peers);
    Ok(())
}

fn number(args: &[String], name: &str, default: usize) -> Result<usize> {
    let Some(at) = args.iter().position(|arg| arg == name) else {
        return Ok(default);
    };
    let given = args
        .get(at + 1)
        .with_context(|| format!("{name} needs a number"))?;
    given
        .parse()
        .with_context(|| format!("{name} {given} is no number"))
}

/// A Python with the peers in it, made once.
fn environment(folder: &Path) -> Result<PathBuf> {
    let home = folder.join("venv");
    let python = home.join("bin/python");
    let stamp = home.join("installed");
    if std::fs::read_to_string(&stamp).is_ok_and(|installed| installed == RAPIDFUZZ) {
        return Ok(python);
    }
    say("installing the peers");
    check(Command::new("python3").arg("-m").arg("venv").arg(&home))?;
    check(Command::new(&python).args(["-m", "pip", "install", "--quiet", RAPIDFUZZ]))?;
    std::fs::write(&stamp, RAPIDFUZZ)?;
    Ok(python)
}

fn ours(work: &Work) -> Figures {
    let pages: Vec<(PageWords, Vec<(FieldValue, Kind)>)> = work
        .pages
        .iter()
        .map(|page| {
            let values = page.values.iter();
            let values = values.map(|v| (FieldValue::String(v.text.clone()), v.kind));
            (laid_out(&page.words), values.collect())
        })
        .collect();
    let mut found = [0; 3];
    let start = Instant::now();
    for (page, values) in &pages {
        // The index of the page is part of the work, as the peers' joining of words is.
        let matcher = Matcher::new(page, work.threshold);
        for (value, kind) in values {
            if black_box(matcher.find(black_box(value), None)).is_some() {
                found[*kind as usize] += 1;
            }
        }
    }
    Figures {
        name: "flydocs".to_owned(),
        seconds: start.elapsed().as_secs_f64(),
        found,
    }
}

/// Eight words a line, evenly spaced.
fn laid_out(words: &[String]) -> PageWords {
    let lines = words.len().div_ceil(8) as f64;
    let word = |(at, text): (usize, &String)| {
        let (line, column) = ((at / 8) as f64, (at % 8) as f64);
        let (x, y) = (0.05 + column * 0.11, line / (lines + 1.0));
        Word {
            text: text.clone(),
            rect: Rect::new(x, y, x + 0.1, y + 0.5 / (lines + 1.0)),
            line: line as u32,
            confidence: None,
            bold: false,
        }
    };
    PageWords {
        page: 1,
        width: 595.0,
        height: 842.0,
        source: WordSource::PdfText,
        words: words.iter().enumerate().map(word).collect(),
        rulings: Vec::new(),
    }
}

#[expect(clippy::print_stdout, reason = "the table is what the command is for")]
fn print(work: &Work, ours: &Figures, peers: &[Figures]) {
    let matches: usize = work.pages.iter().map(|page| page.values.len()).sum();
    let of_kind = |kind| {
        let values = work.pages.iter().flat_map(|page| &page.values);
        values.filter(|value| value.kind == kind).count()
    };
    let totals = [Kind::Literal, Kind::Noisy, Kind::Absent].map(of_kind);
    let mut table = format!(
        "{matches} values on {} pages of {} words\n{:<34} {:>12} {:>10}  {:>10} {:>10} {:>10}\n",
        work.pages.len(),
        work.pages.first().map_or(0, |page| page.words.len()),
        "",
        "matches/s",
        "ours is",
        "literal",
        "noisy",
        "absent",
    );
    for side in std::iter::once(ours).chain(peers) {
        let found: Vec<String> = side
            .found
            .iter()
            .zip(totals)
            .map(|(found, total)| format!("{found}/{total}"))
            .collect();
        // Writing into a String cannot fail.
        writeln!(
            table,
            "{:<34} {:>12.0} {:>9.1}x  {:>10} {:>10} {:>10}",
            side.name,
            matches as f64 / side.seconds,
            side.seconds / ours.seconds,
            found[0],
            found[1],
            found[2],
        )
        .unwrap_or_default();
    }
    print!("{table}");
}

impl Work {
    fn new(pages: usize, words: usize, values: usize) -> Self {
        let mut random = Random(0x5eed_f1d0_c500_0001);
        let vocabulary: Vec<String> = (0..3000).map(|_| random.word()).collect();
        let page = |random: &mut Random| {
            let words: Vec<String> = (0..words)
                .map(|_| match random.below(10) {
                    0 => random.amount(),
                    1 => random.code(),
                    _ => vocabulary[random.below(vocabulary.len())].clone(),
                })
                .collect();
            let values = (0..values)
                .map(|at| {
                    let length = 1 + random.below(if at % 10 == 0 { 20 } else { 4 });
                    let from = random.below(words.len().saturating_sub(length).max(1));
                    let end = (from + length).min(words.len());
                    let text = words[from..end].join(" ");
                    match at % 3 {
                        0 => Value {
                            text,
                            kind: Kind::Literal,
                        },
                        1 => Value {
                            text: random.noise(&text),
                            kind: Kind::Noisy,
                        },
                        _ => Value {
                            text: (0..length)
                                .map(|_| random.word())
                                .collect::<Vec<_>>()
                                .join(" "),
                            kind: Kind::Absent,
                        },
                    }
                })
                .collect();
            PageWork { words, values }
        };
        Self {
            threshold: THRESHOLD,
            pages: (0..pages).map(|_| page(&mut random)).collect(),
        }
    }
}

/// Xorshift: the same work on every machine.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit.max(1) as u64) as usize
    }

    fn letter(&mut self) -> char {
        char::from(b"etaoinshrdlcumwfgypbvk"[self.below(22)])
    }

    fn word(&mut self) -> String {
        (0..2 + self.below(9)).map(|_| self.letter()).collect()
    }

    fn amount(&mut self) -> String {
        format!(
            "{},{:03}.{:02}",
            self.below(90) + 1,
            self.below(1000),
            self.below(100)
        )
    }

    fn code(&mut self) -> String {
        format!("{}-{:05}", self.word().to_uppercase(), self.below(100_000))
    }

    /// One letter in eight becomes another.
    fn noise(&mut self, text: &str) -> String {
        text.chars()
            .enumerate()
            .map(|(at, c)| {
                if at % 8 == 5 && c.is_alphabetic() {
                    self.letter()
                } else {
                    c
                }
            })
            .collect()
    }
}
