//! Who this process is: its number (also after a fork) and what a lock file says about it.

use std::{
    ffi::OsStr,
    fs,
    io::Read,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU32, Ordering::Relaxed},
    },
};

/// What is the same for all locks of one process.
#[derive(Debug)]
pub(crate) struct Me {
    pub(crate) pid: u32,
    /// Clock ticks after boot: tells two processes with one number apart.
    pub(crate) start: u64,
    pub(crate) host: String,
    pub(crate) boot: String,
    /// The inode of the pid namespace: numbers of another one mean nothing here.
    pub(crate) namespace: u64,
    /// The program and its first arguments.
    pub(crate) command: String,
    /// The largest file it may write.
    pub(crate) file_limit: u64,
}

/// This process, read once; a forked child reads again.
pub(crate) fn me() -> Arc<Me> {
    static ME: OnceLock<Arc<Me>> = OnceLock::new();
    let pid = pid();
    match ME.get() {
        Some(me) if me.pid == pid => Arc::clone(me),
        Some(_) => Arc::new(read(pid)),
        None => {
            let me = Arc::new(read(pid));
            // Lost against another thread: both read the same.
            ME.set(Arc::clone(&me)).unwrap_or_default();
            me
        }
    }
}

fn read(pid: u32) -> Me {
    let stat = short_text("/proc/self/stat");
    let start = stat
        .rsplit_once(')')
        .and_then(|(_, rest)| rest.split_whitespace().nth(19))
        .and_then(|ticks| ticks.parse().ok())
        .unwrap_or(0);
    let namespace = fs::read_link("/proc/self/ns/pid")
        .ok()
        .and_then(|link| {
            let link = link.to_str()?;
            link.strip_prefix("pid:[")?.strip_suffix(']')?.parse().ok()
        })
        .unwrap_or(0);
    let mut boot = short_text("/proc/sys/kernel/random/boot_id");
    boot.retain(|c| c.is_ascii_hexdigit());
    Me {
        pid,
        start,
        host: rustix::system::uname()
            .nodename()
            .to_string_lossy()
            .into_owned(),
        boot,
        namespace,
        command: std::env::args_os()
            .take(4)
            .map(|argument: std::ffi::OsString| OsStr::to_string_lossy(&argument).into_owned())
            .collect::<Vec<_>>()
            .join(" "),
        file_limit: rustix::process::getrlimit(rustix::process::Resource::Fsize)
            .current
            .unwrap_or(u64::MAX),
    }
}

/// A file of a few words, in one read: the standard library takes many for one that calls itself
/// empty, and a command is short.
fn short_text(path: &str) -> String {
    let mut bytes = [0; 1024];
    let read = fs::File::open(path)
        .and_then(|mut file| file.read(&mut bytes))
        .unwrap_or(0);
    String::from_utf8_lossy(bytes.get(..read).unwrap_or_default()).into_owned()
}

/// The process number without a system call on Linux: kept in a page that the kernel wipes in a
/// forked child.
pub(crate) fn pid() -> u32 {
    let Some(page) = wiped_in_children() else {
        return std::process::id();
    };
    match page.load(Relaxed) {
        0 => {
            let pid = std::process::id();
            page.store(pid, Relaxed);
            pid
        }
        pid => pid,
    }
}

#[cfg(target_os = "linux")]
fn wiped_in_children() -> Option<&'static AtomicU32> {
    static PAGE: OnceLock<Option<&'static AtomicU32>> = OnceLock::new();
    // `get` and `set`, not `get_or_init`: a fork in the middle must not leave the child waiting.
    if let Some(page) = PAGE.get() {
        return *page;
    }
    let page = map_wiped_page();
    PAGE.set(page).unwrap_or_default();
    PAGE.get().copied().flatten()
}

#[cfg(not(target_os = "linux"))]
fn wiped_in_children() -> Option<&'static AtomicU32> {
    None
}

#[cfg(target_os = "linux")]
#[expect(
    unsafe_code,
    reason = "mmap and madvise have no safe wrapper; the page is new, private, zeroed, page-aligned, \
              4096 bytes long and never unmapped, so a shared reference to an AtomicU32 at its start \
              is valid for ever, also when the kernel wipes it to zero in a child"
)]
fn map_wiped_page() -> Option<&'static AtomicU32> {
    use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous};
    const PAGE: usize = 4096;
    // SAFETY: see the reason above; no existing memory is touched (address is a null hint).
    unsafe {
        let start = mmap_anonymous(
            std::ptr::null_mut(),
            PAGE,
            ProtFlags::READ | ProtFlags::WRITE,
            MapFlags::PRIVATE,
        )
        .ok()?;
        madvise(start, PAGE, Advice::LinuxWipeOnFork).ok()?;
        start.cast::<AtomicU32>().as_ref()
    }
}
