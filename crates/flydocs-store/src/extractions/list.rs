//! Reading: one row, its request, its result, its log, and the list. Nothing here loads documents.

use chrono::{DateTime, Utc};
use flydocs_contract::{ExtractionId, LegStatus, Status};

use crate::{
    dialect::{Arg, Bound, Dialect, Sql},
    error::{During as _, Result},
    listing::{Counts, Filter, Listed},
    record::{Record, corrupt},
    row::{Moment, Stored},
    sql_store::SqlStore,
    submission::StoredRequest,
    transition::without_nul,
};

pub(crate) const GET: Sql = sql!(
    "SELECT " columns " FROM extractions WHERE id = $1 AND ($2 IS NULL OR tenant_id = $2)"
);

pub(crate) const REQUEST: Sql = sql!(
    "SELECT " (text "request") " FROM extractions WHERE id = $1 AND ($2 IS NULL OR tenant_id = $2)"
);

pub(crate) const RESULT: Sql = sql!(
    "SELECT " (text "result") " FROM extraction_results
     WHERE extraction_id = $1
       AND EXISTS (SELECT 1 FROM extractions WHERE id = $1 AND ($2 IS NULL OR tenant_id = $2))"
);

pub(crate) const HISTORY: Sql = sql!(
    "SELECT revision, at, method, status, leg_status, attempts, worker, " (text "error") "
     FROM extraction_history
     WHERE extraction_id = $1 AND revision > $3
       AND EXISTS (SELECT 1 FROM extractions WHERE id = $1 AND ($2 IS NULL OR tenant_id = $2))
     ORDER BY revision"
);

pub(crate) const LIST: Sql = sql!("SELECT " columns " FROM extractions");

pub(crate) const COUNTS: Sql = sql!(
    "SELECT (SELECT count(*) FROM extractions WHERE status = 'queued'),
            (SELECT count(*) FROM extractions WHERE status = 'running'),
            (SELECT count(*) FROM extractions WHERE " leg_status " = 'pending'),
            (SELECT count(*) FROM extractions WHERE " leg_status " = 'running'),
            (SELECT count(*) FROM webhook_deliveries WHERE status = 'pending'),
            (SELECT count(*) FROM workers WHERE dead_at IS NULL),
            " (seconds_until "SELECT min(coalesce(next_attempt_at, submitted_at)) FROM extractions WHERE status = 'queued'")
);

type HistoryRow = (
    i64,
    DateTime<Utc>,
    String,
    String,
    Option<String>,
    i64,
    Option<String>,
    Option<String>,
);

impl<D: Dialect> SqlStore<D> {
    pub(crate) async fn get(
        &self,
        id: ExtractionId,
        tenant: Option<&str>,
    ) -> Result<Option<Stored>> {
        let args = args![id.to_string(), tenant];
        let rows = self
            .db
            .read::<Record>(&GET, args)
            .await
            .during("read an extraction")?;
        rows.into_iter().next().map(Record::stored).transpose()
    }

    pub(crate) async fn request(
        &self,
        id: ExtractionId,
        tenant: Option<&str>,
    ) -> Result<Option<StoredRequest>> {
        let args = args![id.to_string(), tenant];
        let rows = self
            .db
            .read::<(String,)>(&REQUEST, args)
            .await
            .during("read a request")?;
        let id = id.to_string();
        rows.into_iter()
            .next()
            .map(|(text,)| serde_json::from_str(&text).map_err(corrupt(&id, "request")))
            .transpose()
    }

    pub(crate) async fn result(
        &self,
        id: ExtractionId,
        tenant: Option<&str>,
    ) -> Result<Option<String>> {
        let args = args![id.to_string(), tenant];
        let rows = self
            .db
            .read::<(String,)>(&RESULT, args)
            .await
            .during("read a result")?;
        Ok(rows.into_iter().next().map(|(text,)| text))
    }

    pub(crate) async fn history(
        &self,
        id: ExtractionId,
        tenant: Option<&str>,
        after_revision: u64,
    ) -> Result<Vec<Moment>> {
        let id = id.to_string();
        let args = args![id.as_str(), tenant, after_revision];
        let rows = self
            .db
            .read::<HistoryRow>(&HISTORY, args)
            .await
            .during("read a log")?;
        let mut moments = Vec::with_capacity(rows.len());
        for (revision, at, method, status, leg_status, attempts, worker, error) in rows {
            moments.push(Moment {
                revision: revision as u64,
                at,
                method,
                status: status.parse().map_err(corrupt(&id, "status"))?,
                leg_status: leg_status
                    .map(|leg| leg.parse().map_err(corrupt(&id, "leg_status")))
                    .transpose()?,
                attempts: attempts as u32,
                worker,
                error: error
                    .map(|text| serde_json::from_str(&text).map_err(corrupt(&id, "error")))
                    .transpose()?,
            });
        }
        Ok(moments)
    }

