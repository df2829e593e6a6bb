//! The schema on SQLite: the store's and the bus's migrations under one file lock.

use flydocs_bus::sqlite::Database;
use lockfn::LockFile;
use sqlx::{
    SqlSafeStr as _,
    migrate::{Migration, MigrationType, Migrator},
};

use crate::error::{Error, Result};

/// However many processes start at once, one migrates; the others find it done.
pub(super) async fn run(file: &Database) -> Result<()> {
    let failed = |source: Box<dyn std::error::Error + Send + Sync>| Error::Migrate { source };
    let lock = LockFile::at(super::beside(&file.path, ".migrate.lock")).called("migrate");
    let _guard = lock.lock_async().await.map_err(|e| failed(Box::new(e)))?;
    let mut migrations = vec![Migration::new(
        1,
        "extractions".into(),
        MigrationType::Simple,
        include_str!("../../migrations/sqlite/0001_extractions.sql").into_sql_str(),
        false,
    )];
    migrations.extend(flydocs_bus::migrations::sqlite());
    let migrator = Migrator::with_migrations(migrations);
    migrator
        .run(&file.writer)
        .await
        .map_err(|e| failed(Box::new(e)))
}
