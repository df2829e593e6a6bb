//! The `#[lock_function]` attribute of `lockfn`: parses it, refuses what could not work, and
//! expands to one hidden call into `lockfn`.

mod expand;
mod options;
mod shape;

use proc_macro::TokenStream;

/// Lets one caller at a time run the function, across threads, tasks and processes of one host.
///
/// ```ignore
/// #[lock_function]                            // busy: skip
/// fn refresh_cache() -> Result<(), LockError> { ... }
///
/// #[lock_function(mode = "skip", delay = 60)] // busy: wait for the holder, pause, skip
/// fn change_password() -> Result<(), LockError> { ... }
///
/// #[lock_function(mode = "wait", delay = 2)]  // busy: wait, pause, run
/// fn update_file(value: &str) -> Result<(), LockError> { ... }
/// ```
///
/// | key | value | default |
/// |---|---|---|
/// | `mode` | `"skip"`, `"wait"`, `"try"` (busy is an error) | `"skip"` |
/// | `delay` | after contention: seconds, `"250ms"`, or an expression of type `Duration` | 0 |
/// | `timeout` | limit of the wait for the holder, as `delay` | none |
/// | `cooldown` | least time between the end of a run and the start of the next, as `delay` | 0 |
/// | `key` | expression over the arguments, `Display`: one lock for each value | none |
/// | `name` | the lock's name, the same as `lockfn -n NAME` | the function's path |
/// | `path` | expression: the lock file itself, instead of a named lock | none |
/// | `scope` | `"user"` or `"system"` (shared by all users) | `"user"` |
/// | `on_error` | `"return"` or `"panic"`, when the lock fails | `"return"` |
/// | `on_abandoned` | `"run"` or `"error"`, when the previous holder died in the body | `"run"` |
/// | `reentrant` | a call within the body runs without locking again | no |
///
/// The signature written is the signature kept. `skip` needs a return type that can say so: `()`,
/// `Option<T>`, `Outcome<T>` or a `Result` of these. A lock failure needs `Result<_, E>` with
/// `E: From<LockError>`, or `on_error = "panic"`. Works on functions, methods, default methods of
/// traits, generics (all instances share one lock) and `async fn`, on any executor.
///
/// The arguments are dropped after the lock is released.
#[proc_macro_attribute]
pub fn lock_function(arguments: TokenStream, item: TokenStream) -> TokenStream {
    match expand::expand(arguments.into(), &item.clone().into()) {
        Ok(expanded) => expanded.into(),
        Err(error) => {
            // With the item as it was, ours is the only error shown.
            let mut out: TokenStream = error.into_compile_error().into();
            out.extend(item);
            out
        }
    }
}
