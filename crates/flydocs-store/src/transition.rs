//! One transition under way: a transaction that collects the update, its line in the log, its event and its webhook
//! delivery, and commits them together or not at all.

use std::time::Duration;

use flydocs_bus::Published;
use flydocs_contract::EventType;
use serde_json::value::RawValue;

use crate::{
    announcement::Announcement,
    dialect::{Arg, Dialect, FromAnyRow, Sql},
    error::{During as _, Error, Result},
    record::Record,
    row::Stored,
    sql_store::SqlStore,
    webhook::receiver,
};

const NOTE: Sql = sql!(
    "INSERT INTO extraction_history
       (extraction_id, revision, at, method, status, leg_status, attempts, worker, error)
     VALUES ($1, $2, " moment ", $3, $4, $5, $6, $7, " (json "$8") ")"
);

const DELIVERY: Sql = sql!(
    "INSERT INTO webhook_deliveries
       (event_id, extraction_id, event_type, url, receiver, correlation, status, created_at,
        round_started_at, next_attempt_at, body)
     VALUES ($1, $2, $3, $4, $5, " (json "$6") ", 'pending', " now ", " now ", " now ", $7)
     ON CONFLICT (event_id) DO NOTHING"
);

/// A transaction about one extraction.
pub(crate) struct Transition<'s, D: Dialect> {
    store: &'s SqlStore<D>,
    tx: D::Tx,
    topics: Vec<&'s str>,
    methods: Vec<&'static str>,
    /// True once a webhook delivery was written.
    delivers: bool,
}

impl<D: Dialect> SqlStore<D> {
    pub(crate) async fn transition(&self) -> Result<Transition<'_, D>> {
        Ok(Transition {
            store: self,
            tx: self.db.begin().await.during("begin a transaction")?,
            topics: Vec::new(),
            methods: Vec::new(),
            delivers: false,
        })
    }
}

impl<D: Dialect> Transition<'_, D> {
    /// The only row a statement gives.
    pub(crate) async fn row<T: FromAnyRow>(
        &mut self,
        operation: &'static str,
        sql: &Sql,
        args: Vec<Arg>,
    ) -> Result<Option<T>> {
        D::row(&mut self.tx, sql, args).await.during(operation)
    }

    /// All rows a statement gives.
    pub(crate) async fn rows<T: FromAnyRow>(
        &mut self,
        operation: &'static str,
        sql: &Sql,
        args: Vec<Arg>,
    ) -> Result<Vec<T>> {
        D::rows(&mut self.tx, sql, args).await.during(operation)
    }

    /// How many rows a statement changes.
    pub(crate) async fn execute(
        &mut self,
        operation: &'static str,
        sql: &Sql,
        args: Vec<Arg>,
    ) -> Result<u64> {
        D::execute(&mut self.tx, sql, args).await.during(operation)
    }

    /// Writes the transition that gave `record` into its log.
    pub(crate) async fn note(&mut self, record: &Record, method: &'static str) -> Result<()> {
        let error = record.error.clone();
        self.note_as(
            record,
            method,
            record.attempts,
            record.claimed_by.clone(),
            error,
        )
        .await
    }

    /// The same for a change whose statement ends with `(noted ..)`.
    pub(crate) async fn noted(&mut self, record: &Record, method: &'static str) -> Result<()> {
        if D::CHAINS {
            self.methods.push(method);
            return Ok(());
        }
        self.note(record, method).await
    }

    /// The same for a transition of its leg.
    pub(crate) async fn note_leg(&mut self, record: &Record, method: &'static str) -> Result<()> {
        let error = record.leg_error()?.map(|e| error_json(&e));
        let attempts = i64::from(record.leg_attempts()?);
        self.note_as(record, method, attempts, record.leg_worker()?, error)
            .await
    }

    async fn note_as(
        &mut self,
        record: &Record,
        method: &'static str,
        attempts: i64,
        worker: Option<String>,
        error: Option<String>,
    ) -> Result<()> {
        self.methods.push(method);
        let args = args![
            record.id.as_str(),
            record.revision,
            method,
            record.status.as_str(),
            record
                .leg_status()?
                .map(flydocs_contract::LegStatus::as_str),
            attempts,
            worker,
            error,
        ];
        self.execute("write the log of an extraction", &NOTE, args)
            .await?;
        Ok(())
    }

    /// Writes the event, due at once, and the webhook delivery when its caller wants one.
    pub(crate) async fn announce(
        &mut self,
        record: &Record,
        event_type: EventType,
        result: Option<&RawValue>,
    ) -> Result<()> {
        let announcement = Announcement::of(record, event_type)?;
        self.publish(&announcement, Duration::ZERO).await?;
        let Some(url) = announcement.callback_url() else {
            return Ok(());
        };
        let args = args![
            announcement.event_id().to_string(),
            record.id.as_str(),
            event_type.as_str(),
            url,
            receiver(url),
            record.correlation.as_str(),
            announcement.webhook_body(result),
        ];
        self.execute("write a webhook delivery", &DELIVERY, args)
            .await?;
        self.delivers = true;
        Ok(())
    }

    /// Writes an event that is due after `delay`.
    pub(crate) async fn announce_after(
        &mut self,
        record: &Record,
        event_type: EventType,
        delay: Duration,
    ) -> Result<Published> {
        let announcement = Announcement::of(record, event_type)?;
        self.publish(&announcement, delay).await
    }

    async fn publish(&mut self, announcement: &Announcement, delay: Duration) -> Result<Published> {
        let options = &self.store.options;
        let event = announcement.event(options, delay);
        let published = D::publish(&mut self.tx, &event)
            .await
            .map_err(|error| Error::of_bus("write an event to the outbox", error))?;
        if published == Published::New {
            self.topics.push(announcement.topic(options));
        }
        Ok(published)
    }

    /// Makes it so, and tells everybody.
    pub(crate) async fn commit(self, record: Record) -> Result<Stored> {
        D::commit(self.tx).await.during("commit a transition")?;
        for method in self.methods {
            count(method, "won");
        }
        self.store.committed(record.id()?, &self.topics);
        if self.delivers {
            self.store.deliveries_due();
        }
        record.stored()
    }

    /// Makes it so without telling anybody.
    pub(crate) async fn commit_quietly(self) -> Result<()> {
        D::commit(self.tx).await.during("commit a transaction")
    }
}

/// A transition that changed nothing: the row was not in a state, or the claim not current, that allows it.
pub(crate) fn lost<T>(method: &'static str) -> Option<T> {
    count(method, "lost");
    None
}

fn count(method: &'static str, outcome: &'static str) {
    metrics::counter!("flydocs_store_transitions_total", "method" => method, "outcome" => outcome)
        .increment(1);
}

/// An error as it is stored. PostgreSQL's jsonb has no NUL.
pub(crate) fn error_json(error: &flydocs_contract::status::ExtractionError) -> String {
    serde_json::json!({
        "code": error.code,
        "message": without_nul(&error.message),
    })
    .to_string()
}

/// Text that every database can hold.
pub(crate) fn without_nul(text: &str) -> String {
    text.replace('\0', "\u{fffd}")
}
