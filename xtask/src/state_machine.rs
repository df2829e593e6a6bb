//! Writes docs/state-machine.md from the moves in flydocs-contract. A test there holds the file to the moves.

use std::path::Path;

use anyhow::Context as _;

/// Writes the file.
pub(crate) fn write(root: &Path) -> anyhow::Result<()> {
    let path = root.join("docs/state-machine.md");
    std::fs::write(&path, flydocs_contract::status::state_machine_page())
        .with_context(|| format!("cannot write {}", path.display()))
}
