use lockfn::{LockError, lock_function};

type R = Result<(), LockError>;

#[lock_function(mode = "wiat")]
fn unknown_mode() -> R { Ok(()) }

#[lock_function(mode = wait)]
fn mode_is_a_text() -> R { Ok(()) }

#[lock_function(delay = -1)]
fn negative_delay() -> R { Ok(()) }

#[lock_function(delay = -0.5)]
fn negative_fraction() -> R { Ok(()) }

#[lock_function(delay = "-1s")]
fn negative_text() -> R { Ok(()) }

#[lock_function(delay = 1e999)]
fn infinite_delay() -> R { Ok(()) }

#[lock_function(delay = "2 days")]
fn unknown_unit() -> R { Ok(()) }

#[lock_function(delay = true)]
fn not_a_duration() -> R { Ok(()) }

#[lock_function(delay = 1 + 1)]
fn not_a_duration_expression() -> R { Ok(()) }

#[lock_function(dealy = 1)]
fn unknown_key() -> R { Ok(()) }

#[lock_function(delay)]
fn no_value() -> R { Ok(()) }

#[lock_function(delay = 1, delay = 2)]
fn twice() -> R { Ok(()) }

#[lock_function(name = id)]
fn name_is_a_literal(id: &str) -> R { Ok(()) }

#[lock_function(name = "")]
fn empty_name() -> R { Ok(()) }

#[lock_function(path = "/tmp/x", key = 1)]
fn path_and_key() -> R { Ok(()) }

#[lock_function(path = "/tmp/x", scope = "system")]
fn path_and_scope() -> R { Ok(()) }

#[lock_function(mode = "try", delay = 1)]
fn try_and_delay() -> R { Ok(()) }

#[lock_function(mode = "try", timeout = 1)]
fn try_and_timeout() -> R { Ok(()) }

#[lock_function(timeout = 1)]
fn skip_and_timeout() -> R { Ok(()) }

#[lock_function(on_error = "ignore")]
fn unknown_on_error() -> R { Ok(()) }

#[lock_function(reentrant = "yes")]
fn reentrant_is_a_flag() -> R { Ok(()) }

#[lock_function(mode = "wait", key = Vec::<u8>::new())]
fn key_is_displayed() -> R { Ok(()) }

fn main() {}
