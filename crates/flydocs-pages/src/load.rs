//! From a source to rows: sniffed, taken apart, every leaf checked and its pages counted.

use bytes::Bytes;
use flydocs_contract::ErrorCode;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use tokio_util::sync::CancellationToken;

use crate::{
    containers::{self, Budget},
    error::{Error, Result},
    laid_out, office,
    options::{OfficeConverter, Options},
    pdf, raster,
    sniff::{Found, Group, Kind, sniff},
};

/// A row before its content is put to it.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct RowFacts {
    pub(crate) filename: String,
    pub(crate) kind: Kind,
    /// 0 when a converter has to say.
    pub(crate) page_count: u32,
    pub(crate) sha256: String,
    pub(crate) warnings: Vec<String>,
    /// The source itself, not a member of it.
    pub(crate) whole: bool,
}

/// Loads a source; one blob for each row that is a member of it.
pub(crate) fn load(
    filename: &str,
    content: &Bytes,
    declared: Option<&str>,
    options: &Options,
    cancel: &CancellationToken,
) -> Result<(Vec<RowFacts>, Vec<Bytes>)> {
    let mut loader = Loader {
        options,
        cancel,
        budget: Budget::new(options),
        rows: Vec::new(),
        blobs: Vec::new(),
    };
    loader.file(filename, content, declared, 0)?;
    Ok((loader.rows, loader.blobs))
}

struct Loader<'a> {
    options: &'a Options,
    cancel: &'a CancellationToken,
    budget: Budget,
    rows: Vec<RowFacts>,
    blobs: Vec<Bytes>,
}

impl Loader<'_> {
    fn file(
        &mut self,
        name: &str,
        content: &Bytes,
        declared: Option<&str>,
        depth: u32,
    ) -> Result<()> {
        crate::stop::check(self.cancel)?;
        let size = content.len() as u64;
        if size == 0 {
            return Err(Error::refused(
                ErrorCode::EmptyFile,
                name,
                format!("{name} has no bytes: export or fetch it again"),
            ));
        }
        if size > self.options.max_bytes {
            return Err(Error::too_large(name, self.options.max_bytes, size));
        }
        let kind = match sniff(content, name, declared) {
            Found::Kind(kind) => kind,
            Found::Other(other) => {
                return Err(Error::unsupported(name, other.what(), other.advice()));
            }
            Found::Encrypted => {
                return Err(Error::refused(
                    ErrorCode::EncryptedFile,
                    name,
                    format!("{name} opens only with a password: send it without one"),
                ));
            }
        };
        if kind.group() == Group::Container {
            return self.container(name, kind, content, depth + 1);
        }
        let (page_count, warnings) = self.leaf(name, kind, content)?;
        self.rows.push(RowFacts {
            filename: name.to_owned(),
            kind,
            page_count,
            sha256: hex::encode(Sha256::digest(content)),
            warnings,
            whole: depth == 0,
        });
        if depth > 0 {
            self.blobs.push(content.clone());
        }
        Ok(())
    }

    fn leaf(&self, name: &str, kind: Kind, content: &Bytes) -> Result<(u32, Vec<String>)> {
        let pages = match kind.group() {
            Group::Pdf => pdf::count_pages(name, content, self.options)?,
            Group::Image => raster::pages(name, content, kind, self.options)?,
            Group::Text => laid_out::text_to_pdf(name, kind, content, self.options)?.1,
            Group::Office if self.options.office_converter == OfficeConverter::None => {
                let (_, pages) = office::text_to_pdf(name, kind, content, self.options)?;
                return Ok((pages, vec![office::WARNING.to_owned()]));
            }
            Group::Office | Group::Container => 0,
        };
        Ok((pages, Vec::new()))
    }

    /// Members of kinds that are not read are left out, and the first row says so. A member that is damaged,
    /// locked or over a limit refuses the whole: nothing goes missing in silence.
    fn container(&mut self, name: &str, kind: Kind, content: &Bytes, depth: u32) -> Result<()> {
        self.budget.enter(name, depth)?;
        let first = self.rows.len();
        let members = containers::members(name, kind, content, &mut self.budget)?;
        if members.is_empty() {
            return Err(Error::refused(
                ErrorCode::EmptyFile,
                name,
                format!("{name} has no files in it"),
            ));
        }
        let mut left_out = Vec::new();
        for member in members {
            let path = format!("{name}/{}", member.path);
            match self.file(&path, &member.content, member.declared.as_deref(), depth) {
                Ok(()) => {}
                Err(error) if is_skippable(error.code()) => left_out.push(error),
                Err(error) => return Err(error),
            }
        }
        match self.rows.get_mut(first) {
            Some(row) => row
                .warnings
                .extend(left_out.iter().map(|error| format!("left out: {error}"))),
            None => {
                return Err(left_out.into_iter().next().unwrap_or_else(|| {
                    Error::unsupported(name, kind.noun(), "and nothing in it is read")
                }));
            }
        }
        Ok(())
    }
}

const fn is_skippable(code: ErrorCode) -> bool {
    matches!(code, ErrorCode::UnsupportedFile | ErrorCode::EmptyFile)
}
