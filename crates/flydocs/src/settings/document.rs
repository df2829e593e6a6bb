//! docs/configuration.md, made from the table.

use super::Settings;

/// The page.
pub(crate) fn markdown() -> String {
    let mut page = String::from(
        "# Settings\n\n\
         Every setting is an environment variable; `--set NAME=VALUE` on the command line is stronger. All are checked at\n\
         start: a wrong value or two that contradict each other end the process with exit code 3 and a sentence that names\n\
         them. A `FLYDOCS_` name that is not on this page warns. `flydocs config show` prints what holds and where it comes\n\
         from, `flydocs config check` only checks.\n\n\
         This page is made by `flydocs config markdown`; a test holds it against the code. Defaults that say *processors*\n\
         are the number of processors of the machine.\n",
    );
    let mut group = "";
    for entry in Settings::default().entries() {
        if entry.group != group {
            group = entry.group;
            page.push_str(&format!(
                "\n## {group}\n\n| name | value | default | what for |\n|---|---|---|---|\n"
            ));
        }
        let default = match entry.name {
            "FLYDOCS_WORKER_CONCURRENCY"
            | "FLYDOCS_BBOX_WORKER_CONCURRENCY"
            | "FLYDOCS_STAGE_CONCURRENCY"
            | "FLYDOCS_PAGES_CONCURRENCY" => "*processors*".to_owned(),
            _ if entry.value.is_empty() => "*none*".to_owned(),
            _ => format!("`{}`", entry.value),
        };
        let row = [
            "",
            &format!("`{}`", entry.name),
            entry.kind,
            &default,
            &entry.doc,
            "",
        ];
        page.push_str(row.join(" | ").trim());
        page.push('\n');
    }
    page.push_str(
        "\n## Older names\n\n\
         `FLYDOCS_JOB_RUN_LEASE_S`, `FLYDOCS_BBOX_REFINE_LEASE_S` and `FLYDOCS_PARTIAL_SUCCEEDED_ORPHAN_THRESHOLD_S` work and\n\
         warn; the names of today are `FLYDOCS_EXTRACTION_RUN_LEASE_S`, `FLYDOCS_BBOX_REFINEMENT_LEASE_S` and\n\
         `FLYDOCS_POST_PROCESSING_PENDING_ORPHAN_THRESHOLD_S`.\n",
    );
    page
}
