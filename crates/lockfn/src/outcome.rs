//! How a call says that it was skipped, or that its lock failed: through its own return type.

use std::fmt;

use crate::{error::LockError, record::Holder};

/// What a call does while somebody else is running the function.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Does not run; the caller gets the skip value of the return type.
    #[default]
    Skip,
    /// Runs after the current holder.
    Wait,
    /// Does not run, and says so with [`LockError::Contended`].
    Try,
}

/// Why a call did not run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SkipReason {
    /// Somebody else was running the function.
    Busy,
    /// This very call chain is running it.
    Recursive,
    /// The last run ended less than `cooldown` ago.
    CoolingDown,
}

/// A call that did not run.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Skipped {
    /// The lock's name.
    pub lock: String,
    /// Why.
    pub reason: SkipReason,
    /// Who was running it, as far as the lock file says.
    pub holder: Option<Box<Holder>>,
}

impl fmt::Display for Skipped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let reason = match self.reason {
            SkipReason::Busy => "skipped",
            SkipReason::Recursive => "skipped, recursive",
            SkipReason::CoolingDown => "skipped, cooling down",
        };
        write!(f, "{reason}: lock `{}`", self.lock)?;
        match &self.holder {
            Some(holder) => write!(f, " (held by {holder})"),
            None => Ok(()),
        }
    }
}

/// For callers that need to tell "ran" from "skipped" without inventing a value for it.
#[must_use]
#[derive(Clone, Debug)]
pub enum Outcome<T> {
    /// The body ran and returned this.
    Ran(T),
    /// The body did not run.
    Skipped(Skipped),
}

impl<T> Outcome<T> {
    /// The body's value, if it ran.
    pub fn ran(self) -> Option<T> {
        match self {
            Self::Ran(value) => Some(value),
            Self::Skipped(_) => None,
        }
    }

    /// Why the body did not run, if it did not.
    pub fn skipped(&self) -> Option<&Skipped> {
        match self {
            Self::Ran(_) => None,
            Self::Skipped(skipped) => Some(skipped),
        }
    }

    /// Whether the body did not run.
    pub fn is_skipped(&self) -> bool {
        self.skipped().is_some()
    }
}

impl<T> From<T> for Outcome<T> {
    fn from(value: T) -> Self {
        Self::Ran(value)
    }
}

/// A return type that can carry a lock failure: any `Result<T, E>` with `E: From<LockError>`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot carry a lock failure",
    label = "return `Result<_, E>` with `E: From<LockError>`, or say `on_error = \"panic\"`"
)]
pub trait FromLockError {
    /// The value that carries `error`.
    fn from_lock_error(error: LockError) -> Self;
}

impl<T, E: From<LockError>> FromLockError for Result<T, E> {
    fn from_lock_error(error: LockError) -> Self {
        Err(error.into())
    }
}

/// A return type that can say "skipped": `()`, `Option<T>`, [`Outcome<T>`], or a `Result` of these.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot say that the call was skipped",
    label = "return `()`, `Option<T>`, `Outcome<T>`, or a `Result` of one of them"
)]
pub trait FromSkip {
    /// The value that says so.
    fn from_skip(skipped: Skipped) -> Self;
}

impl FromSkip for () {
    fn from_skip(_: Skipped) {}
}

impl<T> FromSkip for Option<T> {
    fn from_skip(_: Skipped) -> Self {
        None
    }
}

impl<T> FromSkip for Outcome<T> {
    fn from_skip(skipped: Skipped) -> Self {
        Self::Skipped(skipped)
    }
}

impl<T: FromSkip, E> FromSkip for Result<T, E> {
    fn from_skip(skipped: Skipped) -> Self {
        Ok(T::from_skip(skipped))
    }
}
