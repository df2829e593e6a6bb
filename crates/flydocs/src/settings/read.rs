//! From the environment and the flags to [`Settings`]: every fault and every warning at once.

use std::collections::BTreeMap;

use flydocs_contract::{ErrorCode, Fault};

use super::{Settings, checks};
use crate::{exit::Exit, failure::Failure};

/// Where a value comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
    /// The table.
    Default,
    /// The environment.
    Environment,
    /// A flag.
    Flag,
}

/// The settings as they hold for this process.
#[derive(Debug, Clone)]
pub(crate) struct Loaded {
    /// The values.
    pub settings: Settings,
    /// What is not the default, and where it comes from.
    pub origins: BTreeMap<&'static str, Origin>,
    /// What is worth saying.
    pub warnings: Vec<String>,
}

/// Older names of settings that still work.
const OLDER: &[(&str, &str)] = &[
    ("FLYDOCS_JOB_RUN_LEASE_S", "FLYDOCS_EXTRACTION_RUN_LEASE_S"),
    (
        "FLYDOCS_BBOX_REFINE_LEASE_S",
        "FLYDOCS_BBOX_REFINEMENT_LEASE_S",
    ),
    (
        "FLYDOCS_PARTIAL_SUCCEEDED_ORPHAN_THRESHOLD_S",
        "FLYDOCS_POST_PROCESSING_PENDING_ORPHAN_THRESHOLD_S",
    ),
];

/// Names that belong to the tests of this project and to no process of it.
const TESTS: &str = "FLYDOCS_TEST_";

/// Reads the variables, then the flags, then holds the settings against each other.
pub(crate) fn read(
    environment: impl IntoIterator<Item = (String, String)>,
    flags: &[(String, String)],
) -> Result<Loaded, Failure> {
    let mut loaded = Loaded {
        settings: Settings::default(),
        origins: BTreeMap::new(),
        warnings: Vec::new(),
    };
    let mut faults = Vec::new();
    let variables: BTreeMap<String, String> = environment
        .into_iter()
        .filter(|(name, _)| {
            Settings::NAMES.contains(&name.as_str())
                || (name.starts_with("FLYDOCS_") && !name.starts_with(TESTS))
        })
        .collect();
    for (name, text) in &variables {
        if let Some((older, now)) = OLDER.iter().find(|(older, _)| older == name) {
            if variables.contains_key(*now) {
                loaded.warnings.push(format!(
                    "{older} is an older name of {now}, which is set too and wins; unset {older}"
                ));
            } else {
                loaded.warnings.push(format!(
                    "{older} is an older name of {now}; it works, but please rename it"
                ));
                assign(&mut loaded, now, text, Origin::Environment, &mut faults);
            }
            continue;
        }
        if Settings::NAMES.contains(&name.as_str()) {
            assign(&mut loaded, name, text, Origin::Environment, &mut faults);
        } else {
            loaded.warnings.push(unknown(name));
        }
    }
    for (name, text) in flags {
        if Settings::NAMES.contains(&name.as_str()) {
            assign(&mut loaded, name, text, Origin::Flag, &mut faults);
        } else {
            faults.push(Fault::new("--set", unknown(name)));
        }
    }
    if faults.is_empty() {
        faults = checks::contradictions(&loaded.settings);
    }
    if faults.is_empty() {
        return Ok(loaded);
    }
    let sentence = match faults.as_slice() {
        [_] => "a setting is wrong; `flydocs config show` lists all of them".to_owned(),
        many => format!(
            "{} settings are wrong; `flydocs config show` lists all of them",
            many.len()
        ),
    };
    Err(Failure::new(ErrorCode::InvalidSetting, sentence, Exit::Settings).with_faults(faults))
}

fn assign(loaded: &mut Loaded, name: &str, text: &str, origin: Origin, faults: &mut Vec<Fault>) {
    let Some(name) = Settings::NAMES.iter().find(|known| **known == name) else {
        return;
    };
    match loaded.settings.assign(name, text) {
        Ok(()) => {
            loaded.origins.insert(name, origin);
        }
        Err(message) => faults.push(Fault::new(*name, message)),
    }
}

