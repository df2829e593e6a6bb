//! Recognises the file systems where a lock of one host may exclude nobody.

use std::{
    io,
    os::fd::{AsFd, OwnedFd},
    path::Path,
};

use rustix::fs::{Mode, OFlags};

/// The name of the network file system (`"nfs"`, `"smb"`, `"9p"`, `"fuse"`, ...) that `path` is on,
/// or `None` if it is local. If `path` does not exist yet, its nearest existing parent is asked.
///
/// Locks over such a file system may be local to one host, may hang, or may be refused; lockfn and
/// everything built on it refuses them unless told otherwise.
pub fn network_filesystem(path: &Path) -> io::Result<Option<&'static str>> {
    let absolute = std::path::absolute(path)?;
    let mut look = absolute.as_path();
    loop {
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
        #[cfg(target_os = "linux")]
        let flags = flags | OFlags::PATH;
        match rustix::fs::open(look, flags, Mode::empty()) {
            Ok(fd) => return Ok(of_descriptor(&fd)?),
            Err(rustix::io::Errno::NOENT) => match look.parent() {
                Some(parent) => look = parent,
                None => return Ok(None),
            },
            Err(errno) => return Err(errno.into()),
        }
    }
}

/// The name of the network file system that this is on.
pub(crate) fn of_descriptor(fd: &OwnedFd) -> rustix::io::Result<Option<&'static str>> {
    let found = rustix::fs::fstatfs(fd.as_fd())?;
    #[cfg(target_os = "linux")]
    let network = network_magic(found.f_type as u32);
    #[cfg(not(target_os = "linux"))]
    let network = name_of(&found);
    Ok(network)
}

/// The numbers of `linux/magic.h` and the file systems' own headers.
#[cfg(target_os = "linux")]
fn network_magic(magic: u32) -> Option<&'static str> {
    Some(match magic {
        0x0000_6969 => "nfs",
        0x0000_517b | 0xff53_4d42 | 0xfe53_4d42 => "smb",
        0x0102_1997 => "9p",
        0x6573_5546 => "fuse",
        0x00c3_6400 => "ceph",
        0x5346_414f | 0x6b41_4653 => "afs",
        0x0bd0_0bd0 => "lustre",
        0x7461_636f => "ocfs2",
        0x0116_1970 => "gfs2",
        0x7375_7245 => "coda",
        0x0000_564c => "ncp",
        0x4750_4653 => "gpfs",
        0x1983_0326 => "beegfs",
        0x786f_4256 => "vboxsf",
        _ => return None,
    })
}

#[cfg(target_vendor = "apple")]
fn name_of(found: &rustix::fs::StatFs) -> Option<&'static str> {
    let name: Vec<u8> = found
        .f_fstypename
        .iter()
        .take_while(|&&c| c != 0)
        .map(|&c| c as u8)
        .collect();
    Some(match name.as_slice() {
        b"nfs" => "nfs",
        b"smbfs" => "smb",
        b"afpfs" => "afp",
        b"webdav" => "webdav",
        b"macfuse" | b"osxfuse" => "fuse",
        _ => return None,
    })
}

#[cfg(not(any(target_os = "linux", target_vendor = "apple")))]
fn name_of(_: &rustix::fs::StatFs) -> Option<&'static str> {
    None
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn nfs_and_its_relatives_are_recognised_and_local_ones_are_not() {
        for (magic, name) in [
            (0x6969, "nfs"),
            (0xff53_4d42, "smb"),
            (0x0102_1997, "9p"),
            (0x6573_5546, "fuse"),
        ] {
            assert_eq!(network_magic(magic), Some(name));
        }
        // ext4, xfs, btrfs, tmpfs, overlay, zfs
        for magic in [
            0xef53,
            0x5846_5342,
            0x9123_683e,
            0x0102_1994,
            0x794c_7630,
            0x2fc1_2fc1,
        ] {
            assert_eq!(network_magic(magic), None);
        }
    }

    #[test]
    fn a_path_that_does_not_exist_yet_is_asked_through_its_parent() {
        assert_eq!(
            network_filesystem(Path::new("/dev/shm/no/such/file")).unwrap(),
            None
        );
    }
}
