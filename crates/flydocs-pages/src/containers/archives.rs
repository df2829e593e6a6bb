//! ZIP, TAR, GZIP and 7z.

use std::io::{Cursor, Read};

use bytes::Bytes;
use zip::result::ZipError;

use super::{Budget, Member, broken, budget::ReadFault, encrypted, inside, is_litter, unsafe_path};
use crate::error::Result;

/// Memory an LZMA dictionary may ask for, in KiB.
const LZMA_KIB: usize = 256 * 1024;

fn fault(filename: &str, fault: ReadFault) -> crate::Error {
    match fault {
        ReadFault::Limit(error) => *error,
        ReadFault::Data(why) => broken(filename, why),
    }
}

pub(super) fn zip(filename: &str, content: &Bytes, budget: &mut Budget) -> Result<Vec<Member>> {
    let failed = |why: ZipError| match why {
        ZipError::UnsupportedArchive(ZipError::PASSWORD_REQUIRED) => encrypted(filename),
        why => broken(filename, why),
    };
    let mut archive = zip::ZipArchive::new(Cursor::new(content)).map_err(failed)?;
    let mut members = Vec::new();
    for index in 0..archive.len() {
        let entry = archive.by_index_raw(index).map_err(failed)?;
        if entry.encrypted() {
            return Err(encrypted(filename));
        }
        drop(entry);
        let mut entry = archive.by_index(index).map_err(failed)?;
        let name = entry.name().map_err(failed)?.into_owned();
        let path = inside(filename, &name)?;
        if entry
            .unix_mode()
            .is_some_and(|mode| mode & 0o170_000 == 0o120_000)
        {
            return Err(unsafe_path(filename, &path));
        }
        if entry.is_dir() || is_litter(&path) {
            continue;
        }
        budget.count(filename)?;
        let packed = entry.compressed_size().max(1);
        let content = budget
            .read(filename, packed, &mut entry)
            .map_err(|why| fault(filename, why))?;
        members.push(Member {
            path,
            content,
            declared: None,
        });
    }
    Ok(members)
}

pub(super) fn tar(filename: &str, content: &Bytes, budget: &mut Budget) -> Result<Vec<Member>> {
    let mut archive = tar::Archive::new(Cursor::new(content));
    let mut members = Vec::new();
    let entries = archive.entries().map_err(|e| broken(filename, e))?;
    for entry in entries {
        let mut entry = entry.map_err(|e| broken(filename, e))?;
        let name = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
        let path = inside(filename, &name)?;
        let kind = entry.header().entry_type();
        if kind.is_symlink() || kind.is_hard_link() {
            return Err(unsafe_path(filename, &path));
        }
        if !kind.is_file() || is_litter(&path) {
            continue;
        }
        budget.count(filename)?;
        let content = budget
            .read(filename, 0, &mut entry)
            .map_err(|why| fault(filename, why))?;
        members.push(Member {
            path,
            content,
            declared: None,
        });
    }
    Ok(members)
}

pub(super) fn gzip(filename: &str, content: &Bytes, budget: &mut Budget) -> Result<Vec<Member>> {
    let mut stream = flate2::read::MultiGzDecoder::new(content.as_ref());
    budget.count(filename)?;
    let name = filename.rsplit('/').next().unwrap_or(filename);
    let path = match name.rsplit_once('.') {
        Some((stem, ending)) if ending.eq_ignore_ascii_case("tgz") => format!("{stem}.tar"),
        Some((stem, ending)) if ending.eq_ignore_ascii_case("gz") => stem.to_owned(),
        _ => "content".to_owned(),
    };
    let unpacked = budget
        .read(filename, content.len() as u64, &mut stream)
        .map_err(|why| fault(filename, why))?;
    if unpacked == content {
        return Err(broken(filename, "it unpacks to itself"));
    }
    Ok(vec![Member {
        path,
        content: unpacked,
        declared: None,
    }])
}

pub(super) fn seven_zip(
    filename: &str,
    content: &Bytes,
    budget: &mut Budget,
) -> Result<Vec<Member>> {
    use sevenz_rust2::{ArchiveReader, Error as Fault, Password};
    let failed = |why: &Fault| match why {
        Fault::PasswordRequired | Fault::MaybeBadPassword(_) => encrypted(filename),
        why => broken(filename, why),
    };
    let cursor = Cursor::new(content.as_ref());
    let mut archive = ArchiveReader::new_with_memory_limit(cursor, Password::empty(), LZMA_KIB)
        .map_err(|e| failed(&e))?;
    archive.set_thread_count(1);
    let whole = content.len() as u64;
    let mut members = Vec::new();
    let mut stopped = None;
    let outcome = archive.for_each_entries(|entry, from| {
        let mut one = || -> Result<Option<Member>> {
            let path = inside(filename, &entry.name)?;
            if entry.is_directory || is_litter(&path) {
                std::io::copy(from, &mut std::io::sink()).map_err(|e| broken(filename, e))?;
                return Ok(None);
            }
            budget.count(filename)?;
            // solid archives share their packed bytes: the whole archive is what a member comes from
            let content = budget
                .read(filename, whole, &mut &mut *from as &mut dyn Read)
                .map_err(|why| fault(filename, why))?;
            Ok(Some(Member {
                path,
                content,
                declared: None,
            }))
        };
        match one() {
            Ok(member) => {
                members.extend(member);
                Ok(true)
            }
            Err(error) => {
                stopped = Some(error);
                Ok(false)
            }
        }
    });
    if let Some(error) = stopped {
        return Err(error);
    }
    outcome.map_err(|e| failed(&e))?;
    Ok(members)
}
