//! A folder with documents and types, and the binary run in it with nothing of the caller's environment.

use std::{
    path::{Path, PathBuf},
    process::Output,
};

use assert_cmd::Command;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::paper;

/// A folder to work in.
pub(crate) struct Desk {
    dir: TempDir,
}

/// What a run came to.
pub(crate) struct Run {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Run {
    fn of(output: Output) -> Self {
        Self {
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// Everything a person sees, for a snapshot.
    pub(crate) fn shown(&self) -> String {
        format!(
            "exit code {}\n--- stdout ---\n{}--- stderr ---\n{}",
            self.code, self.stdout, self.stderr
        )
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|e| panic!("{e}: {}", self.shown()))
    }
}

impl Desk {
    pub(crate) fn new() -> Self {
        let desk = Self {
            dir: tempfile::tempdir().unwrap(),
        };
        desk.put("invoice.pdf", paper::invoice());
        desk.put("types.json", types().to_string());
        desk
    }

    pub(crate) fn path(&self) -> &Path {
        self.dir.path()
    }

    pub(crate) fn put(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.dir.path().join(name);
        std::fs::write(&path, content).unwrap();
        path
    }

    pub(crate) fn command(&self) -> Command {
        let mut command = Command::cargo_bin("flydocs").unwrap();
        command
            .current_dir(self.dir.path())
            .env_clear()
            .env("HOME", self.dir.path())
            .env("PATH", "/nowhere");
        command
    }

    pub(crate) fn run(&self, args: &[&str]) -> Run {
        Run::of(self.command().args(args).output().unwrap())
    }

    pub(crate) fn run_with(&self, variables: &[(&str, &str)], args: &[&str]) -> Run {
        Run::of(
            self.command()
                .envs(variables.iter().copied())
                .args(args)
                .output()
                .unwrap(),
        )
    }
}

/// An invoice with head, rows and a total.
pub(crate) fn types() -> Value {
    json!({"document_types": [{"id": "invoice", "description": "an invoice", "field_groups": [
        {"name": "head", "fields": [
            {"name": "invoice_number", "description": "Invoice number", "required": true},
            {"name": "invoice_date", "description": "Invoice date", "format": "date"},
            {"name": "iban", "description": "IBAN", "required": true},
        ]},
        {"name": "totals", "fields": [{"name": "total", "description": "Total amount", "type": "number"}]},
    ]}]})
}

/// Times and durations are not the point of a snapshot.
pub(crate) fn still() -> insta::Settings {
    let mut settings = insta::Settings::clone_current();
    settings.add_filter(r"\d+\.\d\d s\b", "<seconds> s");
    settings.add_filter(r" +\d+\.\d\d ms", " <ms>");
    // how sure an engine is changes with the engine
    settings.add_filter(r" *\d{1,3} %", " <n> %");
    settings.add_filter(r"ext_[0-9A-Z]{26}", "<id>");
    settings.add_filter(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC", "<time>");
    settings.add_filter(r"\d\d-\d\d \d\d:\d\d:\d\d", "<time>");
    settings.add_filter(r"127\.0\.0\.1:\d{2,5}", "127.0.0.1:<port>");
    settings.add_filter(r"/tmp/[^/\s]+", "<folder>");
    settings
}
