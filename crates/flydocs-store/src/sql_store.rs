//! [`SqlStore`]: the one implementation of the port, over any [`Dialect`].

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Mutex, PoisonError, RwLock},
    time::Instant,
};

use flydocs_contract::ExtractionId;

use crate::{
    blobs::files::BlobFiles, change::Changes, dialect::Dialect, error::Result, options::Options,
    store::Wake,
};

/// A database with what all its users share.
pub(crate) struct SqlStore<D> {
    pub(crate) db: D,
    pub(crate) options: Options,
    pub(crate) changes: Changes,
    /// Where blobs lie when not in the database.
    pub(crate) files: Option<BlobFiles>,
    /// What was last seen of the backlog, and when.
    pub(crate) backlog: Mutex<Option<(Instant, u64)>>,
    /// More to say in `health`.
    pub(crate) details: BTreeMap<String, String>,
    wakes: RwLock<Vec<Wake>>,
}

impl<D: Dialect> SqlStore<D> {
    pub(crate) fn new(db: D, options: Options, changes: Changes) -> Result<Self> {
        options.check()?;
        let files = BlobFiles::from_url(&options.blob_url)?;
        let details = BTreeMap::from([("blobs".to_owned(), options.blob_url.clone())]);
        Ok(Self {
            db,
            options,
            changes,
            files,
            backlog: Mutex::new(None),
            details,
            wakes: RwLock::new(Vec::new()),
        })
    }

    pub(crate) fn on_published(&self, wake: Wake) {
        self.wakes
            .write()
            .unwrap_or_else(PoisonError::into_inner)
            .push(wake);
    }

    /// After a commit: wakes the bus, those who wait for the row, and other processes.
    pub(crate) fn committed(&self, id: ExtractionId, topics: &[&str]) {
        self.changes.tell(id);
        self.db.hint(id);
        self.wake(topics);
    }

    /// Wakes the bus: something is due on these topics.
    pub(crate) fn wake(&self, topics: &[&str]) {
        let wakes = self.wakes.read().unwrap_or_else(PoisonError::into_inner);
        for topic in topics {
            for wake in wakes.iter() {
                wake(topic);
            }
        }
    }
}

impl<D: Dialect> SqlStore<D> {
    /// After a commit that made a delivery due: wakes the deliverers, here and in other processes.
    pub(crate) fn deliveries_due(&self) {
        self.changes.tell_deliveries();
        self.db.hint_deliveries();
    }
}

impl<D: Dialect> fmt::Debug for SqlStore<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqlStore")
            .field("db", &self.db)
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}
