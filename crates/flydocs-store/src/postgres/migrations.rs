//! The schema on PostgreSQL: the store's and the bus's migrations in one transaction under one lock.

use sqlx::{
    PgPool, SqlSafeStr as _,
    migrate::{Migration, MigrationType, Migrator},
};

use crate::error::{Error, Result};

/// "flydocs" and "migrate" in a number; transaction-level, so it works behind a pooler too.
const LOCK: &str = "SELECT pg_advisory_xact_lock(hashtextextended('flydocs migrate', 0))";

/// The migrator prepares statements by name; behind a pooler the session may have such names already, and must
/// not keep ours.
const FORGET_STATEMENTS: &str = "DEALLOCATE ALL";

/// However many processes start at once, one migrates; the others find it done.
pub(super) async fn run(pool: &PgPool, pooled: bool) -> Result<()> {
    let ours = |version, name: &'static str, text: &'static str| {
        let kind = MigrationType::Simple;
        Migration::new(version, name.into(), kind, text.into_sql_str(), false)
    };
    let mut migrations = vec![
        ours(
            1,
            "extractions",
            include_str!("../../migrations/postgres/0001_extractions.sql"),
        ),
        ours(
            2,
            "totals",
            include_str!("../../migrations/postgres/0002_totals.sql"),
        ),
        ours(
            3,
            "totals by statement",
            include_str!("../../migrations/postgres/0003_totals_by_statement.sql"),
        ),
    ];
    migrations.extend(flydocs_bus::migrations::postgres());
    let mut migrator = Migrator::with_migrations(migrations);
    migrator.set_locking(false);

    let mut tx = pool.begin().await.map_err(failed)?;
    sqlx::raw_sql(LOCK)
        .execute(&mut *tx)
        .await
        .map_err(failed)?;
    if pooled {
        sqlx::raw_sql(FORGET_STATEMENTS)
            .execute(&mut *tx)
            .await
            .map_err(failed)?;
    }
    migrator
        .run_direct(None, &mut *tx, false)
        .await
        .map_err(failed)?;
    if pooled {
        sqlx::raw_sql(FORGET_STATEMENTS)
            .execute(&mut *tx)
            .await
            .map_err(failed)?;
    }
    tx.commit().await.map_err(failed)
}

fn failed<E: std::error::Error + Send + Sync + 'static>(source: E) -> Error {
    Error::Migrate {
        source: Box::new(source),
    }
}
