//! `doctor`: would locks work here, and would everybody who should meet use the same ones?

use std::{fs, path::Path, time::Duration};

use lockfn::{LockDir, LockError, network_filesystem};

use crate::{LOCK_ERROR, options::Options, print};

const A_MONTH: Duration = Duration::from_hours(30 * 24);

/// What was found, line by line.
#[derive(Debug, Default)]
struct Findings {
    text: String,
    broken: bool,
}

impl Findings {
    fn ok(&mut self, what: &str) {
        self.line("ok  ", what);
    }

    fn warn(&mut self, what: &str) {
        self.line("warn", what);
    }

    fn bad(&mut self, what: &str) {
        self.broken = true;
        self.line("BAD ", what);
    }

    fn line(&mut self, mark: &str, what: &str) {
        self.text.push_str(&format!("{mark}  {what}\n"));
    }
}

pub(crate) fn doctor(options: &Options) -> u8 {
    let mut findings = Findings::default();
    let variable = std::env::var_os("LOCKFN_DIR");
    let path = if options.system {
        Path::new("/run/lockfn.d").to_owned()
    } else {
        LockDir::user_default_path(variable.clone())
    };
    let why = match (&variable, options.system) {
        (Some(set), false) if !set.is_empty() => "from LOCKFN_DIR: everybody else must see it too",
        (_, true) => "shared by all users",
        _ => "this user's default",
    };
    findings.ok(&format!("lock directory: {} ({why})", path.display()));
    check_file_system(&mut findings, &path, options.allow_network);
    check_private_mount(&mut findings, &path);
    match options.dir() {
        Ok(dir) => {
            findings.ok("directory: owner and mode are safe");
            check_locking(&mut findings, &dir);
            check_files(&mut findings, &dir);
        }
        Err(error) => findings.bad(&with_source(&error)),
    }
    check_kernel(&mut findings);
    print(&findings.text);
    if findings.broken { LOCK_ERROR } else { 0 }
}

fn check_file_system(findings: &mut Findings, path: &Path, allowed: bool) {
    match network_filesystem(path) {
        Ok(None) => findings.ok("file system: local"),
        Ok(Some(name)) if allowed => {
            findings.warn(&format!(
                "file system: {name}, allowed: its server must keep the locks"
            ));
        }
        Ok(Some(name)) => findings.bad(&format!(
            "file system: {name}: a lock may exclude nobody; choose a local LOCKFN_DIR"
        )),
        Err(error) => findings.warn(&format!("file system: cannot tell ({error})")),
    }
}

fn check_private_mount(findings: &mut Findings, path: &Path) {
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    match private_mount(&mounts, path) {
        Some(root) => findings.warn(&format!(
            "private directory: it is {root} here (PrivateTmp= or a container); processes outside use another one and are not excluded: set LOCKFN_DIR to a shared directory"
        )),
        None => findings.ok("private directory: no, other processes of this user see the same one"),
    }
}

/// The directory that a mount (PrivateTmp=, a bind mount of a container) puts where `path` is.
fn private_mount(mountinfo: &str, path: &Path) -> Option<String> {
    // "36 35 98:0 /root /mount/point rw,noatime ..."
    let mut best: Option<(usize, &str)> = None;
    for line in mountinfo.lines() {
        let mut words = line.split(' ').skip(3);
        let (Some(root), Some(point)) = (words.next(), words.next()) else {
            continue;
        };
        let depth = Path::new(point).components().count();
        if path.starts_with(point) && best.is_none_or(|(deepest, _)| depth >= deepest) {
            best = Some((depth, root));
        }
    }
    best.map(|(_, root)| root)
        .filter(|root| *root != "/")
        .map(str::to_owned)
}

fn check_locking(findings: &mut Findings, dir: &LockDir) {
    let lock = dir.lock("lockfn doctor");
    match lock.try_lock() {
        Ok(Some(guard)) => {
            match lock.try_lock() {
                Ok(None) => findings.ok("locks: they exclude"),
                Ok(Some(_)) => {
                    findings.bad("locks: two holders at once: this file system does not keep them");
                }
                Err(error) => findings.bad(&format!("locks: {}", with_source(&error))),
            }
            if lock.kernel_holder() != Some(std::process::id()) {
                findings
                    .warn("holders: /proc/locks does not show them; `status` relies on records");
            }
            if lock
                .last_holder()
                .is_none_or(|holder| holder.token != guard.token())
            {
                findings.warn(
                    "records: cannot be written (disk full?); locks work, messages name nobody",
                );
            }
        }
        Ok(None) => findings.warn("locks: somebody else is running doctor"),
        Err(error) => findings.bad(&format!("locks: {}", with_source(&error))),
    }
    // Nobody's lock any more; a leftover of a failure here is found by the next gc.
    lock.remove_if_unused(Duration::ZERO).unwrap_or_default();
}

fn check_files(findings: &mut Findings, dir: &LockDir) {
    let locks = match dir.locks() {
        Ok(locks) => locks,
        Err(error) => return findings.bad(&with_source(&error)),
    };
    let (mut stale, mut died, mut held) = (0, 0, 0);
    for lock in &locks {
        match lock.is_held() {
            Ok(true) => held += 1,
            Ok(false) => {
                let last = lock.last_holder();
                died +=
                    usize::from(last.is_some_and(|holder| holder.state == lockfn::State::Running));
                let unused = fs::metadata(lock.path())
                    .and_then(|file| file.modified())
                    .is_ok_and(|used| used.elapsed().is_ok_and(|age| age > A_MONTH));
                stale += usize::from(unused);
            }
            Err(error) => findings.bad(&with_source(&error)),
        }
    }
    findings.ok(&format!("files: {} locks, {held} held", locks.len()));
    if died > 0 {
        findings.warn(&format!(
            "files: the last holder of {died} locks died in its work: lockfn ls"
        ));
    }
    if stale > 0 {
        findings.warn(&format!("files: {stale} not used for a month: lockfn gc"));
    }
}

fn check_kernel(findings: &mut Findings) {
    if cfg!(not(target_os = "linux")) {
        return;
    }
    let instances = fs::read_to_string("/proc/sys/fs/inotify/max_user_instances");
    match instances
        .ok()
        .and_then(|text| text.trim().parse::<u32>().ok())
    {
        Some(limit) => findings.ok(&format!(
            "file events: yes, for {limit} waiting processes of a user"
        )),
        None => findings.warn("file events: none; timed and async waits use a thread each"),
    }
}

fn with_source(error: &LockError) -> String {
    match std::error::Error::source(error) {
        Some(source) => format!("{error}: {source}"),
        None => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_private_tmp_is_recognised_by_the_mount_it_is() {
        let host = "25 1 8:1 / / rw shared:1 - ext4 /dev/sda1 rw\n\
                    30 25 0:26 / /tmp rw - tmpfs tmpfs rw\n";
        let service = "25 1 8:1 / / rw shared:1 - ext4 /dev/sda1 rw\n\
                       99 25 8:1 /tmp/systemd-private-1f-x.service-a/tmp /tmp rw - ext4 /dev/sda1 rw\n";
        let path = Path::new("/tmp/lockfn-1000");
        assert_eq!(private_mount(host, path), None);
        let root = private_mount(service, path).unwrap();
        assert!(root.contains("systemd-private"));
        assert_eq!(private_mount(service, Path::new("/run/lockfn")), None);
    }
}
