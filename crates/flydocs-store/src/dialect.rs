//! What differs between the databases, so that every statement and every step stands once.
//!
//! A statement is written with [`sql!`]: text, and fragments (`now`, `columns`, `(after "$3")`) that each database
//! spells its own way. The rest of the crate is generic over [`Dialect`].

use std::{fmt::Debug, time::Duration};

use async_trait::async_trait;
use flydocs_bus::{NewEvent, Published};
use flydocs_contract::Timestamp;
use sqlx::{FromRow, postgres::PgRow, sqlite::SqliteRow};

/// One statement, as each database reads it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sql {
    pub(crate) sqlite: &'static str,
    pub(crate) postgres: &'static str,
}

/// Writes a statement for all databases: literals stand as they are, fragments are looked up in
/// [`sqlite!`] and [`postgres!`].
macro_rules! sql {
    ($($part:tt)*) => {
        $crate::dialect::Sql {
            sqlite: concat!($(sqlite!($part)),*),
            postgres: concat!($(postgres!($part)),*),
        }
    };
}

/// The fragments on SQLite. Times are text `2026-11-30T14:23:28.123Z`: they compare as they sort.
macro_rules! sqlite {
    (now) => { "strftime('%Y-%m-%dT%H:%M:%fZ', 'now')" };
    (moment) => { sqlite!(now) };
    (stamp) => { sqlite!(now) };
    ((after $seconds:literal)) => { concat!("strftime('%Y-%m-%dT%H:%M:%fZ', 'now', ", $seconds, " || ' seconds')") };
    ((stamp_after $seconds:literal)) => { sqlite!((after $seconds)) };
    ((time $text:literal)) => { $text };
    ((seconds_until $time:literal)) => {
        concat!("((julianday((", $time, ")) - julianday('now')) * 86400.0)")
    };
    ((json $text:literal)) => { $text };
    ((member $text:literal)) => { concat!("json(", $text, ")") };
    ((text $column:literal)) => { $column };
    ((one_of $column:literal $list:literal)) => {
        concat!($column, " IN (SELECT value FROM json_each(", $list, "))")
    };
    (columns) => {
        "id, tenant_id, idempotency_key, request_digest, status, filename, content_bytes, callback_url,
         metadata, correlation, error, attempts, submitted_at, started_at, finished_at, next_attempt_at,
         cancel_requested_at, claimed_by, heartbeat_at, progress, post_processing, revision, fence,
         strftime('%Y-%m-%dT%H:%M:%fZ', 'now') AS now"
    };
    (leg_status) => { "(post_processing ->> '$.bbox_refinement.status')" };
    (leg_requested) => { "coalesce(post_processing ->> '$.bbox_refinement.requested_at', '1970-01-01T00:00:00.000Z')" };
    (leg_started) => { "(post_processing ->> '$.bbox_refinement.started_at')" };
    (leg_attempts) => { "(post_processing ->> '$.bbox_refinement.attempts')" };
    (leg_worker) => { "(post_processing ->> '$.bbox_refinement.claimed_by')" };
    (leg_requested_time) => { sqlite!(leg_requested) };
    (leg_started_time) => { sqlite!(leg_started) };
    // members that become null are left out by the merge: both read as NULL
    (leg_patch) => { "json_patch(post_processing, json_object('bbox_refinement', json_object(" };
    (leg_patch_end) => { ")))" };
    (object) => { "json_object" };
    (beats) => {
        "(SELECT value ->> 'id' AS id, value ->> 'fence' AS fence, value ->> 'progress' AS progress
          FROM json_each($1)) AS b"
    };
    (skip_locked) => { "" };
    // without statistics SQLite prefers any equality to the index that has the rows in order
    ((by $index:literal)) => { concat!(" INDEXED BY ", $index) };
    // the line in the log is a statement of its own: see [`crate::transition::Transition::noted`]
    (changed) => { "" };
    ((noted $method:literal)) => { concat!(" RETURNING ", sqlite!(columns)) };
    ((noted_with_request $method:literal)) => { concat!(sqlite!((noted $method)), ", request") };
    ($text:literal) => { $text };
}

