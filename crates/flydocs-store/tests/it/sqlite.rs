//! SQLite: the suite, and what is special to it.

use crate::conformance::conformance;

conformance!(
    crate::place::Place::sqlite(),
    crate::place::Place::sqlite_empty()
);
