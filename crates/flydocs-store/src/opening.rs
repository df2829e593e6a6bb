//! From a database URL to a store.

use std::{path::PathBuf, sync::Arc};

use crate::{
    blobs::files::without_password,
    change::Changes,
    error::{Error, Result},
    options::Options,
    postgres::PostgresDatabase,
    sql_store::SqlStore,
    sqlite::SqliteDatabase,
    store::Store,
};

/// Opens the store that `FLYDOCS_DATABASE_URL` names: `sqlite://path` or `postgres://...`.
///
/// The schema is not touched: see [`Store::migrate`].
pub async fn open(url: &str, options: Options) -> Result<Arc<dyn Store>> {
    options.check()?;
    if let Some(path) = sqlite_path(url) {
        let changes = Changes::default();
        let database = SqliteDatabase::open(&path, changes.clone()).await?;
        return Ok(Arc::new(SqlStore::new(database, options, changes)?));
    }
    if url.starts_with("postgres://") || url.starts_with("postgresql://") {
        let changes = Changes::default();
        let database = PostgresDatabase::open(url, &options, changes.clone()).await?;
        return Ok(Arc::new(SqlStore::new(database, options, changes)?));
    }
    Err(Error::UnsupportedUrl {
        setting: "FLYDOCS_DATABASE_URL",
        given: without_password(url),
        supported: "sqlite://path and postgres://user:password@host/database",
    })
}

/// The embedded store on a file that the bus of this process uses too: its writers queue at one connection instead of
/// waiting for each other's locks.
pub fn open_beside_bus(
    file: flydocs_bus::sqlite::Database,
    options: Options,
) -> Result<Arc<dyn Store>> {
    options.check()?;
    let changes = Changes::default();
    let database = SqliteDatabase::on(file, changes.clone())?;
    Ok(Arc::new(SqlStore::new(database, options, changes)?))
}

/// The file of a `sqlite://` URL; relative without a third slash.
pub fn sqlite_path(url: &str) -> Option<PathBuf> {
    let path = url
        .strip_prefix("sqlite://")
        .or_else(|| url.strip_prefix("sqlite:"))?;
    let path = path.split('?').next().unwrap_or_default();
    (!path.is_empty()).then(|| PathBuf::from(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sqlite_url_names_a_file() {
        for (url, path) in [
            ("sqlite:///var/lib/f.db", Some("/var/lib/f.db")),
            ("sqlite://data/f.db", Some("data/f.db")),
            ("sqlite:f.db?mode=rwc", Some("f.db")),
            ("sqlite://", None),
            ("postgres://h/d", None),
        ] {
            assert_eq!(sqlite_path(url), path.map(PathBuf::from), "{url}");
        }
    }

    #[tokio::test]
    async fn another_kind_of_database_is_refused_without_showing_the_password() {
        let refused = open("mysql://user:secret@host/db", Options::default()).await;
        let said = refused.unwrap_err().to_string();
        assert!(
            said.contains("FLYDOCS_DATABASE_URL") && !said.contains("secret"),
            "{said}"
        );
    }
}
