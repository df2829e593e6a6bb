//! Parts of a zipped document, unpacked under a budget.

use std::io::Cursor;

use bytes::Bytes;
use zip::{ZipArchive, result::ZipError};

use super::failed;
use crate::{
    containers::{Budget, ReadFault},
    error::{Error, Result},
};

/// A zipped document.
pub(super) struct Parts<'a> {
    filename: &'a str,
    archive: ZipArchive<Cursor<&'a Bytes>>,
}

impl<'a> Parts<'a> {
    pub(super) fn open(filename: &'a str, content: &'a Bytes) -> Result<Self> {
        let archive = ZipArchive::new(Cursor::new(content)).map_err(|e| failed(filename, e))?;
        Ok(Self { filename, archive })
    }

    /// Names of the parts that start and end so, in the order of the numbers in them.
    pub(super) fn names(&self, prefix: &str, suffix: &str) -> Vec<String> {
        let mut names: Vec<String> = self
            .archive
            .file_names()
            .flatten()
            .filter(|n| n.starts_with(prefix) && n.ends_with(suffix))
            .map(std::borrow::Cow::into_owned)
            .collect();
        let number = |name: &str| {
            let digits: String = name.chars().filter(char::is_ascii_digit).collect();
            digits.parse::<u64>().unwrap_or(0)
        };
        names.sort_by_key(|n| (number(n), n.clone()));
        names
    }

    /// A part, or nothing when there is none of that name.
    pub(super) fn read(&mut self, name: &str, budget: &mut Budget) -> Result<Option<Bytes>> {
        let filename = self.filename;
        let mut entry = match self.archive.by_name(name) {
            Ok(entry) => entry,
            Err(ZipError::FileNotFound) => return Ok(None),
            Err(why) => return Err(failed(filename, why)),
        };
        let packed = entry.compressed_size().max(1);
        budget
            .read(filename, packed, &mut entry)
            .map(Some)
            .map_err(|fault| match fault {
                ReadFault::Limit(error) => *error,
                ReadFault::Data(why) => failed(filename, why),
            })
    }

    /// A part that must be there.
    pub(super) fn need(&mut self, name: &str, budget: &mut Budget) -> Result<Bytes> {
        let filename = self.filename;
        self.read(name, budget)?
            .ok_or_else(|| -> Error { failed(filename, format!("it has no {name}")) })
    }

    /// Unpacks everything once, keeping nothing: a reader that unpacks by itself comes after.
    pub(super) fn weigh(&mut self, budget: &mut Budget) -> Result<()> {
        let names: Vec<String> = self
            .archive
            .file_names()
            .flatten()
            .map(std::borrow::Cow::into_owned)
            .collect();
        for name in names {
            drop(self.read(&name, budget)?);
        }
        Ok(())
    }
}
