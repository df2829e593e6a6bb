//! Settings that contradict each other: refused at start, with a sentence that names both.

use std::time::Duration;

use flydocs_contract::Fault;

use super::{EdaAdapter, Settings, rooms::is_postgres, value::Value};

/// Every contradiction.
pub(super) fn contradictions(settings: &Settings) -> Vec<Fault> {
    let mut faults = Vec::new();
    longer(
        (
            "FLYDOCS_EXTRACTION_RUN_LEASE_S",
            settings.extraction_run_lease,
        ),
        ("FLYDOCS_ASYNC_TIMEOUT_S", settings.async_timeout),
        "else a run that may still work would be taken from its worker",
        &mut faults,
    );
    longer(
        (
            "FLYDOCS_BBOX_REFINEMENT_LEASE_S",
            settings.bbox_refinement_lease,
        ),
        (
            "FLYDOCS_BBOX_REFINE_TIMEOUT_S",
            settings.bbox_refine_timeout,
        ),
        "else a grounding that may still work would be taken from its worker",
        &mut faults,
    );
    longer(
        ("FLYDOCS_HEARTBEAT_TIMEOUT_S", settings.heartbeat_timeout),
        ("FLYDOCS_HEARTBEAT_INTERVAL_S", settings.heartbeat_interval),
        "else a worker would lose its claim between two beats",
        &mut faults,
    );
    if settings.retry_max_delay < settings.retry_base_delay {
        faults.push(Fault::new(
            "FLYDOCS_RETRY_MAX_DELAY_S",
            format!(
                "{} s is shorter than FLYDOCS_RETRY_BASE_DELAY_S ({} s), the wait it is the ceiling of",
                settings.retry_max_delay.as_secs_f64(),
                settings.retry_base_delay.as_secs_f64()
            ),
        ));
    }
    if settings.jobs_topic == settings.bbox_refine_topic {
        faults.push(Fault::new(
            "FLYDOCS_BBOX_REFINE_TOPIC",
            "must differ from FLYDOCS_JOBS_TOPIC, else each kind of worker would get the other's events",
        ));
    }
    for (name, value) in [
        ("FLYDOCS_JOB_MAX_ATTEMPTS", settings.job_max_attempts),
        (
            "FLYDOCS_BBOX_REFINE_MAX_ATTEMPTS",
            settings.bbox_refine_max_attempts,
        ),
        (
            "FLYDOCS_WEBHOOK_MAX_ATTEMPTS",
            settings.webhook_max_attempts,
        ),
        ("FLYDOCS_WORKER_CONCURRENCY", settings.worker_concurrency),
        (
            "FLYDOCS_BBOX_WORKER_CONCURRENCY",
            settings.bbox_worker_concurrency,
        ),
        ("FLYDOCS_SYNC_CONCURRENCY", settings.sync_concurrency),
        ("FLYDOCS_STAGE_CONCURRENCY", settings.stage_concurrency),
        ("FLYDOCS_PAGES_CONCURRENCY", settings.pages_concurrency),
        (
            "FLYDOCS_DATABASE_CONNECTIONS",
            settings.database_connections,
        ),
        ("FLYDOCS_MAX_FILES", settings.max_files),
        ("FLYDOCS_MAX_PAGES", settings.max_pages),
        ("FLYDOCS_BBOX_REFINE_OCR_DPI", settings.bbox_refine_ocr_dpi),
        ("FLYDOCS_KAFKA_PARTITIONS", settings.kafka_partitions),
    ] {
        if value == 0 {
            faults.push(Fault::new(name, "must be at least 1"));
        }
    }
    for (name, value) in [
        ("FLYDOCS_SYNC_TIMEOUT_S", settings.sync_timeout),
        ("FLYDOCS_HEARTBEAT_INTERVAL_S", settings.heartbeat_interval),
        ("FLYDOCS_LIVENESS_INTERVAL_S", settings.liveness_interval),
        (
            "FLYDOCS_REAPER_SWEEP_INTERVAL_S",
            settings.reaper_sweep_interval,
        ),
        (
            "FLYDOCS_KAFKA_SESSION_TIMEOUT_S",
            settings.kafka_session_timeout,
        ),
    ] {
        if value.is_zero() {
            faults.push(Fault::new(name, "must be longer than 0 s"));
        }
    }
    adapter_and_database(settings, &mut faults);
    broker(settings, &mut faults);
    if let Some(keys) = &settings.api_keys
        && let Err(error) = keys.0.parse::<flydocs_api::Keys>()
    {
        faults.push(Fault::new("FLYDOCS_API_KEYS", error.to_string()));
    }
    if let Some(origins) = &settings.cors_origins
        && let Err(error) = origins.parse::<flydocs_api::Origins>()
    {
        faults.push(Fault::new("FLYDOCS_CORS_ORIGINS", error.to_string()));
    }
    faults
}

