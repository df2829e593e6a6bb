//! The tesseract program, one process a picture: killed when its time is over or nobody waits any more.

use std::{io::ErrorKind, path::PathBuf, process::Stdio, time::Duration};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    process::Command,
    sync::OnceCell,
};
use tokio_util::sync::CancellationToken;

use super::{Reading, tsv};
use crate::{
    error::{Error, Result},
    raster::{Picture, Pixels},
};

/// How long the program may take to say which languages it has.
const ANSWER: Duration = Duration::from_mins(1);

/// What tesseract takes a picture for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Layout {
    /// Blocks and columns, to be found first; what looks like a picture is left out.
    Blocks,
    /// One block of lines on a cleaned picture: nothing is left out, and columns are read across.
    Lines,
}

impl Layout {
    const fn psm(self) -> &'static str {
        match self {
            Self::Blocks => "3",
            Self::Lines => "6",
        }
    }
}

/// Runs tesseract.
#[derive(Debug)]
pub(crate) struct Tesseract {
    program: PathBuf,
    installed: OnceCell<Vec<String>>,
}

/// How a run failed, before anybody says on which page.
pub(crate) enum Fault {
    Failed(String),
    Other(Error),
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        Self::Other(error)
    }
}

impl Tesseract {
    pub(crate) fn new(program: PathBuf) -> Self {
        Self {
            program,
            installed: OnceCell::new(),
        }
    }

    /// Fails, naming what is missing, when the program or one of `languages` is not installed.
    pub(crate) async fn check(&self, languages: &str) -> Result<()> {
        let installed = self.installed.get_or_try_init(|| self.list()).await?;
        let missing: Vec<&str> = languages
            .split('+')
            .filter(|name| !installed.iter().any(|i| i == name))
            .collect();
        if missing.is_empty() {
            return Ok(());
        }
        let packages: Vec<String> = missing
            .iter()
            .map(|name| format!("tesseract-ocr-{}", name.replace('_', "-")))
            .collect();
        Err(Error::OcrUnavailable {
            detail: format!(
                "tesseract has no data for {}: install {} or change FLYDOCS_BBOX_REFINE_TESSERACT_LANG",
                missing.join(", "),
                packages.join(" ")
            ),
        })
    }

    /// Reads a grey picture in at most the time it is given.
    pub(crate) async fn read(
        &self,
        picture: &Picture,
        layout: Layout,
        (languages, dpi): (&str, u32),
        within: Duration,
        cancel: &CancellationToken,
    ) -> std::result::Result<Reading, Fault> {
        let dpi = dpi.to_string();
        let began = std::time::Instant::now();
        let out = self
            .run(
                &[
                    "-",
                    "-",
                    "--psm",
                    layout.psm(),
                    "--dpi",
                    &dpi,
                    "-l",
                    languages,
                    "tsv",
                ],
                &pgm(picture),
                within,
                cancel,
            )
            .await?;
        metrics::histogram!("flydocs_pages_ocr_seconds").record(began.elapsed());
        Ok(Reading {
            words: tsv::parse(&out, picture.width, picture.height),
        })
    }

    /// By how many quarters clockwise the picture is to be turned to stand upright, where tesseract can tell.
    pub(crate) async fn orientation(
        &self,
        picture: &Picture,
        within: Duration,
        cancel: &CancellationToken,
    ) -> Result<Option<u8>> {
        let installed = self.installed.get_or_try_init(|| self.list()).await?;
        if !installed.iter().any(|i| i == "osd") {
            return Ok(None);
        }
        match self
            .run(
                &["-", "-", "--psm", "0", "-l", "osd"],
                &pgm(picture),
                within,
                cancel,
            )
            .await
        {
            Ok(said) => {
                let degrees = said
                    .lines()
                    .find_map(|line| line.strip_prefix("Rotate:")?.trim().parse::<u32>().ok());
                Ok(degrees
                    .map(|d| (d / 90 % 4) as u8)
                    .filter(|quarters| *quarters > 0))
            }
            // too little on it to tell
            Err(Fault::Failed(_)) => Ok(None),
            Err(Fault::Other(error)) => Err(error),
        }
    }

