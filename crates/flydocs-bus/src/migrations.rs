//! The schema of the bus as sqlx migrations, versions 1000 and up.
//!
//! The store merges them with its own and runs all of them under one guard.

use sqlx::{
    SqlSafeStr as _,
    migrate::{Migration, MigrationType},
};

/// The migrations of the bus on SQLite.
pub fn sqlite() -> Vec<Migration> {
    vec![simple(
        1001,
        "bus",
        include_str!("../migrations/sqlite/1001_bus.sql"),
    )]
}

/// The migrations of the bus on PostgreSQL.
pub fn postgres() -> Vec<Migration> {
    vec![simple(
        1001,
        "bus",
        include_str!("../migrations/postgres/1001_bus.sql"),
    )]
}

fn simple(version: i64, description: &'static str, sql: &'static str) -> Migration {
    Migration::new(
        version,
        description.into(),
        MigrationType::Simple,
        sql.into_sql_str(),
        false,
    )
}
