//! Archives and mails, taken apart in memory: every member a file of its own, all under one budget.

mod archives;
mod budget;
mod mail;

use bytes::Bytes;
use flydocs_contract::ErrorCode;

pub(crate) use budget::{Budget, ReadFault};

use crate::{
    error::{Error, Result},
    sniff::Kind,
};

/// A file inside a container.
#[derive(Debug)]
pub(crate) struct Member {
    /// Its path inside the container.
    pub(crate) path: String,
    pub(crate) content: Bytes,
    /// What the container says it is.
    pub(crate) declared: Option<String>,
}

/// The members of a container, in their order.
pub(crate) fn members(
    filename: &str,
    kind: Kind,
    content: &Bytes,
    budget: &mut Budget,
) -> Result<Vec<Member>> {
    match kind {
        Kind::Zip => archives::zip(filename, content, budget),
        Kind::Tar => archives::tar(filename, content, budget),
        Kind::Gzip => archives::gzip(filename, content, budget),
        Kind::SevenZip => archives::seven_zip(filename, content, budget),
        Kind::Eml => mail::eml(filename, content, budget),
        Kind::Msg => mail::msg(filename, content, budget),
        _ => Err(Error::internal(format!("{} is no container", kind.noun()))),
    }
}

fn broken(filename: &str, why: impl std::fmt::Display) -> Error {
    Error::refused(
        ErrorCode::ArchiveExtractionFailed,
        filename,
        format!("{filename} cannot be unpacked: {why}"),
    )
}

fn encrypted(filename: &str) -> Error {
    Error::refused(
        ErrorCode::EncryptedFile,
        filename,
        format!("{filename} opens only with a password: send it without one"),
    )
}

fn unsafe_path(filename: &str, path: &str) -> Error {
    Error::refused(
        ErrorCode::UnsafeArchive,
        filename,
        format!("{filename} has a member that reaches outside of it: {path:?}"),
    )
}

/// Files that operating systems leave in archives.
fn is_litter(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    path.starts_with("__MACOSX/")
        || matches!(name, ".DS_Store" | "Thumbs.db" | "desktop.ini")
        || name.starts_with("._")
}

/// A path that stays inside, with forward slashes.
fn inside(filename: &str, path: &str) -> Result<String> {
    let path = path.replace('\\', "/");
    let leaves = path.starts_with('/')
        || path.split('/').any(|part| part == "..")
        || path.as_bytes().get(1) == Some(&b':')
        || path.contains('\0');
    if leaves {
        return Err(unsafe_path(filename, &path));
    }
    let parts: Vec<&str> = path
        .split('/')
        .filter(|p| !p.is_empty() && *p != ".")
        .collect();
    Ok(parts.join("/"))
}
