//! What a child may not do: use more memory or processor time than it is given, leave a core, talk to the
//! network, start programs, write files.

use std::{io, time::Duration};

use rustix::{
    process::{Resource, Rlimit, getrlimit, setrlimit},
    time::{ClockId, clock_gettime},
};

/// Once, before the first file. Where the kernel offers no filter for system calls, limits still hold.
pub(super) fn close_in(memory_bytes: u64) -> io::Result<()> {
    lower(Resource::As, memory_bytes)?;
    lower(Resource::Core, 0)?;
    lower(Resource::Fsize, 0)?;
    #[cfg(target_os = "linux")]
    if let Err(why) = filter::apply() {
        tracing::debug!(%why, "system calls are not filtered");
    }
    Ok(())
}

/// Before each file: this much processor time from now on, then the kernel ends the process.
pub(super) fn allow_time(allowed: Duration) -> io::Result<()> {
    let used = clock_gettime(ClockId::ProcessCPUTime).tv_sec.max(0) as u64;
    let maximum = getrlimit(Resource::Cpu).maximum;
    setrlimit(
        Resource::Cpu,
        Rlimit {
            current: Some(used + allowed.as_secs() + 1),
            maximum,
        },
    )?;
    Ok(())
}

fn lower(resource: Resource, to: u64) -> io::Result<()> {
    let maximum = getrlimit(resource).maximum;
    let to = maximum.map_or(to, |m| m.min(to));
    setrlimit(
        resource,
        Rlimit {
            current: Some(to),
            maximum: Some(to),
        },
    )?;
    Ok(())
}

#[cfg(target_os = "linux")]
mod filter {
    //! Refused system calls answer "not permitted"; a parser that tries one gets an error, not a signal.

    use std::collections::BTreeMap;

    use seccompiler::{
        BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
        SeccompRule, TargetArch,
    };

    const REFUSED: &[i64] = &[
        libc::SYS_socket,
        libc::SYS_connect,
        libc::SYS_bind,
        libc::SYS_listen,
        libc::SYS_accept4,
        libc::SYS_sendto,
        libc::SYS_execve,
        libc::SYS_execveat,
        libc::SYS_ptrace,
        libc::SYS_unlinkat,
        libc::SYS_renameat2,
        libc::SYS_mkdirat,
        libc::SYS_linkat,
        libc::SYS_symlinkat,
        libc::SYS_truncate,
        #[cfg(target_arch = "x86_64")]
        libc::SYS_fork,
        #[cfg(target_arch = "x86_64")]
        libc::SYS_vfork,
        #[cfg(target_arch = "x86_64")]
        libc::SYS_unlink,
        #[cfg(target_arch = "x86_64")]
        libc::SYS_rename,
        #[cfg(target_arch = "x86_64")]
        libc::SYS_mkdir,
    ];

    pub(super) fn apply() -> Result<(), String> {
        let arch = TargetArch::try_from(std::env::consts::ARCH).map_err(|e| e.to_string())?;
        let mut rules: BTreeMap<i64, Vec<SeccompRule>> =
            REFUSED.iter().map(|call| (*call, Vec::new())).collect();
        // opening for anything but reading: the two lowest bits of the flags
        rules.insert(libc::SYS_openat, writing(2)?);
        #[cfg(target_arch = "x86_64")]
        rules.insert(libc::SYS_open, writing(1)?);
        let filter = SeccompFilter::new(
            rules,
            SeccompAction::Allow,
            SeccompAction::Errno(libc::EPERM as u32),
            arch,
        )
        .map_err(|e| e.to_string())?;
        let program: BpfProgram = filter
            .try_into()
            .map_err(|e: seccompiler::BackendError| e.to_string())?;
        seccompiler::apply_filter(&program).map_err(|e| e.to_string())
    }

    fn writing(argument: u8) -> Result<Vec<SeccompRule>, String> {
        [libc::O_WRONLY, libc::O_RDWR]
            .into_iter()
            .map(|mode| {
                let condition = SeccompCondition::new(
                    argument,
                    SeccompCmpArgLen::Dword,
                    SeccompCmpOp::MaskedEq(libc::O_ACCMODE as u64),
                    mode as u64,
                )
                .map_err(|e| e.to_string())?;
                SeccompRule::new(vec![condition]).map_err(|e| e.to_string())
            })
            .collect()
    }
}
