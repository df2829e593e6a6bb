//! Where lock files live, and whether that place can be trusted.

use std::{
    ffi::OsString,
    io,
    os::fd::{AsFd, OwnedFd},
    path::{Path, PathBuf},
    sync::{Arc, OnceLock},
};

use rustix::{
    fs::{FileType, Mode, OFlags, Stat},
    io::Errno,
};

use crate::{
    error::{LockError, Result},
    file::LockFile,
    name::lock_file_name,
    network,
};

/// Who may share the locks of a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    /// One user: the directory is ours and nobody else can write to it.
    Private,
    /// Several users: the directory is root's and sticky, or root's and a group's.
    System,
    /// Beside a resource: whatever directory that is, unless strangers can replace our file.
    Beside,
}

/// An open directory that was found trustworthy.
#[derive(Debug)]
pub(crate) struct Directory {
    pub(crate) path: PathBuf,
    pub(crate) fd: OwnedFd,
    pub(crate) euid: u32,
    pub(crate) scope: Scope,
    /// The mode of new lock files.
    pub(crate) file_mode: Mode,
}

impl Directory {
    pub(crate) fn open(path: &Path, scope: Scope, allow_network: bool) -> Result<Self> {
        let euid = rustix::process::geteuid().as_raw();
        if scope == Scope::Private || (scope == Scope::System && euid == 0) {
            create(path, scope)?;
        }
        let mut flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        if scope != Scope::Beside {
            flags |= OFlags::NOFOLLOW;
        }
        let insecure = |why: String| LockError::Insecure {
            path: path.to_owned(),
            why,
        };
        let fd = match rustix::fs::open(path, flags, Mode::empty()) {
            Ok(fd) => fd,
            Err(Errno::LOOP | Errno::NOTDIR) => {
                return Err(insecure(
                    "it is not a directory (or a symlink to one)".to_owned(),
                ));
            }
            Err(errno) => return Err(io_error("open directory", path, errno)),
        };
        let stat = rustix::fs::fstat(&fd).map_err(|errno| io_error("examine", path, errno))?;
        if let Some(why) = distrust(&stat, scope, euid) {
            return Err(insecure(why));
        }
        let network =
            network::of_descriptor(&fd).map_err(|errno| io_error("examine", path, errno))?;
        if !allow_network && let Some(file_system) = network {
            return Err(LockError::Network {
                path: path.to_owned(),
                file_system,
            });
        }
        let shared_by_all = stat.st_mode & 0o002 != 0;
        let file_mode = match scope {
            Scope::System if shared_by_all => Mode::from_raw_mode(0o666),
            Scope::System => Mode::from_raw_mode(0o660),
            Scope::Private | Scope::Beside => Mode::from_raw_mode(0o600),
        };
        let path = path.to_owned();
        Ok(Self {
            path,
            fd,
            euid,
            scope,
            file_mode,
        })
    }
}

fn create(path: &Path, scope: Scope) -> Result<()> {
    let mode = if scope == Scope::System {
        0o1777
    } else {
        0o700
    };
    match rustix::fs::mkdir(path, Mode::from_raw_mode(mode)) {
        // mkdir obeys the umask; a private directory may only get stricter by it.
        Ok(()) if scope == Scope::System => rustix::fs::chmod(path, Mode::from_raw_mode(mode))
            .map_err(|errno| io_error("set the mode of", path, errno)),
        Ok(()) | Err(Errno::EXIST) => Ok(()),
        Err(errno) => Err(io_error("create directory", path, errno)),
    }
}

/// Why this directory could let strangers in, if it could.
fn distrust(stat: &Stat, scope: Scope, euid: u32) -> Option<String> {
    let mode = stat.st_mode & 0o7777;
    let sticky = mode & 0o1000 != 0;
    if FileType::from_raw_mode(stat.st_mode) != FileType::Directory {
        return Some("it is not a directory".to_owned());
    }
    match scope {
        Scope::Private if stat.st_uid != euid => {
            Some(format!("it belongs to uid {}, not {euid}", stat.st_uid))
        }
        Scope::Private if mode & 0o022 != 0 => Some(format!(
            "others can write to it (mode {mode:o}, wanted 0700)"
        )),
        Scope::System if stat.st_uid != 0 => Some(format!(
            "it belongs to uid {}, a system lock directory must be root's",
            stat.st_uid
        )),
        Scope::System | Scope::Beside if mode & 0o002 != 0 && !sticky => Some(format!(
            "everybody can replace files in it (mode {mode:o}, not sticky)"
        )),
        _ => None,
    }
}