/// The fragments on PostgreSQL. Times of the leg are text inside its JSON, in SQLite's form.
macro_rules! postgres {
    (now) => { "now()" };
    // the row is locked by then: moments follow each other as revisions do, which the begins of transactions need not
    (moment) => { "clock_timestamp()" };
    (stamp) => { "to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.MS\"Z\"')" };
    ((after $seconds:literal)) => { concat!("(now() + make_interval(secs => ", $seconds, "))") };
    ((stamp_after $seconds:literal)) => {
        concat!("to_char((now() + make_interval(secs => ", $seconds,
                ")) AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.MS\"Z\"')")
    };
    ((time $text:literal)) => { concat!("(", $text, ")::timestamptz") };
    ((seconds_until $time:literal)) => {
        concat!("(extract(epoch FROM (", $time, ")::timestamptz - now())::float8)")
    };
    ((json $text:literal)) => { concat!($text, "::json") };
    ((member $text:literal)) => { concat!($text, "::jsonb") };
    ((text $column:literal)) => { concat!($column, "::text AS ", $column) };
    ((one_of $column:literal $list:literal)) => {
        concat!($column, " = ANY (ARRAY(SELECT json_array_elements_text(", $list, "::json)))")
    };
    (columns) => {
        "id, tenant_id, idempotency_key, request_digest, status, filename, content_bytes, callback_url,
         metadata::text AS metadata, correlation::text AS correlation, error::text AS error, attempts, submitted_at,
         started_at, finished_at, next_attempt_at, cancel_requested_at, claimed_by, heartbeat_at,
         progress::text AS progress, post_processing::text AS post_processing, revision, fence, now() AS now"
    };
    (leg_status) => { "(post_processing->'bbox_refinement'->>'status')" };
    (leg_requested) => {
        "coalesce(post_processing->'bbox_refinement'->>'requested_at', '1970-01-01T00:00:00.000Z')"
    };
    (leg_started) => { "(post_processing->'bbox_refinement'->>'started_at')" };
    (leg_attempts) => { "(post_processing->'bbox_refinement'->>'attempts')::bigint" };
    (leg_worker) => { "(post_processing->'bbox_refinement'->>'claimed_by')" };
    (leg_requested_time) => { concat!("(", postgres!(leg_requested), ")::timestamptz") };
    (leg_started_time) => { concat!("(", postgres!(leg_started), ")::timestamptz") };
    (leg_patch) => {
        "jsonb_set(post_processing, '{bbox_refinement}', (post_processing->'bbox_refinement') || jsonb_build_object("
    };
    (leg_patch_end) => { "))" };
    (object) => { "jsonb_build_object" };
    (beats) => { "json_to_recordset($1::json) AS b(id text, fence bigint, progress json)" };
    (skip_locked) => { "FOR UPDATE SKIP LOCKED" };
    ((by $index:literal)) => { "" };
    // a change and its line in the log in one statement, which saves a way to the server and back
    (changed) => { "WITH changed AS (" };
    ((noted $method:literal)) => { concat!(postgres!((log $method)), " SELECT ", postgres!(columns), " FROM changed") };
    ((noted_with_request $method:literal)) => {
        concat!(postgres!((log $method)), " SELECT ", postgres!(columns), ", request::text AS request FROM changed")
    };
    ((log $method:literal)) => {
        concat!(" RETURNING *), noted AS (
           INSERT INTO extraction_history
             (extraction_id, revision, at, method, status, leg_status, attempts, worker, error)
           SELECT id, revision, ", postgres!(moment), ", '", $method, "', status, ", postgres!(leg_status), ", attempts, claimed_by, error
           FROM changed)")
    };
    ($text:literal) => { $text };
}

/// A value bound to a statement.
#[derive(Debug, Clone)]
pub(crate) enum Arg {
    Text(Option<String>),
    Int(i64),
    OptionalInt(Option<i64>),
    Real(f64),
    Bytes(Vec<u8>),
}

impl From<String> for Arg {
    fn from(text: String) -> Self {
        Self::Text(Some(text))
    }
}

impl From<&str> for Arg {
    fn from(text: &str) -> Self {
        Self::Text(Some(text.to_owned()))
    }
}

impl From<Option<String>> for Arg {
    fn from(text: Option<String>) -> Self {
        Self::Text(text)
    }
}

impl From<Option<&str>> for Arg {
    fn from(text: Option<&str>) -> Self {
        Self::Text(text.map(str::to_owned))
    }
}

impl From<i64> for Arg {
    fn from(n: i64) -> Self {
        Self::Int(n)
    }
}

impl From<u64> for Arg {
    fn from(n: u64) -> Self {
        Self::Int(i64::try_from(n).unwrap_or(i64::MAX))
    }
}

impl From<u32> for Arg {
    fn from(n: u32) -> Self {
        Self::Int(n.into())
    }
}

impl From<Vec<u8>> for Arg {
    fn from(bytes: Vec<u8>) -> Self {
        Self::Bytes(bytes)
    }
}

