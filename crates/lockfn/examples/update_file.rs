//! Updating a shared file: everybody's update is made, one at a time, with a pause after each
//! other's. The lock lives beside the file.
//!
//! Run it several times at once, with the file and a line as arguments.

use std::{
    io::Write,
    path::{Path, PathBuf},
};

use lockfn::{LockError, lock_function};

#[derive(Debug, thiserror::Error)]
enum Error {
    #[error(transparent)]
    Lock(#[from] LockError),
    #[error("cannot update {}", path.display())]
    Update {
        path: PathBuf,
        source: std::io::Error,
    },
}

#[lock_function(mode = "wait", delay = 2, path = file.with_extension("lock"))]
fn update_shared_file(file: &Path, line: &str) -> Result<(), Error> {
    let failed = |source| Error::Update {
        path: file.to_owned(),
        source,
    };
    let mut file = std::fs::File::options()
        .create(true)
        .append(true)
        .open(file)
        .map_err(failed)?;
    writeln!(file, "{line}").map_err(failed)
}

fn main() -> Result<(), Error> {
    let mut words = std::env::args().skip(1);
    let file = words.next().unwrap_or_else(|| "/tmp/shared.txt".to_owned());
    let line = words.next().unwrap_or_else(|| "one more line".to_owned());
    update_shared_file(Path::new(&file), &line)
}
