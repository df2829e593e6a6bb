//! Each room's own `Options`, from the settings.

use std::num::{NonZeroU32, NonZeroUsize};

use flydocs_contract::ErrorCode;

use super::{
    Settings,
    value::{EdaAdapter, Isolation, OcrEngine, OfficeConverter, Value},
};
use crate::{exit::Exit, failure::Failure};

impl Settings {
    /// Which bus: as set, else that of the database.
    pub(crate) fn adapter(&self) -> EdaAdapter {
        self.eda_adapter.unwrap_or(if self.on_postgres() {
            EdaAdapter::Postgres
        } else {
            EdaAdapter::Sqlite
        })
    }

    /// True when events travel through a broker beside the database.
    pub(crate) fn has_broker(&self) -> bool {
        matches!(self.adapter(), EdaAdapter::Redis | EdaAdapter::Kafka)
    }

    /// Where the Redis server is.
    pub(crate) fn redis_url(&self) -> &str {
        let set = self.redis_url.as_ref().map(|url| url.0.as_str());
        set.unwrap_or("redis://127.0.0.1:6379/0")
    }

    /// True when the database is PostgreSQL.
    pub(crate) fn on_postgres(&self) -> bool {
        self.database_url
            .as_ref()
            .is_some_and(|url| is_postgres(&url.0))
    }

    /// For the brokers.
    #[cfg(feature = "kafka")]
    pub(crate) fn kafka(&self) -> flydocs_bus::adapters::kafka::KafkaOptions {
        flydocs_bus::adapters::kafka::KafkaOptions {
            bootstrap_servers: self.kafka_bootstrap_servers.clone(),
            security_protocol: self.kafka_security_protocol.show(),
            sasl_mechanism: self.kafka_sasl_mechanism.clone(),
            sasl_username: self.kafka_sasl_username.clone(),
            sasl_password: self.kafka_sasl_password.as_ref().map(|s| s.0.clone()),
            ca_file: self.kafka_ca_file.clone(),
            prefix: self.kafka_prefix.clone(),
            partitions: i32::try_from(self.kafka_partitions).unwrap_or(i32::MAX),
            session_timeout: self.kafka_session_timeout,
        }
    }

    /// For reading.
    pub(crate) fn pages(&self) -> flydocs_pages::Options {
        flydocs_pages::Options {
            max_bytes: self.max_bytes.0,
            max_pages: self.max_pages,
            max_page_pixels: self.max_page_pixels,
            max_depth: self.binary_max_recursion_depth,
            max_expanded_files: self.binary_max_expanded_files,
            max_expanded_bytes: self.binary_max_expanded_bytes.0,
            min_text_words: self.bbox_refine_min_text_words,
            ocr_engine: match self.bbox_refine_ocr_engine {
                OcrEngine::Tesseract => flydocs_pages::OcrEngine::Tesseract,
                OcrEngine::None => flydocs_pages::OcrEngine::None,
            },
            ocr_dpi: self.bbox_refine_ocr_dpi,
            tesseract_lang: self.bbox_refine_tesseract_lang.clone(),
            tesseract_path: self.tesseract_path.clone(),
            ocr_page_timeout_s: self.ocr_page_timeout.as_secs().max(1),
            concurrency: self.pages_concurrency as usize,
            cache_bytes: self.pages_cache_bytes.0,
            office_converter: match self.office_converter {
                OfficeConverter::None => flydocs_pages::OfficeConverter::None,
                OfficeConverter::Gotenberg => flydocs_pages::OfficeConverter::Gotenberg,
                OfficeConverter::Libreoffice => flydocs_pages::OfficeConverter::Libreoffice,
            },
            gotenberg_url: self.gotenberg_url.clone(),
            libreoffice_path: self.libreoffice_path.clone(),
            office_timeout_s: self.office_timeout.as_secs().max(1),
            isolation: match self.isolation {
                Isolation::Process => flydocs_pages::Isolation::Process,
                Isolation::None => flydocs_pages::Isolation::None,
            },
            isolation_program: None,
            isolation_memory_bytes: self.isolation_memory_bytes.0,
            isolation_timeout_s: self.isolation_timeout.as_secs().max(1),
        }
    }