fn unknown(name: &str) -> String {
    match nearest(name) {
        Some(known) => format!("{name} is no setting; did you mean {known}?"),
        None => format!("{name} is no setting; `flydocs config show` lists all of them"),
    }
}

/// The setting a name was probably meant to be: about every third letter of it may be wrong.
fn nearest(name: &str) -> Option<&'static str> {
    let letters = name.trim_start_matches("FLYDOCS_").chars().count();
    let most = letters.div_ceil(3).min(3);
    Settings::NAMES
        .iter()
        .map(|known| (edits(name, known), *known))
        .filter(|(edits, _)| *edits <= most)
        .min()
        .map(|(_, known)| known)
}

/// How many single-letter edits lie between two words.
fn edits(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = i;
        let mut left = i + 1;
        for (j, y) in b.iter().enumerate() {
            let above = row.get(j + 1).copied().unwrap_or_default();
            let best = (diagonal + usize::from(x != *y))
                .min(above + 1)
                .min(left + 1);
            if let Some(slot) = row.get_mut(j) {
                *slot = left;
            }
            diagonal = above;
            left = best;
        }
        if let Some(last) = row.last_mut() {
            *last = left;
        }
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn env(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs
            .iter()
            .map(|(n, v)| ((*n).to_owned(), (*v).to_owned()))
            .collect()
    }

    #[test]
    fn a_flag_is_stronger_than_the_environment() {
        let loaded = read(
            env(&[("FLYDOCS_PORT", "1")]),
            &env(&[("FLYDOCS_PORT", "2")]),
        )
        .unwrap();
        assert_eq!(loaded.settings.port, 2);
        assert_eq!(loaded.origins["FLYDOCS_PORT"], Origin::Flag);
        assert!(loaded.warnings.is_empty());
    }

    #[test]
    fn a_misspelt_name_warns_with_the_right_one() {
        let loaded = read(env(&[("FLYDOCS_DATABSE_URL", "x"), ("OTHER", "y")]), &[]).unwrap();
        assert_eq!(
            loaded.warnings,
            ["FLYDOCS_DATABSE_URL is no setting; did you mean FLYDOCS_DATABASE_URL?"]
        );
    }

    #[test]
    fn an_older_name_works_and_warns() {
        let loaded = read(env(&[("FLYDOCS_JOB_RUN_LEASE_S", "2000")]), &[]).unwrap();
        assert_eq!(loaded.settings.extraction_run_lease.as_secs(), 2000);
        assert!(loaded.warnings[0].contains("FLYDOCS_EXTRACTION_RUN_LEASE_S"));
    }

    #[test]
    fn every_wrong_value_is_named_at_once() {
        let failure = read(
            env(&[("FLYDOCS_PORT", "70000"), ("FLYDOCS_MAX_BYTES", "lots")]),
            &[],
        )
        .unwrap_err();
        assert_eq!(failure.code, "invalid_setting");
        let named: Vec<_> = failure.faults.iter().map(|f| f.path.as_str()).collect();
        assert_eq!(named, ["FLYDOCS_MAX_BYTES", "FLYDOCS_PORT"]);
    }

    #[test]
    fn a_lease_that_is_not_longer_than_its_ceiling_names_both_settings() {
        let failure = read(env(&[("FLYDOCS_ASYNC_TIMEOUT_S", "3000")]), &[]).unwrap_err();
        let text = failure.to_string();
        assert!(
            text.contains("FLYDOCS_EXTRACTION_RUN_LEASE_S")
                && text.contains("FLYDOCS_ASYNC_TIMEOUT_S"),
            "{text}"
        );
    }

    #[test]
    fn distance_counts_edits() {
        assert_eq!(edits("kitten", "sitting"), 3);
        assert_eq!(edits("", "abc"), 3);
        assert_eq!(edits("abc", "abc"), 0);
    }
}
