//! What the kernel says about a file.

use std::{ffi::CStr, os::fd::AsFd};

use rustix::fs::{AtFlags, CWD, FileType, Stat};

/// The part of a file's metadata that locks care about.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Facts {
    /// Device and inode.
    pub(crate) file: (u64, u64),
    pub(crate) kind: FileType,
    pub(crate) links: u64,
    pub(crate) uid: u32,
}

impl Facts {
    /// Asked without times: a kernel with fine-grained change times that is asked for one makes a
    /// new one at the next write, and that costs as much as the write itself.
    pub(crate) fn of(fd: impl AsFd) -> rustix::io::Result<Self> {
        #[cfg(target_os = "linux")]
        if let Some(facts) = linux::look(fd.as_fd(), c"", AtFlags::EMPTY_PATH)? {
            return Ok(facts);
        }
        Ok(Self::from(&rustix::fs::fstat(fd)?))
    }

    /// The same of what is at a path, itself if it is a symlink.
    pub(crate) fn at(path: &CStr) -> rustix::io::Result<Self> {
        #[cfg(target_os = "linux")]
        if let Some(facts) = linux::look(CWD, path, AtFlags::SYMLINK_NOFOLLOW)? {
            return Ok(facts);
        }
        Ok(Self::from(&rustix::fs::statat(
            CWD,
            path,
            AtFlags::SYMLINK_NOFOLLOW,
        )?))
    }
}

impl From<&Stat> for Facts {
    #[cfg_attr(
        target_os = "linux",
        expect(
            clippy::unnecessary_cast,
            reason = "these types differ between systems"
        )
    )]
    fn from(stat: &Stat) -> Self {
        Self {
            file: (stat.st_dev as u64, stat.st_ino as u64),
            kind: FileType::from_raw_mode(stat.st_mode),
            links: stat.st_nlink as u64,
            uid: stat.st_uid,
        }
    }
}

#[cfg(target_os = "linux")]
mod linux {
    use std::{ffi::CStr, os::fd::BorrowedFd};

    use rustix::{
        fs::{AtFlags, FileType, StatxFlags},
        io::Errno,
    };

    use super::Facts;

    /// `None` where statx is missing or forbidden.
    pub(super) fn look(
        dir: BorrowedFd<'_>,
        path: &CStr,
        flags: AtFlags,
    ) -> rustix::io::Result<Option<Facts>> {
        let wanted = StatxFlags::TYPE | StatxFlags::NLINK | StatxFlags::UID | StatxFlags::INO;
        match rustix::fs::statx(dir, path, flags, wanted) {
            Ok(found) => Ok(Some(Facts {
                file: (
                    rustix::fs::makedev(found.stx_dev_major, found.stx_dev_minor),
                    found.stx_ino,
                ),
                kind: FileType::from_raw_mode(found.stx_mode.into()),
                links: found.stx_nlink.into(),
                uid: found.stx_uid,
            })),
            Err(Errno::NOSYS | Errno::PERM | Errno::INVAL) => Ok(None),
            Err(errno) => Err(errno),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_ways_of_asking_agree() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let path = std::ffi::CString::new(file.path().to_str().unwrap()).unwrap();
        let all = Facts::from(&rustix::fs::fstat(file.as_file()).unwrap());
        for facts in [
            Facts::of(file.as_file()).unwrap(),
            Facts::at(&path).unwrap(),
        ] {
            assert_eq!(
                (facts.file, facts.kind, facts.links, facts.uid),
                (all.file, all.kind, all.links, all.uid)
            );
        }
        assert_eq!(all.links, 1);
    }
}
