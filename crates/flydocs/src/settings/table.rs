//! Every setting: its name, its default, what it is for. The rest of the house is configured from here alone;
//! docs/configuration.md is this table.

use std::{path::PathBuf, time::Duration};

use super::value::{
    Bytes, EdaAdapter, Isolation, KafkaSecurity, LogFormat, OcrEngine, OfficeConverter, Secret,
    Share, Value,
};

/// A setting as the documentation and `config show` see it.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    /// The room it belongs to.
    pub group: &'static str,
    /// The variable.
    pub name: &'static str,
    /// What may stand there.
    pub kind: &'static str,
    /// Its value, here or by default; secrets are hidden.
    pub value: String,
    /// What it is for.
    pub doc: String,
}

macro_rules! settings {
    ($( $group:literal { $( $(#[doc = $doc:literal])+ $field:ident: $kind:ty = $name:literal, $default:expr; )+ } )+) => {
        /// Every setting with its value.
        #[derive(Debug, Clone)]
        pub(crate) struct Settings { $($( $(#[doc = $doc])+ pub $field: $kind, )+)+ }

        impl Default for Settings {
            fn default() -> Self {
                Self { $($( $field: $default, )+)+ }
            }
        }

        impl Settings {
            /// The name of every setting.
            pub(crate) const NAMES: &'static [&'static str] = &[ $($( $name, )+)+ ];

            /// Sets one by its name.
            pub(crate) fn assign(&mut self, name: &str, text: &str) -> Result<(), String> {
                match name {
                    $($( $name => self.$field = Value::read(text)?, )+)+
                    _ => return Err("there is no such setting".to_owned()),
                }
                Ok(())
            }

            /// Every setting, in the order of the documentation.
            pub(crate) fn entries(&self) -> Vec<Entry> {
                vec![ $($( Entry {
                    group: $group,
                    name: $name,
                    kind: <$kind as Value>::KIND,
                    value: self.$field.show(),
                    doc: [$($doc),+].map(str::trim).join(" "),
                }, )+)+ ]
            }
        }
    };
}

const MIB: u64 = 1 << 20;

fn processors() -> u32 {
    std::thread::available_parallelism().map_or(2, |n| u32::try_from(n.get()).unwrap_or(2))
}

settings! {
    "HTTP API" {
        /// The address to listen on; 0.0.0.0 for every interface.
        host: String = "FLYDOCS_HOST", "127.0.0.1".to_owned();
        /// The port to listen on; 0 takes any free one and prints it.
        port: u16 = "FLYDOCS_PORT", 8400;
        /// The keys of callers, between commas: `key` or `tenant:key`. A key bound to a tenant sees that tenant's
        /// extractions alone. Empty = no key is asked for.
        api_keys: Option<Secret> = "FLYDOCS_API_KEYS", None;
        /// A file with more of them, one a line, `#` before remarks. It is read again when it changes and on SIGHUP. While
        /// it is set a key is asked for, even when the file is empty.
        api_keys_file: Option<PathBuf> = "FLYDOCS_API_KEYS_FILE", None;
        /// How often one caller (a key, or an address without one) may call in a minute; more is refused (429). Empty or 0 =
        /// as often as it likes.
        rate_limit_per_minute: Option<u32> = "FLYDOCS_RATE_LIMIT_PER_MINUTE", None;
        /// The origins whose pages a browser lets call, such as `https://app.example.com`, between commas; `*` = every one.
        /// Empty = no other than the service's own.
        cors_origins: Option<String> = "FLYDOCS_CORS_ORIGINS", None;
        /// The ceiling of a synchronous extraction.
        sync_timeout: Duration = "FLYDOCS_SYNC_TIMEOUT_S", Duration::from_mins(2);
        /// How many synchronous extractions and page images are worked on at once; the rest waits its turn.
        sync_concurrency: u32 = "FLYDOCS_SYNC_CONCURRENCY", 8;
        /// The largest file. Refused while it arrives.
        max_bytes: Bytes = "FLYDOCS_MAX_BYTES", Bytes(100 * MIB);
        /// The largest request, the contents of its files apart.
        max_request_bytes: Bytes = "FLYDOCS_MAX_REQUEST_BYTES", Bytes(16 * MIB);
        /// The most files of one request.
        max_files: u32 = "FLYDOCS_MAX_FILES", 100;
        /// With so many extractions waiting, submissions are refused (429). Empty = no limit.
        max_queued: Option<u64> = "FLYDOCS_MAX_QUEUED", None;
    }
    "Database and bytes" {
        /// The database, such as `sqlite:///var/lib/flydocs/flydocs.db`. Empty = `flydocs.db` in FLYDOCS_DATA_DIR.
        database_url: Option<Secret> = "FLYDOCS_DATABASE_URL", None;
        /// Where the embedded store lies. Empty = the user's data directory.
        data_dir: Option<PathBuf> = "FLYDOCS_DATA_DIR", None;
        /// Where the bytes of files lie: `db:` (in the database) or `file:///dir`.
        blob_url: String = "FLYDOCS_BLOB_URL", "db:".to_owned();
        /// After so many days finished extractions, their results and bytes are deleted; 0 keeps them for ever.
        retention_days: u32 = "FLYDOCS_RETENTION_DAYS", 30;
        /// How many connections to the database this process opens at most.
        database_connections: u32 = "FLYDOCS_DATABASE_CONNECTIONS", 8;
    }
    "Bus" {
        /// Which bus carries events. Empty = that of the database; `redis` and `kafka` are fed from the database;
        /// `memory` is for `up` alone.
        eda_adapter: Option<EdaAdapter> = "FLYDOCS_EDA_ADAPTER", None;
        /// The topic of submissions and completions.
        jobs_topic: String = "FLYDOCS_JOBS_TOPIC", flydocs_contract::event::JOBS_TOPIC.to_owned();
        /// The topic of the grounding of boxes.
        bbox_refine_topic: String = "FLYDOCS_BBOX_REFINE_TOPIC", flydocs_contract::event::BBOX_REFINE_TOPIC.to_owned();
        /// The Redis server of the adapter `redis`: `redis://:password@host:6379/0`, or `rediss://` for TLS. Empty =
        /// `redis://127.0.0.1:6379/0`.
        redis_url: Option<Secret> = "FLYDOCS_REDIS_URL", None;
        /// What the names of its keys begin with.
        redis_prefix: String = "FLYDOCS_REDIS_PREFIX", "flydocs".to_owned();
        /// The brokers of the adapter `kafka`, between commas.
        kafka_bootstrap_servers: String = "FLYDOCS_KAFKA_BOOTSTRAP_SERVERS", "127.0.0.1:9092".to_owned();
        /// How they are reached; TLS needs a flydocs that was built with the feature `kafka-tls`.
        kafka_security_protocol: KafkaSecurity = "FLYDOCS_KAFKA_SECURITY_PROTOCOL", KafkaSecurity::Plaintext;
        /// `PLAIN`, `SCRAM-SHA-256` or `SCRAM-SHA-512`, with a protocol that begins with `sasl`.
        kafka_sasl_mechanism: Option<String> = "FLYDOCS_KAFKA_SASL_MECHANISM", None;
        /// Who flydocs is to the brokers.
        kafka_sasl_username: Option<String> = "FLYDOCS_KAFKA_SASL_USERNAME", None;
        /// The password.
        kafka_sasl_password: Option<Secret> = "FLYDOCS_KAFKA_SASL_PASSWORD", None;
        /// The certificate of the authority that signed the brokers' certificates, as PEM; empty = the system's.
        kafka_ca_file: Option<PathBuf> = "FLYDOCS_KAFKA_CA_FILE", None;
        /// What the names of topics and consumer groups begin with.
        kafka_prefix: String = "FLYDOCS_KAFKA_PREFIX", String::new();
        /// How many partitions a topic gets that is not there yet: no more workers than that share its work.
        kafka_partitions: u32 = "FLYDOCS_KAFKA_PARTITIONS", 12;
        /// How long a worker may be silent before its partitions go to others.
        kafka_session_timeout: Duration = "FLYDOCS_KAFKA_SESSION_TIMEOUT_S", Duration::from_secs(10);
    }
    "Workers" {
        /// How many extractions one worker process works on at once.
        worker_concurrency: u32 = "FLYDOCS_WORKER_CONCURRENCY", processors();
        /// How many extractions one bbox worker process grounds at once.
        bbox_worker_concurrency: u32 = "FLYDOCS_BBOX_WORKER_CONCURRENCY", processors();
        /// Where the health server of `worker` and `bbox-worker` listens; empty = none.
        health_address: Option<String> = "FLYDOCS_HEALTH_ADDRESS", None;
        /// The ceiling of one run of an extraction.
        async_timeout: Duration = "FLYDOCS_ASYNC_TIMEOUT_S", Duration::from_mins(20);
        /// A run older than this lost its claim; longer than FLYDOCS_ASYNC_TIMEOUT_S.
        extraction_run_lease: Duration = "FLYDOCS_EXTRACTION_RUN_LEASE_S", Duration::from_mins(21);
        /// The ceiling of one grounding of boxes by a bbox worker.
        bbox_refine_timeout: Duration = "FLYDOCS_BBOX_REFINE_TIMEOUT_S", Duration::from_mins(10);
        /// A grounding older than this lost its claim; longer than FLYDOCS_BBOX_REFINE_TIMEOUT_S.
        bbox_refinement_lease: Duration = "FLYDOCS_BBOX_REFINEMENT_LEASE_S", Duration::from_mins(11);
        /// How often a worker says that it is alive.
        heartbeat_interval: Duration = "FLYDOCS_HEARTBEAT_INTERVAL_S", Duration::from_secs(5);
        /// A claim that was silent for longer is lost; longer than FLYDOCS_HEARTBEAT_INTERVAL_S.
        heartbeat_timeout: Duration = "FLYDOCS_HEARTBEAT_TIMEOUT_S", Duration::from_secs(30);
        /// How often dead workers are looked for.
        liveness_interval: Duration = "FLYDOCS_LIVENESS_INTERVAL_S", Duration::from_secs(2);
        /// How often the reapers sweep.
        reaper_sweep_interval: Duration = "FLYDOCS_REAPER_SWEEP_INTERVAL_S", Duration::from_mins(1);
        /// A due row waits this long before a reaper announces it again.
        queued_orphan_threshold: Duration = "FLYDOCS_QUEUED_ORPHAN_THRESHOLD_S", Duration::from_mins(10);
        /// The same for boxes that wait for a bbox worker.
        post_processing_pending_orphan_threshold: Duration = "FLYDOCS_POST_PROCESSING_PENDING_ORPHAN_THRESHOLD_S", Duration::from_mins(22);
        /// How often an extraction is tried.
        job_max_attempts: u32 = "FLYDOCS_JOB_MAX_ATTEMPTS", 3;
        /// How often the grounding of boxes is tried.
        bbox_refine_max_attempts: u32 = "FLYDOCS_BBOX_REFINE_MAX_ATTEMPTS", 3;
        /// The wait after the first failure that may pass; it doubles with each further one.
        retry_base_delay: Duration = "FLYDOCS_RETRY_BASE_DELAY_S", Duration::from_secs(5);
        /// The longest wait after a failure.
        retry_max_delay: Duration = "FLYDOCS_RETRY_MAX_DELAY_S", Duration::from_mins(5);
        /// How long running work may go on after SIGTERM; then it is handed back without using up an attempt.
        shutdown_grace: Duration = "FLYDOCS_SHUTDOWN_GRACE_S", Duration::from_secs(30);
    }
    "Webhooks" {
        /// The secret webhooks are signed with; empty = they are not signed.
        webhook_hmac_secret: Option<Secret> = "FLYDOCS_WEBHOOK_HMAC_SECRET", None;
        /// How often a delivery is tried quickly, before every 15 minutes up to 24 hours.
        webhook_max_attempts: u32 = "FLYDOCS_WEBHOOK_MAX_ATTEMPTS", 5;
        /// How long a receiver may take.
        webhook_timeout: Duration = "FLYDOCS_WEBHOOK_TIMEOUT_S", Duration::from_mins(5);
        /// Whether callbacks may go to loopback, private and link-local addresses.
        webhook_allow_private: bool = "FLYDOCS_WEBHOOK_ALLOW_PRIVATE", false;
    }
    "Pipeline" {
        /// The engine of requests that name none.
        model: String = "FLYDOCS_MODEL", "local:layout".to_owned();
        /// How many files, segments or documents of a stage are worked on at once.
        stage_concurrency: u32 = "FLYDOCS_STAGE_CONCURRENCY", processors();
        /// The ceiling of reading the files.
        load_timeout: Duration = "FLYDOCS_LOAD_TIMEOUT_S", Duration::from_mins(2);
        /// The ceiling of looking for several documents in a file.
        splitter_timeout: Duration = "FLYDOCS_SPLITTER_TIMEOUT_S", Duration::from_mins(3);
        /// The ceiling of finding the types.
        classifier_timeout: Duration = "FLYDOCS_CLASSIFIER_TIMEOUT_S", Duration::from_mins(3);
        /// The ceiling of reading the fields.
        extract_timeout: Duration = "FLYDOCS_EXTRACT_TIMEOUT_S", Duration::from_mins(10);
        /// The ceiling of grounding boxes inside a synchronous extraction.
        bbox_refine_inline_timeout: Duration = "FLYDOCS_BBOX_REFINE_INLINE_TIMEOUT_S", Duration::from_mins(5);
        /// The ceiling of the judge.
        judge_timeout: Duration = "FLYDOCS_JUDGE_TIMEOUT_S", Duration::from_mins(5);
        /// The ceiling of asking a stronger model.
        judge_escalation_timeout: Duration = "FLYDOCS_JUDGE_ESCALATION_TIMEOUT_S", Duration::from_mins(10);
        /// The ceiling of transformations.
        transform_timeout: Duration = "FLYDOCS_TRANSFORM_TIMEOUT_S", Duration::from_mins(10);
        /// How well words must match a value for its box to be taken from them.
        bbox_refine_threshold: Share = "FLYDOCS_BBOX_REFINE_THRESHOLD", Share(0.85);
    }
    "Documents" {
        /// The most pages of one file.
        max_pages: u32 = "FLYDOCS_MAX_PAGES", 2000;
        /// The most pixels of one page image.
        max_page_pixels: u64 = "FLYDOCS_MAX_PAGE_PIXELS", 100_000_000;
        /// How deep archives and mails may nest.
        binary_max_recursion_depth: u32 = "FLYDOCS_BINARY_MAX_RECURSION_DEPTH", 3;
        /// The most files of archives and mails together.
        binary_max_expanded_files: u32 = "FLYDOCS_BINARY_MAX_EXPANDED_FILES", 50;
        /// The most bytes they unpack to together.
        binary_max_expanded_bytes: Bytes = "FLYDOCS_BINARY_MAX_EXPANDED_BYTES", Bytes(512 * MIB);
        /// A PDF page with fewer words than this is read by OCR.
        bbox_refine_min_text_words: u32 = "FLYDOCS_BBOX_REFINE_MIN_TEXT_WORDS", 5;
        /// Who reads the words of images.
        bbox_refine_ocr_engine: OcrEngine = "FLYDOCS_BBOX_REFINE_OCR_ENGINE", OcrEngine::Tesseract;
        /// The resolution at which PDF pages are drawn for OCR.
        bbox_refine_ocr_dpi: u32 = "FLYDOCS_BBOX_REFINE_OCR_DPI", 200;
        /// The languages that are always read, as tesseract names them, joined by `+`.
        bbox_refine_tesseract_lang: String = "FLYDOCS_BBOX_REFINE_TESSERACT_LANG", "eng".to_owned();
        /// The tesseract program.
        tesseract_path: PathBuf = "FLYDOCS_TESSERACT_PATH", PathBuf::from("tesseract");
        /// The longest time OCR may take for one page.
        ocr_page_timeout: Duration = "FLYDOCS_OCR_PAGE_TIMEOUT_S", Duration::from_mins(2);
        /// How many pages are worked on at once.
        pages_concurrency: u32 = "FLYDOCS_PAGES_CONCURRENCY", processors();
        /// The memory that words of pages may be kept in.
        pages_cache_bytes: Bytes = "FLYDOCS_PAGES_CACHE_BYTES", Bytes(64 * MIB);
        /// Where files are parsed: in child processes, so that a hostile one costs only itself, or in this one.
        isolation: Isolation = "FLYDOCS_ISOLATION", Isolation::Process;
        /// The memory one child may address.
        isolation_memory_bytes: Bytes = "FLYDOCS_ISOLATION_MEMORY_BYTES", Bytes(1024 * MIB);
        /// The longest time one piece of work on a file may take in a child.
        isolation_timeout: Duration = "FLYDOCS_ISOLATION_TIMEOUT_S", Duration::from_mins(1);
        /// What turns office documents into PDFs; with `none` their text and tables are laid out.
        office_converter: OfficeConverter = "FLYDOCS_OFFICE_CONVERTER", OfficeConverter::None;
        /// Where Gotenberg answers.
        gotenberg_url: String = "FLYDOCS_GOTENBERG_URL", "http://127.0.0.1:3000".to_owned();
        /// The LibreOffice program.
        libreoffice_path: PathBuf = "FLYDOCS_LIBREOFFICE_PATH", PathBuf::from("soffice");
        /// The longest time a conversion may take.
        office_timeout: Duration = "FLYDOCS_OFFICE_TIMEOUT_S", Duration::from_mins(1);
    }
    "Process" {
        /// What is logged: `error`, `warn`, `info`, `debug`, or a filter such as `info,flydocs_bus=debug`.
        log: String = "FLYDOCS_LOG", "info".to_owned();
        /// How log lines are written.
        log_format: LogFormat = "FLYDOCS_LOG_FORMAT", LogFormat::Text;
        /// Where services send their traces (OTLP over HTTP, `/v1/traces` is added); empty = nowhere.
        otlp_endpoint: Option<String> = "OTEL_EXPORTER_OTLP_ENDPOINT", None;
        /// The server of client commands.
        server: String = "FLYDOCS_SERVER", "http://127.0.0.1:8400".to_owned();
        /// The key that client commands send.
        api_key: Option<Secret> = "FLYDOCS_API_KEY", None;
    }
}
