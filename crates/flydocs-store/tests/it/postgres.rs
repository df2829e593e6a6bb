//! PostgreSQL: the suite, and what is special to it.

use crate::conformance::conformance;

conformance!(
    crate::place::Place::postgres(),
    crate::place::Place::postgres_empty()
);
