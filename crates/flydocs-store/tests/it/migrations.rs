//! Migrations run while processes of the version before still work: nothing of theirs may be taken away.
//!
//! The first file of a folder makes the schema; each later one is held to what an older binary can live with.

use std::path::{Path, PathBuf};

use regex::Regex;

/// What a later file may not do, and what to do instead.
const FORBIDDEN: &[(&str, &str)] = &[
    (
        r"\bDROP\s+(TABLE|COLUMN|SCHEMA|FUNCTION|TYPE|VIEW)\b",
        "an older binary still uses it: stop using it first, drop it two versions later",
    ),
    (
        r"\bRENAME\b",
        "an older binary knows the old name: add the new one beside it",
    ),
    (
        r"\bALTER\s+(COLUMN\s+)?\S+\s+(SET\s+DATA\s+)?TYPE\b",
        "the whole table is written anew under a lock, and an older binary binds the old type",
    ),
    (r"\bSET\s+NOT\s+NULL\b", "an older binary still writes NULL"),
    (r"\bTRUNCATE\b", "rows are the truth"),
    (r"^DELETE\b", "rows are the truth"),
    (r"\bSET\s+SCHEMA\b", "an older binary knows the old place"),
    (r"^LOCK\b", "everybody waits"),
    (
        r"^CREATE\s+UNIQUE\s+INDEX\b",
        "an older binary may write what it refuses",
    ),
];

/// What `ALTER TABLE .. DROP` may be followed by: a promise less, which nobody misses.
const DROPPED_WITHOUT_LOSS: [&str; 3] = ["CONSTRAINT", "DEFAULT", "NOT"];

/// What `ALTER TABLE .. ADD` is followed by when it is no column.
const CONSTRAINTS: [&str; 6] = [
    "CONSTRAINT",
    "CHECK",
    "UNIQUE",
    "FOREIGN",
    "PRIMARY",
    "EXCLUDE",
];

/// The findings in one later file.
fn lint(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for statement in statements(text) {
        let mut refuse = |why: &str| found.push(format!("{statement}: {why}"));
        for (pattern, why) in FORBIDDEN {
            if rule(pattern).is_match(&statement) {
                refuse(why);
            }
        }
        if !rule(r"^ALTER\s+TABLE\b").is_match(&statement) {
            continue;
        }
        for dropped in rule(r"\bDROP\s+(\w+)").captures_iter(&statement) {
            if !DROPPED_WITHOUT_LOSS.contains(&dropped[1].to_uppercase().as_str()) {
                refuse("an older binary still writes it");
            }
        }
        for added in rule(r"\bADD\s+(?:COLUMN\s+)?([^,]*)").captures_iter(&statement) {
            let added = added[1].to_uppercase();
            let constraint = CONSTRAINTS.iter().any(|word| added.starts_with(word));
            if constraint && !added.contains("NOT VALID") {
                refuse(
                    "an older binary may write what it refuses, and every row is checked under a lock: NOT VALID",
                );
            } else if !constraint && added.contains("NOT NULL") && !added.contains("DEFAULT") {
                refuse("an older binary does not fill it: give it a default");
            }
        }
    }
    found
}

fn rule(pattern: &str) -> Regex {
    Regex::new(&format!("(?i){pattern}")).unwrap()
}

/// The statements without comments, literals and bodies of functions, each on one line.
fn statements(text: &str) -> Vec<String> {
    let bodies = Regex::new(r"(?s)\$(\w*)\$.*?\$\w*\$").unwrap();
    let literals = Regex::new(r"'[^']*'").unwrap();
    let comments = Regex::new(r"(?m)--.*$|(?s)/\*.*?\*/").unwrap();
    let spaces = Regex::new(r"\s+").unwrap();
    let text = bodies.replace_all(text, "body");
    let text = comments.replace_all(&text, " ");
    let text = literals.replace_all(&text, "literal");
    text.split(';')
        .map(|statement| spaces.replace_all(statement, " ").trim().to_owned())
        .filter(|statement| !statement.is_empty())
        .collect()
}

/// The files of a folder in the order they run.
fn files(folder: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let mut files: Vec<PathBuf> = std::fs::read_dir(&folder)
        .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|kind| kind == "sql"))
        .collect();
    files.sort();
    files
}

#[test]
fn no_migration_takes_away_what_the_version_before_needs() {
    for folder in [
        "migrations/postgres",
        "migrations/sqlite",
        "../flydocs-bus/migrations/postgres",
        "../flydocs-bus/migrations/sqlite",
    ] {
        let files = files(folder);
        let (first, later) = files.split_first().unwrap();
        let made = statements(&std::fs::read_to_string(first).unwrap());
        assert!(
            made.iter()
                .any(|statement| statement.starts_with("CREATE TABLE")),
            "{} makes no table",
            first.display()
        );
        for file in later {
            let found = lint(&std::fs::read_to_string(file).unwrap());
            assert!(found.is_empty(), "{}: {found:#?}", file.display());
        }
    }
}

#[test]
fn what_an_older_binary_cannot_live_with_is_found() {
    for bad in [
        "DROP TABLE extractions",
        "DROP TABLE IF EXISTS extractions",
        "ALTER TABLE extractions DROP COLUMN filename",
        "ALTER TABLE extractions DROP filename",
        "ALTER TABLE extractions RENAME COLUMN filename TO name",
        "ALTER TABLE extractions RENAME TO jobs",
        "ALTER TABLE extractions ALTER COLUMN attempts TYPE int",
        "ALTER TABLE extractions ALTER attempts SET DATA TYPE int",
        "ALTER TABLE extractions ALTER COLUMN tenant_id SET NOT NULL",
        "ALTER TABLE extractions ADD COLUMN priority int NOT NULL",
        "alter table extractions\n  add priority int not null -- DEFAULT 0\n",
        "ALTER TABLE extractions ADD COLUMN a int, ADD COLUMN b int NOT NULL",
        "ALTER TABLE extractions ADD CONSTRAINT named CHECK (filename <> '')",
        "ALTER TABLE extractions ADD CHECK (attempts < 5)",
        "CREATE UNIQUE INDEX one ON extractions (filename)",
        "DELETE FROM extractions",
        "TRUNCATE webhook_attempts",
        "DROP FUNCTION bus.claim",
    ] {
        assert!(!lint(bad).is_empty(), "not found: {bad}");
    }
}

#[test]
fn what_an_older_binary_does_not_notice_is_let_through() {
    for good in [
        "CREATE TABLE more (id text PRIMARY KEY, name text NOT NULL)",
        "CREATE INDEX ix ON extractions (filename)",
        "DROP INDEX ix",
        "ALTER TABLE extractions ADD COLUMN priority int NOT NULL DEFAULT 0",
        "ALTER TABLE extractions ADD COLUMN note text",
        "ALTER TABLE extractions DROP CONSTRAINT extractions_counters",
        "ALTER TABLE extractions ALTER COLUMN filename DROP NOT NULL",
        "ALTER TABLE extractions ALTER COLUMN filename SET DEFAULT ''",
        "ALTER TABLE extractions ADD CONSTRAINT named CHECK (filename <> '') NOT VALID",
        "-- DROP TABLE extractions\nCREATE INDEX ix ON extractions (filename)",
        "CREATE OR REPLACE FUNCTION f() RETURNS void LANGUAGE sql AS $$ DELETE FROM more; DROP TABLE more $$",
        "COMMENT ON TABLE extractions IS 'DROP TABLE; RENAME'",
    ] {
        assert_eq!(lint(good), Vec::<String>::new(), "{good}");
    }
}
