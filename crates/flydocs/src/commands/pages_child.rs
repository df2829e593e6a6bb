//! `__pages-child`: this program, started by itself to read one file under ceilings.

use std::process::ExitCode;

/// Runs until its parent closes the pipe.
pub(crate) fn run() -> ExitCode {
    flydocs_pages::isolated::child_main()
}
