//! The two streams. A reader that closed the pipe is no error: it has what it wanted.

use std::io::{self, ErrorKind, IsTerminal, Write};

use crate::{failure::Failure, output::Paint};

/// Columns when stdout is no terminal, or does not say.
const USUAL_WIDTH: usize = 80;
const NARROWEST: usize = 40;
const WIDEST: usize = 160;

/// stdout: data, and only data.
#[derive(Debug)]
pub(crate) struct Out {
    closed: bool,
}

impl Out {
    /// Opens it.
    pub(crate) const fn new() -> Self {
        Self { closed: false }
    }

    /// True once its reader is gone: nothing more has to be made for it.
    pub(crate) const fn is_closed(&self) -> bool {
        self.closed
    }

    /// Writes some text as it is.
    pub(crate) fn text(&mut self, text: &str) -> Result<(), Failure> {
        if self.closed {
            return Ok(());
        }
        let mut stdout = io::stdout().lock();
        match stdout
            .write_all(text.as_bytes())
            .and_then(|()| stdout.flush())
        {
            Ok(()) => Ok(()),
            Err(error) if error.kind() == ErrorKind::BrokenPipe => {
                self.closed = true;
                Ok(())
            }
            Err(error) => Err(anyhow::Error::new(error)
                .context("stdout cannot be written")
                .into()),
        }
    }

    /// Writes a line.
    pub(crate) fn line(&mut self, line: &str) -> Result<(), Failure> {
        self.text(&format!("{line}\n"))
    }

    /// Writes a value as JSON, indented.
    pub(crate) fn json<T: serde::Serialize>(&mut self, value: &T) -> Result<(), Failure> {
        let text = serde_json::to_string_pretty(value).map_err(anyhow::Error::new)?;
        self.line(&text)
    }

    /// Writes a value as one line of JSON.
    pub(crate) fn jsonl<T: serde::Serialize>(&mut self, value: &T) -> Result<(), Failure> {
        let text = serde_json::to_string(value).map_err(anyhow::Error::new)?;
        self.line(&text)
    }
}

/// How wide a table may be.
pub(crate) fn width() -> usize {
    let terminal = console::Term::stdout();
    if !terminal.is_term() {
        return USUAL_WIDTH;
    }
    terminal
        .size_checked()
        .map_or(USUAL_WIDTH, |(_, columns)| usize::from(columns))
        .clamp(NARROWEST, WIDEST)
}

/// stderr: everything a person should hear.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Say {
    paint: Paint,
    quiet: bool,
}

impl Say {
    /// Opens it; `quiet` says errors only.
    pub(crate) fn new(quiet: bool) -> Self {
        Self {
            paint: Paint::new(console::colors_enabled_stderr()),
            quiet,
        }
    }

    /// True when a person watches.
    pub(crate) fn is_watched(self) -> bool {
        !self.quiet && io::stderr().is_terminal()
    }

    /// Something worth knowing.
    pub(crate) fn note(self, text: &str) {
        if !self.quiet {
            write(text);
        }
    }

    /// Something that should be changed.
    pub(crate) fn warn(self, text: &str) {
        if !self.quiet {
            write(&format!("{} {text}", self.paint.warn("warning:")));
        }
    }

    /// A command failed.
    pub(crate) fn fail(self, failure: &Failure) {
        let head = self.paint.bad(&format!("error[{}]:", failure.code));
        write(&format!("{head} {failure}"));
        if failure.code != "internal" {
            write(
                &self
                    .paint
                    .dim(&format!("  more: flydocs explain {}", failure.code)),
            );
        }
    }
}

/// A stderr that cannot be written has nobody to be told.
fn write(text: &str) {
    let mut stderr = io::stderr().lock();
    drop(writeln!(stderr, "{text}"));
}