/// That long from now, in seconds.
impl From<Duration> for Arg {
    fn from(duration: Duration) -> Self {
        // A hundred years is enough, and more would not be a time any more.
        let seconds = duration.as_secs_f64().min(3.2e9);
        Self::Real((seconds * 1000.0).round() / 1000.0)
    }
}

/// That long before now, in seconds.
pub(crate) fn ago(duration: Duration) -> Arg {
    match Arg::from(duration) {
        Arg::Real(seconds) => Arg::Real(-seconds),
        other => other,
    }
}

/// The values bound to a statement, in the order `$1`, `$2`, ...
macro_rules! args {
    ($($value:expr),* $(,)?) => { vec![$($crate::dialect::Arg::from($value)),*] };
}

/// A row that can be read from every database.
pub(crate) trait FromAnyRow:
    for<'r> FromRow<'r, SqliteRow> + for<'r> FromRow<'r, PgRow> + Send + Unpin
{
}

impl<T> FromAnyRow for T where
    T: for<'r> FromRow<'r, SqliteRow> + for<'r> FromRow<'r, PgRow> + Send + Unpin
{
}

/// One database.
#[async_trait]
pub(crate) trait Dialect: Clone + Debug + Send + Sync + Sized + 'static {
    /// `sqlite` or `postgres`.
    const NAME: &'static str;
    /// What makes a bound text a time.
    const TIME_CAST: &'static str;

    /// Whether one statement may change several tables: `(noted ..)` then writes the log with the change.
    const CHAINS: bool;

    /// Whether a table keeps how many extractions there are of each status.
    const KEEPS_TOTALS: bool;

    /// An open transaction; dropped = rolled back.
    type Tx: Send;

    /// A statement as this database reads it.
    fn text(sql: &Sql) -> &'static str;

    /// A transaction that may write.
    async fn begin(&self) -> sqlx::Result<Self::Tx>;

    async fn commit(tx: Self::Tx) -> sqlx::Result<()>;

    /// All rows a statement gives inside a transaction.
    async fn rows<T: FromAnyRow>(
        tx: &mut Self::Tx,
        sql: &Sql,
        args: Vec<Arg>,
    ) -> sqlx::Result<Vec<T>>;

    /// The only row a statement gives inside a transaction.
    async fn row<T: FromAnyRow>(
        tx: &mut Self::Tx,
        sql: &Sql,
        args: Vec<Arg>,
    ) -> sqlx::Result<Option<T>>;

    /// How many rows a statement changed inside a transaction.
    async fn execute(tx: &mut Self::Tx, sql: &Sql, args: Vec<Arg>) -> sqlx::Result<u64>;

    /// All rows of a query outside any transaction.
    async fn read<T: FromAnyRow>(&self, sql: &Sql, args: Vec<Arg>) -> sqlx::Result<Vec<T>>;

    /// All rows of a query put together from fixed parts, outside any transaction.
    async fn read_built<T: FromAnyRow>(&self, sql: String, args: Vec<Arg>) -> sqlx::Result<Vec<T>>;

    /// Writes an event with the change it announces.
    async fn publish(tx: &mut Self::Tx, event: &NewEvent) -> flydocs_bus::Result<Published>;

    /// Notes which workers are dead: all that are, or this one if it is; what they took from the bus is due again.
    /// Returns the newly dead.
    async fn bury_dead_workers(&self, instance: Option<&str>) -> crate::error::Result<Vec<String>>;

    /// Tells other processes, after a commit, that a row changed. A hint.
    fn hint(&self, id: flydocs_contract::ExtractionId);

    /// Tells other processes, after a commit, that a webhook delivery is due. A hint.
    fn hint_deliveries(&self);

    /// Brings the schema up to date, once, however many ask for it.
    async fn migrate(&self) -> crate::error::Result<()>;

    /// What the server says it is, and what else there is to say.
    async fn version(&self) -> sqlx::Result<String>;

    /// Registers a worker for as long as the guard lives.
    async fn register_worker(&self, name: &str) -> crate::error::Result<crate::WorkerLiveness>;

    /// Removes what a worker that left leaves behind beside its row.
    async fn clear_after(&self, instance: &str);

    /// Whether dead workers can be told at once.
    fn watches_workers(&self) -> bool;

    async fn close(&self);

    /// A time as this database compares it, not rounded away from `bound`.
    fn time(time: Timestamp, bound: Bound) -> String;
}

/// Which end of a range a time is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Bound {
    /// The earliest that still belongs to it.
    First,
    /// The latest that still belongs to it.
    Last,
}