    pub(crate) async fn list(&self, filter: &Filter) -> Result<Listed> {
        let query = ListQuery::new::<D>(filter);
        let counted = self.db.read_built::<(i64,)>(query.count, query.count_args);
        let total = counted
            .await
            .during("count a list")?
            .first()
            .map_or(0, |(n,)| *n as u64);
        if total <= filter.offset {
            return Ok(Listed {
                items: Vec::new(),
                total,
            });
        }
        let rows = self
            .db
            .read_built::<Record>(query.page, query.page_args)
            .await;
        Ok(Listed {
            items: rows
                .during("read a list")?
                .iter()
                .map(Record::extraction)
                .collect::<Result<_>>()?,
            total,
        })
    }

    pub(crate) async fn counts(&self) -> Result<Counts> {
        let rows = self
            .db
            .read::<(i64, i64, i64, i64, i64, i64, Option<f64>)>(&COUNTS, Vec::new())
            .await
            .during("count")?;
        let Some((queued, running, pending, refining, deliveries, workers, oldest)) =
            rows.into_iter().next()
        else {
            return Ok(Counts::default());
        };
        Ok(Counts {
            queued: queued as u64,
            running: running as u64,
            legs_pending: pending as u64,
            legs_running: refining as u64,
            deliveries_pending: deliveries as u64,
            oldest_queued_s: oldest.map_or(0, |seconds| (-seconds).max(0.0) as u64),
            workers: workers as u64,
        })
    }
}

/// The two statements of one page.
pub(crate) struct ListQuery {
    pub(crate) count: String,
    pub(crate) count_args: Vec<Arg>,
    pub(crate) page: String,
    pub(crate) page_args: Vec<Arg>,
}

impl ListQuery {
    pub(crate) fn new<D: Dialect>(filter: &Filter) -> Self {
        let (conditions, count_args) = conditions::<D>(filter);
        let mut page_args = count_args.clone();
        page_args.push(filter.limit.into());
        let limit = page_args.len();
        page_args.push(filter.offset.into());
        let offset = page_args.len();
        let select = D::text(&LIST);
        let kept = D::KEEPS_TOTALS.then(|| total(filter)).flatten();
        let counted = format!("SELECT count(*) FROM extractions{conditions}");
        Self {
            count: kept.unwrap_or(counted),
            count_args,
            page: format!(
                "{select}{conditions} ORDER BY submitted_at DESC, id DESC LIMIT ${limit} OFFSET ${offset}"
            ),
            page_args,
        }
    }
}

/// The total of a filter that asks for nothing but statuses, from the table that keeps it.
fn total(filter: &Filter) -> Option<String> {
    let Filter {
        tenant_id: None,
        status,
        post_processing_status: legs,
        idempotency_key: None,
        created_after: None,
        created_before: None,
        limit: _,
        offset: _,
    } = filter
    else {
        return None;
    };
    let mut terms = vec!["true".to_owned()];
    if !status.is_empty() {
        terms.push(one_of("status", status.iter().copied().map(Status::as_str)));
    }
    if !legs.is_empty() {
        let words = legs.iter().copied().map(LegStatus::as_str);
        terms.push(one_of("leg_status", words));
    }
    Some(format!(
        "SELECT coalesce(sum(number), 0)::bigint FROM extraction_totals WHERE {}",
        terms.join(" AND ")
    ))
}

/// The `WHERE` of a filter. Only our own words are written into it; what callers gave is bound.
fn conditions<D: Dialect>(filter: &Filter) -> (String, Vec<Arg>) {
    let mut terms: Vec<String> = Vec::new();
    let mut args: Vec<Arg> = Vec::new();
    if let Some(tenant) = &filter.tenant_id {
        args.push(without_nul(tenant).into());
        terms.push(format!("tenant_id = ${}", args.len()));
    }
    if !filter.status.is_empty() {
        terms.push(one_of(
            "status",
            filter.status.iter().copied().map(Status::as_str),
        ));
    }
    if !filter.post_processing_status.is_empty() {
        let leg: Sql = sql!(leg_status);
        let leg = if D::NAME == "postgres" {
            leg.postgres
        } else {
            leg.sqlite
        };
        let words = filter
            .post_processing_status
            .iter()
            .copied()
            .map(LegStatus::as_str);
        terms.push("post_processing IS NOT NULL".to_owned());
        terms.push(one_of(leg, words));
    }
    if let Some(key) = &filter.idempotency_key {
        args.push(without_nul(key).into());
        terms.push(format!("idempotency_key = ${}", args.len()));
    }
    for (time, bound, comparison) in [
        (filter.created_after, Bound::First, ">="),
        (filter.created_before, Bound::Last, "<="),
    ] {
        if let Some(time) = time {
            args.push(D::time(time, bound).into());
            terms.push(format!(
                "submitted_at {comparison} ${}{}",
                args.len(),
                D::TIME_CAST
            ));
        }
    }
    let text = if terms.is_empty() {
        String::new()
    } else {
        format!(" WHERE {}", terms.join(" AND "))
    };
    (text, args)
}

fn one_of<'w>(column: &str, words: impl Iterator<Item = &'w str>) -> String {
    let quoted: Vec<String> = words.map(|word| format!("'{word}'")).collect();
    match quoted.as_slice() {
        [one] => format!("{column} = {one}"),
        many => format!("{column} IN ({})", many.join(", ")),
    }
}
