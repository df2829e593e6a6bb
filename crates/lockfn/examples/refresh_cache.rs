//! Refreshing shared data: if somebody is at it, skip.
//!
//! Run it twice at once: `cargo run -p lockfn --example refresh_cache & cargo run -p lockfn
//! --example refresh_cache`.

use std::{io::Write, time::Duration};

use lockfn::{LockError, Outcome, lock_function};

#[lock_function]
fn refresh_shared_cache() -> Result<Outcome<u32>, LockError> {
    // Stands for the work.
    std::thread::park_timeout(Duration::from_secs(3));
    Ok(Outcome::Ran(42))
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut out = std::io::stdout();
    match refresh_shared_cache()? {
        Outcome::Ran(entries) => writeln!(out, "refreshed {entries} entries")?,
        Outcome::Skipped(skipped) => writeln!(out, "{skipped}")?,
    }
    Ok(())
}