pub(crate) fn io_error(action: &'static str, path: &Path, errno: Errno) -> LockError {
    LockError::Io {
        action,
        path: path.to_owned(),
        source: io::Error::from(errno),
    }
}

/// A directory of named locks.
///
/// Two callers exclude each other if they use the same directory and the same name.
#[derive(Clone, Debug)]
pub struct LockDir {
    pub(crate) directory: Arc<Directory>,
    allow_network: bool,
}

static DEFAULT: OnceLock<LockDir> = OnceLock::new();

impl LockDir {
    /// This user's directory: the one of [`LockDir::make_default`], else `$LOCKFN_DIR`, else
    /// `/tmp/lockfn-UID` (root: `/run/lockfn`).
    ///
    /// Not `$TMPDIR` or `$XDG_RUNTIME_DIR`: those differ between a login shell, cron and a service,
    /// and two callers that disagree on the directory do not exclude each other.
    pub fn user_default() -> Result<&'static Self> {
        if let Some(dir) = DEFAULT.get() {
            return Ok(dir);
        }
        let dir = Self::private(Self::user_default_path(std::env::var_os("LOCKFN_DIR")))?;
        Ok(DEFAULT.get_or_init(|| dir))
    }

    /// The path of [`LockDir::user_default`] for a value of `LOCKFN_DIR`.
    pub fn user_default_path(lockfn_dir: Option<OsString>) -> PathBuf {
        match lockfn_dir {
            Some(dir) if !dir.is_empty() => PathBuf::from(dir),
            _ => match rustix::process::geteuid().as_raw() {
                0 if Path::new("/run").is_dir() => PathBuf::from("/run/lockfn"),
                uid => PathBuf::from(format!("/tmp/lockfn-{uid}")),
            },
        }
    }

    /// Makes this the directory of [`LockDir::user_default`], and so of all attributes without
    /// `path`, for the rest of this process. Gives it back if another one is in use already.
    pub fn make_default(self) -> std::result::Result<(), Self> {
        DEFAULT.set(self)
    }

    /// A directory of one user. Created with mode 0700 if it is missing; refused unless it is a
    /// real directory, ours, and nobody else can write to it.
    pub fn private(path: impl AsRef<Path>) -> Result<Self> {
        Self::open(path.as_ref(), Scope::Private, false)
    }

    /// As [`LockDir::private`], also on NFS and its relatives. Only for a file system whose server
    /// keeps the locks of all its clients.
    pub fn private_on_network(path: impl AsRef<Path>) -> Result<Self> {
        Self::open(path.as_ref(), Scope::Private, true)
    }

    /// The directory shared by all users of the host: `/run/lockfn.d`. Root creates it, at the
    /// first use or by the tmpfiles.d line `d /run/lockfn.d 1777 root root -` (or mode 2770 and a
    /// group). Any of those users can hold any of these locks.
    pub fn system() -> Result<Self> {
        Self::open(Path::new("/run/lockfn.d"), Scope::System, false)
    }

    /// As [`LockDir::system`], at another path: root's, and sticky if everybody can write to it.
    pub fn shared(path: impl AsRef<Path>) -> Result<Self> {
        Self::open(path.as_ref(), Scope::System, false)
    }

    fn open(path: &Path, scope: Scope, allow_network: bool) -> Result<Self> {
        let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        let directory = Arc::new(Directory::open(&path, scope, allow_network)?);
        Ok(Self {
            directory,
            allow_network,
        })
    }

    /// The directory's path.
    pub fn path(&self) -> &Path {
        &self.directory.path
    }

    /// The lock called `name`.
    pub fn lock(&self, name: &str) -> LockFile {
        self.file(&lock_file_name(name, None)).called(name)
    }

    /// The lock called `name` for one `key`: locks of different keys do not exclude each other.
    pub fn keyed(&self, name: &str, key: &str) -> LockFile {
        self.file(&lock_file_name(name, Some(key)))
            .called(format!("{name}@{key}"))
    }

    /// The lock with this file name.
    pub(crate) fn file(&self, file_name: &str) -> LockFile {
        LockFile::in_directory(&self.directory, self.allow_network, file_name)
    }

    /// All locks of this directory, by file name.
    pub fn locks(&self) -> Result<Vec<LockFile>> {
        let failed = |errno| io_error("read directory", self.path(), errno);
        let mut names = Vec::new();
        for entry in rustix::fs::Dir::read_from(self.directory.fd.as_fd()).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            if let Ok(name) = entry.file_name().to_str()
                && name.strip_suffix(".lock").is_some()
            {
                names.push(name.to_owned());
            }
        }
        names.sort_unstable();
        Ok(names.iter().map(|name| self.file(name)).collect())
    }
}
