//! `inspect FILE`: what a file is made of, as the reader sees it.

use std::{path::Path, time::Instant};

use bytes::Bytes;
use flydocs_contract::{ErrorCode, PageWords, WordSource};
use flydocs_pages::{ImageSize, Row, Source, inspect::boxes};
use serde_json::json;

use crate::{
    Outcome,
    cli::{Format, InspectArgs},
    exit::Exit,
    failure::Failure,
    files,
    output::{
        Out, Paint,
        result::size,
        rows::{Grid, Lean},
        streams,
    },
    roles::{self, shutdown},
    settings::Settings,
};

/// How many words of a page are listed for people.
const WORDS_SHOWN: usize = 40;
/// How wide a page with its boxes is drawn, in pixels.
const DRAWN_WIDTH: u32 = 1400;

/// Loads the file and reads its pages.
pub(super) async fn run(args: InspectArgs, settings: Settings, out: &mut Out) -> Outcome {
    let content = files::document(&args.file, settings.max_bytes.0).await?;
    let reader = roles::reader(&settings);
    let cancel = shutdown::token();
    let source = Source {
        filename: args
            .file
            .file_name()
            .map(|name| name.to_string_lossy().into_owned())
            .unwrap_or_default(),
        content: Bytes::from(content),
        declared_media_type: None,
    };
    let began = Instant::now();
    let rows = reader
        .load(source, &cancel)
        .await
        .map_err(|error| refused(&error))?;
    let load_ms = milliseconds(began);
    if let Some(page) = args.page {
        must_have(page, &rows, &args.file)?;
    }
    let mut drawn = false;
    for row in rows {
        let wanted = 1..=row.page_count;
        let mut pages = Vec::new();
        for page in wanted.filter(|page| args.page.is_none_or(|only| only == *page)) {
            let began = Instant::now();
            let words = reader
                .words(&row, page, None, &cancel)
                .await
                .map_err(|error| refused(&error));
            pages.push((words, milliseconds(began)));
        }
        let page = args.page.unwrap_or(1);
        if let Some(file) = args
            .boxes
            .as_ref()
            .filter(|_| !drawn && page <= row.page_count)
        {
            let size = ImageSize::Width(DRAWN_WIDTH);
            let picture = boxes(&*reader, &row, page, size, None, &cancel)
                .await
                .map_err(|error| refused(&error))?;
            files::write(file, &picture.bytes)?;
            drawn = true;
        }
        match args.output {
            Format::Table => table(&row, &pages, args.page.is_some(), out)?,
            Format::Json => out.json(&described(&row, pages, load_ms)?)?,
            Format::Jsonl => out.jsonl(&described(&row, pages, load_ms)?)?,
        }
    }
    Ok(Exit::Done)
}

/// Some row has the page; one of a container need not.
fn must_have(page: u32, rows: &[Row], file: &Path) -> Result<(), Failure> {
    let most = rows.iter().map(|row| row.page_count).max().unwrap_or(0);
    if (1..=most).contains(&page) {
        return Ok(());
    }
    let (has, choose) = match (rows, most) {
        ([_], 1) => ("has 1 page".to_owned(), "--page 1".to_owned()),
        ([_], _) => (format!("has {most} pages"), format!("--page 1 to {most}")),
        (_, _) => (
            format!("holds {} documents of at most {most} pages", rows.len()),
            format!("--page 1 to {most}"),
        ),
    };
    Err(Failure::new(
        ErrorCode::NotFound,
        format!(
            "{} {has}, so there is no page {page}: choose {choose}",
            file.display()
        ),
        Exit::Usage,
    ))
}

fn milliseconds(since: Instant) -> f64 {
    (since.elapsed().as_secs_f64() * 100_000.0).round() / 100.0
}

fn refused(error: &flydocs_pages::Error) -> Failure {
    Failure::new(error.code(), error.to_string(), Exit::DocumentFailed)
}

/// A page, and how many milliseconds it took.
type Read = (Result<std::sync::Arc<PageWords>, Failure>, f64);

fn described(row: &Row, pages: Vec<Read>, load_ms: f64) -> Result<serde_json::Value, Failure> {
    let mut read_ms = Vec::with_capacity(pages.len());
    let mut words = Vec::with_capacity(pages.len());
    for (page, took) in pages {
        words.push((*page?).clone());
        read_ms.push(took);
    }
    Ok(json!({
        "filename": row.filename,
        "media_type": row.media_type,
        "bytes": row.bytes,
        "sha256": row.sha256,
        "page_count": row.page_count,
        "warnings": row.warnings,
        "timings": {"load_ms": load_ms, "read_ms": read_ms},
        "pages": words,
    }))
}

fn table(row: &Row, pages: &[Read], with_words: bool, out: &mut Out) -> Result<(), Failure> {
    let paint = Paint::stdout();
    let count = if row.page_count == 1 {
        "1 page".to_owned()
    } else {
        format!("{} pages", row.page_count)
    };
    out.line(&format!(
        "{}  {}",
        paint.bold(&row.filename),
        paint.dim(&format!(
            "{} · {count} · {}",
            row.media_type,
            size(row.bytes)
        ))
    ))?;
    for warning in &row.warnings {
        out.line(&format!("  {}", paint.warn(warning)))?;
    }
    let mut grid = Grid::new(vec![
        Lean::Right,
        Lean::Right,
        Lean::Right,
        Lean::Left,
        Lean::Left,
    ]);
    grid.row(
        ["page", "words", "lines", "from", "size"]
            .map(str::to_owned)
            .to_vec(),
    );
    for (page, _) in pages {
        match page {
            Ok(words) => grid.row(vec![
                words.page.to_string(),
                words.words.len().to_string(),
                words
                    .words
                    .last()
                    .map_or(0, |word| word.line + 1)
                    .to_string(),
                match words.source {
                    WordSource::PdfText => "text".to_owned(),
                    WordSource::Ocr => "ocr".to_owned(),
                },
                format!("{:.0} × {:.0}", words.width, words.height),
            ]),
            Err(failure) => grid.row(vec![
                String::new(),
                String::new(),
                String::new(),
                failure.code.clone(),
                failure.sentence.clone(),
            ]),
        }
    }
    for (i, lines) in grid
        .lines(streams::width().saturating_sub(2))
        .into_iter()
        .enumerate()
    {
        for line in lines {
            let line = if i == 0 { paint.dim(&line) } else { line };
            out.line(&format!("  {line}"))?;
        }
    }
    for page in pages
        .iter()
        .filter_map(|(page, _)| page.as_ref().ok())
        .filter(|_| with_words)
    {
        out.line("")?;
        for word in page.words.iter().take(WORDS_SHOWN) {
            let rect = &word.rect;
            let place = format!(
                "{:5.1},{:4.1}–{:5.1},{:4.1}",
                rect.xmin * 100.0,
                rect.ymin * 100.0,
                rect.xmax * 100.0,
                rect.ymax * 100.0
            );
            out.line(&format!("  {}  {}", paint.dim(&place), word.text))?;
        }
        if page.words.len() > WORDS_SHOWN {
            out.line(&paint.dim(&format!(
                "  and {} more; -o json has all",
                page.words.len() - WORDS_SHOWN
            )))?;
        }
    }
    Ok(())
}
