//! Changing a password in an external system: whoever comes while it is being changed waits for
//! the change, gives the system time to digest it, and goes on without changing it again.
//!
//! Run it twice at once, with the account as argument: other accounts do not wait for each other.

use std::{io::Write, time::Duration};

use lockfn::{LockError, lock_function};

#[lock_function(mode = "skip", delay = 5, timeout = "2m", key = account)]
fn change_password(account: &str) -> Result<Option<String>, LockError> {
    // Stands for the call of the external system.
    std::thread::park_timeout(Duration::from_secs(3));
    Ok(Some(format!("changed the password of {account}")))
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let account = std::env::args()
        .nth(1)
        .unwrap_or_else(|| "alice".to_owned());
    let said = change_password(&account)?
        .unwrap_or_else(|| format!("somebody else has just changed the password of {account}"));
    writeln!(std::io::stdout(), "{said}")?;
    Ok(())
}