fn adapter_and_database(settings: &Settings, faults: &mut Vec<Fault>) {
    let Some(url) = &settings.database_url else {
        if settings.adapter() == EdaAdapter::Postgres {
            faults.push(Fault::new(
                "FLYDOCS_EDA_ADAPTER",
                "postgres needs FLYDOCS_DATABASE_URL to be postgres://user:password@host/database",
            ));
        }
        return;
    };
    let on_sqlite = flydocs_store::sqlite_path(&url.0).is_some();
    if !on_sqlite && !is_postgres(&url.0) {
        faults.push(Fault::new(
            "FLYDOCS_DATABASE_URL",
            "must be sqlite://path or postgres://user:password@host/database",
        ));
    } else if settings.has_broker() {
        // Either database has an outbox.
    } else if on_sqlite == (settings.adapter() == EdaAdapter::Postgres) {
        let needed = if on_sqlite {
            "sqlite://"
        } else {
            "postgres://"
        };
        faults.push(Fault::new(
            "FLYDOCS_EDA_ADAPTER",
            format!(
                "{} does not go with FLYDOCS_DATABASE_URL, which is a {needed} URL",
                settings.adapter().show()
            ),
        ));
    }
}

/// What an adapter with a broker asks for.
fn broker(settings: &Settings, faults: &mut Vec<Fault>) {
    match settings.adapter() {
        EdaAdapter::Redis => {
            let url = settings.redis_url();
            if !["redis://", "rediss://", "redis+unix://", "unix://"]
                .iter()
                .any(|scheme| url.starts_with(scheme))
            {
                faults.push(Fault::new(
                    "FLYDOCS_REDIS_URL",
                    "must be redis://:password@host:6379/0, or rediss:// for TLS",
                ));
            }
        }
        EdaAdapter::Kafka if !cfg!(feature = "kafka") => faults.push(Fault::new(
            "FLYDOCS_EDA_ADAPTER",
            "kafka is not in this flydocs: build it with `cargo build --release --features kafka`",
        )),
        EdaAdapter::Kafka => {
            let is_sasl = settings.kafka_security_protocol.show().starts_with("sasl");
            let has_all = settings.kafka_sasl_mechanism.is_some()
                && settings.kafka_sasl_username.is_some()
                && settings.kafka_sasl_password.is_some();
            if is_sasl && !has_all {
                faults.push(Fault::new(
                    "FLYDOCS_KAFKA_SECURITY_PROTOCOL",
                    "needs FLYDOCS_KAFKA_SASL_MECHANISM, FLYDOCS_KAFKA_SASL_USERNAME and FLYDOCS_KAFKA_SASL_PASSWORD",
                ));
            }
        }
        EdaAdapter::Sqlite | EdaAdapter::Postgres | EdaAdapter::Memory => {}
    }
}

fn longer(
    (long, long_value): (&str, Duration),
    (short, short_value): (&str, Duration),
    why: &str,
    faults: &mut Vec<Fault>,
) {
    if long_value <= short_value {
        faults.push(Fault::new(
            long,
            format!(
                "{} s must be longer than {short} ({} s), {why}",
                long_value.as_secs_f64(),
                short_value.as_secs_f64()
            ),
        ));
    }
}