    /// For the stages.
    pub(crate) fn pipeline(&self) -> flydocs_pipeline::Options {
        flydocs_pipeline::Options {
            stage_concurrency: NonZeroUsize::new(self.stage_concurrency as usize)
                .unwrap_or(NonZeroUsize::MIN),
            load_timeout: self.load_timeout,
            splitter_timeout: self.splitter_timeout,
            classifier_timeout: self.classifier_timeout,
            extract_timeout: self.extract_timeout,
            bbox_refine_inline_timeout: self.bbox_refine_inline_timeout,
            bbox_refine_timeout: self.bbox_refine_timeout,
            judge_timeout: self.judge_timeout,
            judge_escalation_timeout: self.judge_escalation_timeout,
            transform_timeout: self.transform_timeout,
            bbox_refine_threshold: self.bbox_refine_threshold.0,
            ..flydocs_pipeline::Options::default()
        }
    }

    /// For the tables.
    pub(crate) fn store(&self) -> flydocs_store::Options {
        flydocs_store::Options {
            extraction_run_lease: self.extraction_run_lease,
            bbox_refinement_lease: self.bbox_refinement_lease,
            async_timeout: self.async_timeout,
            bbox_refine_timeout: self.bbox_refine_timeout,
            heartbeat_interval: self.heartbeat_interval,
            heartbeat_timeout: self.heartbeat_timeout,
            job_max_attempts: self.job_max_attempts,
            bbox_refine_max_attempts: self.bbox_refine_max_attempts,
            queued_orphan_threshold: self.queued_orphan_threshold,
            post_processing_pending_orphan_threshold: self.post_processing_pending_orphan_threshold,
            max_queued: self.max_queued,
            jobs_topic: self.jobs_topic.clone(),
            bbox_refine_topic: self.bbox_refine_topic.clone(),
            blob_url: self.blob_url.clone(),
            retention_days: self.retention_days,
            max_connections: self.database_connections,
            ..flydocs_store::Options::default()
        }
    }

    /// For the services; `role` is part of the worker's name.
    pub(crate) fn workers(&self, role: &str) -> flydocs_workers::Options {
        let at_once = |n: u32| NonZeroUsize::new(n as usize).unwrap_or(NonZeroUsize::MIN);
        flydocs_workers::Options {
            name: format!("{role}@{}:{}", host(), std::process::id()),
            worker_concurrency: at_once(self.worker_concurrency),
            bbox_worker_concurrency: at_once(self.bbox_worker_concurrency),
            liveness_interval: self.liveness_interval,
            reaper_sweep_interval: self.reaper_sweep_interval,
            retry_base_delay: self.retry_base_delay,
            retry_max_delay: self.retry_max_delay,
            shutdown_grace: self.shutdown_grace,
            webhooks: flydocs_workers::WebhookOptions {
                hmac_secret: self
                    .webhook_hmac_secret
                    .as_ref()
                    .map(|secret| flydocs_workers::Secret::new(secret.0.clone())),
                max_attempts: self.webhook_max_attempts,
                timeout: self.webhook_timeout,
                allow_private: self.webhook_allow_private,
                ..flydocs_workers::WebhookOptions::default()
            },
            ..flydocs_workers::Options::default()
        }
    }

    /// For the HTTP surface, with the keys as they are now.
    pub(crate) fn api(&self, keys: flydocs_api::Keys) -> Result<flydocs_api::Options, Failure> {
        let wrong = |error: flydocs_api::InvalidOrigin| {
            Failure::new(ErrorCode::InvalidSetting, error.to_string(), Exit::Settings)
        };
        Ok(flydocs_api::Options {
            limits: flydocs_api::Limits {
                max_bytes: self.max_bytes.0,
                max_request_bytes: self.max_request_bytes.0,
                max_files: self.max_files as usize,
            },
            sync_timeout: self.sync_timeout,
            sync_concurrency: self.sync_concurrency as usize,
            keys,
            rate_limit_per_minute: self.rate_limit_per_minute.and_then(NonZeroU32::new),
            cors_origins: self
                .cors_origins
                .as_deref()
                .map(str::parse)
                .transpose()
                .map_err(wrong)?,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            model: self.model.clone(),
            fallback_model: None,
            eda_adapter: self.adapter().show(),
        })
    }
}

/// True for a URL of PostgreSQL.
pub(super) fn is_postgres(url: &str) -> bool {
    url.starts_with("postgres://") || url.starts_with("postgresql://")
}

/// This machine's name, for people.
fn host() -> String {
    std::fs::read_to_string("/proc/sys/kernel/hostname")
        .map(|name| name.trim().to_owned())
        .ok()
        .filter(|name| !name.is_empty())
        .unwrap_or_else(|| "host".to_owned())
}
