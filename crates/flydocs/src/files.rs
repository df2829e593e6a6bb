//! The files of the command line. None is read beyond its limit, whatever it says of its size; one that is written
//! is there whole or not at all.

use std::{
    fs::{File, Permissions},
    io::{self, ErrorKind, Read, Write as _},
    os::unix::fs::PermissionsExt as _,
    path::Path,
};

use flydocs_contract::ErrorCode;

use crate::{
    exit::Exit,
    failure::Failure,
    settings::{Bytes, Value as _},
};

/// What a file may have that is no document: types, keys, the body of a webhook.
pub(crate) const SMALL: u64 = 16 << 20;

/// A document; `limit` is `FLYDOCS_MAX_BYTES`.
pub(crate) async fn document(path: &Path, limit: u64) -> Result<Vec<u8>, Failure> {
    let place = path.to_owned();
    let read = tokio::task::spawn_blocking(move || at_most(&place, limit));
    let read = read.await.map_err(anyhow::Error::new)?;
    read.map_err(|error| Failure::unreadable(path, &error))?
        .ok_or_else(|| {
            let sentence = format!(
                "{} has more than {} bytes, the limit ({}): split it, or raise FLYDOCS_MAX_BYTES",
                path.display(),
                limit,
                Bytes(limit).show()
            );
            Failure::new(ErrorCode::FileTooLarge, sentence, Exit::DocumentFailed)
        })
}

/// A file that is no document.
pub(crate) fn small(path: &Path) -> Result<Vec<u8>, Failure> {
    at_most(path, SMALL)
        .map_err(|error| Failure::unreadable(path, &error))?
        .ok_or_else(|| larger_than_small(&path.display().to_string()))
}

/// The whole of stdin.
pub(crate) fn stdin() -> Result<Vec<u8>, Failure> {
    bounded(io::stdin().lock(), SMALL)
        .map_err(|error| anyhow::Error::new(error).context("stdin cannot be read"))?
        .ok_or_else(|| larger_than_small("stdin"))
}

fn larger_than_small(name: &str) -> Failure {
    let sentence = format!(
        "{name} has more than {SMALL} bytes ({}), the limit of a file that is no document: is it the right one?",
        Bytes(SMALL).show()
    );
    Failure::new(ErrorCode::FileTooLarge, sentence, Exit::DocumentFailed)
}

/// The content, or nothing when there is more of it than `limit`.
pub(crate) fn at_most(path: &Path, limit: u64) -> io::Result<Option<Vec<u8>>> {
    let file = File::open(path)?;
    let facts = file.metadata()?;
    if facts.is_file() && facts.len() > limit {
        return Ok(None);
    }
    bounded(file, limit)
}

fn bounded(from: impl Read, limit: u64) -> io::Result<Option<Vec<u8>>> {
    let mut content = Vec::new();
    from.take(limit.saturating_add(1))
        .read_to_end(&mut content)?;
    Ok((content.len() as u64 <= limit).then_some(content))
}

/// Writes a file. What stood there stays until all of the new content is on the disk beside it.
pub(crate) fn write(path: &Path, content: &[u8]) -> Result<(), Failure> {
    put(path, content).map_err(|error| unwritable(path, &error))
}

fn put(path: &Path, content: &[u8]) -> io::Result<()> {
    // a link goes on pointing to it
    let place = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    if std::fs::metadata(&place).is_ok_and(|facts| !facts.is_file() && !facts.is_dir()) {
        // nothing can be put in the place of a pipe or a device
        return std::fs::write(&place, content);
    }
    let folder = place
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty())
        .unwrap_or_else(|| Path::new("."));
    let mut beside = tempfile::Builder::new()
        .prefix(".flydocs-")
        .suffix(".part")
        .permissions(Permissions::from_mode(0o666))
        .tempfile_in(folder)?;
    beside.write_all(content)?;
    // Before the name: a power cut must not leave the new name with nothing behind it.
    beside.as_file().sync_all()?;
    beside.persist(&place).map_err(|failed| failed.error)?;
    Ok(())
}

/// A path that cannot be written.
pub(crate) fn unwritable(path: &Path, error: &io::Error) -> Failure {
    let why = match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
            "the disk is full; make room, or choose another place".to_owned()
        }
        ErrorKind::PermissionDenied => {
            "that is not permitted; check the rights of its folder".to_owned()
        }
        ErrorKind::ReadOnlyFilesystem => {
            "its file system is read-only; choose another place".to_owned()
        }
        ErrorKind::NotFound => "its folder is not there; make it, or check the path".to_owned(),
        ErrorKind::IsADirectory => "it is a directory; choose another name".to_owned(),
        ErrorKind::AlreadyExists | ErrorKind::NotADirectory => {
            "a file stands where a folder is needed; choose another place".to_owned()
        }
        _ => error.to_string(),
    };
    Failure::new(
        ErrorCode::FileUnwritable,
        format!("{} cannot be written: {why}", path.display()),
        Exit::Unexpected,
    )
}
