//! A page child and nothing else: for tests and tools that are not the `flydocs` program itself.

use std::process::ExitCode;

fn main() -> ExitCode {
    flydocs_pages::isolated::child_main()
}
