//! The two clocks of a lock file: wall time for people, boot time for pauses.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Milliseconds since 1970, as of the kernel's last tick: exact enough for people, and four times
/// cheaper than the exact time.
pub(crate) fn wall_ms() -> u64 {
    #[cfg(target_os = "linux")]
    {
        let now = rustix::time::clock_gettime(rustix::time::ClockId::RealtimeCoarse);
        now.tv_sec as u64 * 1000 + now.tv_nsec as u64 / 1_000_000
    }
    #[cfg(not(target_os = "linux"))]
    {
        since_1970().as_millis() as u64
    }
}

/// Microseconds since 1970: where the tokens of a new lock file start, so that they keep growing
/// even if the file is deleted.
pub(crate) fn wall_us() -> u64 {
    since_1970().as_micros() as u64
}

fn since_1970() -> Duration {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default()
}

/// Milliseconds since the host was started, counting suspended time: equal in all processes, and
/// nobody can set it.
pub(crate) fn boot_ms() -> u64 {
    #[cfg(target_os = "linux")]
    let clock = rustix::time::ClockId::Boottime;
    #[cfg(not(target_os = "linux"))]
    let clock = rustix::time::ClockId::Monotonic;
    let now = rustix::time::clock_gettime(clock);
    now.tv_sec as u64 * 1000 + now.tv_nsec as u64 / 1_000_000
}
