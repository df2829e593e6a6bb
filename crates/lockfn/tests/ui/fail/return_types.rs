use lockfn::{LockError, lock_function};

#[lock_function(on_error = "panic")]
fn cannot_skip() -> u32 { 1 }

#[lock_function]
fn cannot_skip_in_result() -> Result<u32, LockError> { Ok(1) }

#[lock_function(mode = "wait")]
fn cannot_fail() -> u32 { 1 }

#[lock_function(mode = "wait")]
fn unit_cannot_fail() {}

struct OwnError;

#[lock_function(mode = "wait")]
fn error_cannot_come_from_a_lock() -> Result<u32, OwnError> { Ok(1) }

#[lock_function(on_error = "panic")]
async fn async_cannot_skip() -> u32 { 1 }

fn main() {}