    async fn list(&self) -> Result<Vec<String>> {
        let cancel = CancellationToken::new();
        match self.run(&["--list-langs"], &[], ANSWER, &cancel).await {
            Ok(out) => Ok(out.lines().skip(1).map(|l| l.trim().to_owned()).collect()),
            Err(Fault::Failed(why)) => Err(Error::OcrUnavailable {
                detail: format!("tesseract does not answer: {why}"),
            }),
            Err(Fault::Other(error)) => Err(error),
        }
    }

    /// One run: `input` to its standard input, its standard output back.
    async fn run(
        &self,
        arguments: &[&str],
        input: &[u8],
        within: Duration,
        cancel: &CancellationToken,
    ) -> std::result::Result<String, Fault> {
        let mut child = Command::new(&self.program)
            .args(arguments)
            // one thread a page: pages are what runs side by side
            .env("OMP_THREAD_LIMIT", "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .map_err(|e| self.no_program(&e))?;
        let (mut stdin, mut stdout, mut stderr) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (mut out, mut complaints) = (Vec::new(), Vec::new());
        let talk = async {
            let feed = async {
                if let Some(mut stdin) = stdin.take() {
                    // a program that stops reading early says why on its standard error
                    let unread = stdin.write_all(input).await.is_err();
                    let closed = stdin.shutdown().await.is_err();
                    tracing::trace!(unread, closed, "picture handed to tesseract");
                }
            };
            let read = async {
                if let Some(stdout) = &mut stdout {
                    stdout.read_to_end(&mut out).await?;
                }
                Ok::<_, std::io::Error>(())
            };
            let listen = async {
                if let Some(stderr) = &mut stderr {
                    stderr.take(4096).read_to_end(&mut complaints).await?;
                }
                Ok::<_, std::io::Error>(())
            };
            let ((), read, listen) = tokio::join!(feed, read, listen);
            read?;
            listen?;
            child.wait().await
        };
        let status = tokio::select! {
            biased;
            () = cancel.cancelled() => return Err(Error::Cancelled.into()),
            finished = tokio::time::timeout(within, talk) => match finished {
                Err(_) => return Err(Fault::Failed(format!(
                    "tesseract took longer than {} s (FLYDOCS_OCR_PAGE_TIMEOUT_S)",
                    within.as_secs()
                ))),
                Ok(Err(e)) => return Err(Fault::Failed(format!("tesseract cannot be talked to: {e}"))),
                Ok(Ok(status)) => status,
            },
        };
        if !status.success() {
            let said = String::from_utf8_lossy(&complaints);
            let last = said
                .lines()
                .rfind(|l| !l.trim().is_empty())
                .unwrap_or("no word why");
            return Err(Fault::Failed(format!(
                "tesseract ended with {status}: {last}"
            )));
        }
        Ok(String::from_utf8_lossy(&out).into_owned())
    }

    fn no_program(&self, why: &std::io::Error) -> Fault {
        let program = self.program.display();
        let detail = if why.kind() == ErrorKind::NotFound {
            format!(
                "the program {program} is not there: install tesseract-ocr, or set FLYDOCS_TESSERACT_PATH, \
                 or switch OCR off (FLYDOCS_BBOX_REFINE_OCR_ENGINE=none)"
            )
        } else {
            format!("the program {program} cannot be started: {why}")
        };
        Fault::Other(Error::OcrUnavailable { detail })
    }
}

/// The simplest file format tesseract reads: nothing to compress, nothing to parse.
fn pgm(picture: &Picture) -> Vec<u8> {
    let (kind, pixels) = match &picture.pixels {
        Pixels::Grey(pixels) => ("P5", pixels),
        Pixels::Rgb(pixels) => ("P6", pixels),
    };
    let mut file = format!("{kind}\n{} {}\n255\n", picture.width, picture.height).into_bytes();
    file.extend_from_slice(pixels);
    file
}
