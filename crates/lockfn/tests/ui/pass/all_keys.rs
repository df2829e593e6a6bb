//! Every key, in the forms it may have.
#![deny(warnings)]

use std::time::Duration;

use lockfn::{LockError, Outcome, lock_function};

const PAUSE: Duration = Duration::from_millis(3);

#[lock_function]
fn plain() -> Result<(), LockError> {
    Ok(())
}

#[lock_function()]
fn empty() -> Result<(), LockError> {
    Ok(())
}

#[lock_function(mode = "skip", delay = 2, timeout = "1.5s", cooldown = PAUSE, key = id, name = "all-keys", on_error = "return", on_abandoned = "run", reentrant, scope = "user")]
fn all(id: u8) -> Result<Outcome<u8>, LockError> {
    Ok(id.into())
}

#[lock_function(mode = "wait", delay = 0.5, timeout = Duration::from_secs(u64::from(limit)))]
fn expression(limit: u8) -> Result<u8, LockError> {
    Ok(limit)
}

#[lock_function(mode = "try", path = format!("/tmp/{name}.lock"), on_abandoned = "error")]
fn at_path(name: &str) -> Result<(), LockError> {
    let _ = name;
    Ok(())
}

// Not lazy, whatever their names.
struct FutureDate;
struct TcpStream;

#[lock_function(mode = "wait", on_error = "panic")]
fn not_lazy() -> (FutureDate, TcpStream, Vec<u8>, Box<dyn Fn()>) {
    (FutureDate, TcpStream, Vec::new(), Box::new(|| ()))
}

fn main() {
    let _: (fn() -> _, fn() -> _, fn(u8) -> _, fn(u8) -> _) = (plain, empty, all, expression);
    let _ = (at_path, not_lazy);
}
