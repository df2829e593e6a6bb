//! Kernels and file systems that refuse: a system call that fails never counts as a lock. The
//! refusals are real ones, made by a seccomp filter in an actor.

use std::time::Duration;

use lockfn::{LockError, LockFile};

use crate::{
    actor::{Actor, report},
    core::{place, text},
};

/// The parts played by other processes.
pub(crate) fn act(role: &str, words: &[&str]) {
    match (role, words) {
        ("no-flock", [path, errno]) => {
            refuse(libc::SYS_flock, None, errno.parse().unwrap());
            let lock = LockFile::at(path);
            for result in [
                lock.try_lock().map(|guard| guard.is_some()),
                lock.lock().map(|_| true),
                lock.lock_within(Duration::from_secs(1))
                    .map(|guard| guard.is_some()),
            ] {
                assert!(
                    matches!(result, Err(LockError::Unsupported { .. })),
                    "{result:?}"
                );
            }
            report("refused");
        }
        ("no-record", [path]) => {
            limit_files_to_nothing();
            let lock = LockFile::at(path);
            let guard = lock.try_lock().unwrap().unwrap();
            assert!(lock.try_lock().unwrap().is_none() && lock.is_held().unwrap());
            assert!(guard.token() == 0 && lock.holder().is_none());
            drop(guard);
            report(lock.lock_within(Duration::from_secs(1)).unwrap().is_some());
        }
        ("no-record-pause", [dir, id]) => {
            crate::calls::share_locks(std::path::Path::new(dir));
            limit_files_to_nothing();
            let pause = Duration::from_millis(100);
            let outcome = crate::calls::skip_pause(id, pause, &mut || report("ran")).unwrap();
            report(format!("skipped {}", outcome.is_skipped()));
        }
        ("no-create", [path]) => {
            // As fs.protected_regular does for another user's file in a sticky directory.
            refuse(libc::SYS_openat, Some(libc::O_CREAT as u32), libc::EACCES);
            report(LockFile::at(path).try_lock().unwrap().is_some());
        }
        ("no-inotify", _) => {
            refuse(libc::SYS_inotify_init1, None, libc::EMFILE);
            let (_dir, lock) = place();
            let guard = lock.lock().unwrap();
            assert!(
                lock.lock_within(Duration::from_millis(50))
                    .unwrap()
                    .is_none()
            );
            let waiter = std::thread::spawn({
                let lock = lock.clone();
                move || lock.lock_within(Duration::from_mins(1)).unwrap().is_some()
            });
            crate::core::until_waiting(&lock);
            drop(guard);
            assert!(waiter.join().unwrap());
            report("waited");
        }
        _ => panic!("no role {role}"),
    }
}

/// From now on this thread's (and its new threads') `call` fails with `errno`; with `flag` only if
/// its third argument has it.
#[expect(unsafe_code, reason = "prctl has no safe wrapper")]
fn refuse(call: i64, flag: Option<u32>, errno: i32) {
    let fail = libc::SECCOMP_RET_ERRNO | errno as u32;
    let step = |code: u32, k: u32, jt: u8, jf: u8| libc::sock_filter {
        code: code as u16,
        jt,
        jf,
        k,
    };
    let load = libc::BPF_LD | libc::BPF_W | libc::BPF_ABS;
    let ret = libc::BPF_RET | libc::BPF_K;
    let equal = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
    let any_bit = libc::BPF_JMP | libc::BPF_JSET | libc::BPF_K;
    // seccomp_data: nr at 0, args[2] at 16 + 2 * 8.
    let mut filter = vec![step(load, 0, 0, 0)];
    match flag {
        None => filter.push(step(equal, call as u32, 0, 1)),
        Some(flag) => filter.extend([
            step(equal, call as u32, 0, 3),
            step(load, 32, 0, 0),
            step(any_bit, flag, 0, 1),
        ]),
    }
    filter.extend([
        step(ret, fail, 0, 0),
        step(ret, libc::SECCOMP_RET_ALLOW, 0, 0),
    ]);
    let program = libc::sock_fprog {
        len: filter.len() as u16,
        filter: filter.as_mut_ptr(),
    };
    // SAFETY: the program outlives the call, which copies it.
    unsafe {
        assert_eq!(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
        let mode = libc::SECCOMP_MODE_FILTER;
        assert_eq!(
            libc::prctl(libc::PR_SET_SECCOMP, mode, &raw const program),
            0
        );
    }
}

#[test]
fn a_kernel_without_flock_is_an_error_and_never_a_lock() {
    for errno in [libc::ENOSYS, libc::EOPNOTSUPP, libc::ENOLCK, libc::EINVAL] {
        let (_dir, lock) = place();
        let mut actor = Actor::start("no-flock", &[&text(&lock), &errno.to_string()]);
        actor.expect("refused");
        actor.ends();
    }
}

#[expect(unsafe_code, reason = "setrlimit")]
fn limit_files_to_nothing() {
    let none = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: the limit is read during the call only.
    assert_eq!(
        unsafe { libc::setrlimit(libc::RLIMIT_FSIZE, &raw const none) },
        0
    );
}

#[test]
fn a_program_that_may_write_no_files_can_hold_locks() {
    let (_dir, lock) = place();
    drop(lock.lock().unwrap());
    let mut actor = Actor::start("no-record", &[&text(&lock)]);
    actor.expect("true");
    actor.ends();
}

#[test]
fn an_existing_file_is_opened_without_o_creat() {
    let (_dir, lock) = place();
    drop(lock.lock().unwrap());
    let mut actor = Actor::start("no-create", &[&text(&lock)]);
    actor.expect("true");
    actor.ends();
}

#[test]
fn a_program_that_may_write_no_files_can_wait_for_a_pause() {
    let dir = crate::calls::locks().to_str().unwrap();
    let holder = crate::modes::holder("skip_pause", "no-record");
    let mut waiter = Actor::start("no-record-pause", &[dir, "no-record"]);
    let lock = crate::modes::lock("skip_pause", "no-record");
    crate::core::until_process_waits(&lock, waiter.id());
    holder.kill();
    waiter.expect("skipped true");
    waiter.ends();
}
