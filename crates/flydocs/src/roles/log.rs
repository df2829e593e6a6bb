//! The log, to stderr as text or JSON, and the traces, to a collector. Never document text, never secrets.

use std::io::IsTerminal;

use flydocs_contract::{ErrorCode, Fault};
use opentelemetry::{KeyValue, trace::TracerProvider as _};
use opentelemetry_otlp::{SpanExporter, WithExportConfig as _};
use opentelemetry_sdk::{Resource, trace::SdkTracerProvider};
use tracing_subscriber::{
    EnvFilter, Layer as _, filter::Targets, fmt, layer::SubscriberExt as _,
    util::SubscriberInitExt as _,
};

use crate::{
    cli::Global,
    exit::Exit,
    failure::Failure,
    settings::{LogFormat, Settings},
};

/// Who logs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum For {
    /// A command: only what a person must hear.
    Command,
    /// A service: what the settings say.
    Service,
}

/// The rooms below the rooms say too much at info.
const QUIETER: &str = "sqlx=warn,sqlx::pool::acquire=error,hyper=warn,h2=warn,tower=warn,reqwest=warn,opentelemetry=warn";

/// The rooms whose spans are one trace of an extraction.
const TRACED: [&str; 3] = ["flydocs_api", "flydocs_pipeline", "flydocs_workers"];

/// The log of this process. Keep it until the end: what was not sent yet is sent when it is dropped.
#[derive(Debug)]
pub(crate) struct Log {
    traces: Option<SdkTracerProvider>,
}

impl Drop for Log {
    fn drop(&mut self) {
        if let Some(traces) = &self.traces
            && let Err(error) = traces.shutdown()
        {
            tracing::warn!(%error, "the last traces were not sent");
        }
    }
}

/// Starts the log of this process.
pub(crate) fn start(settings: &Settings, global: &Global, who: For) -> Result<Log, Failure> {
    let level = match (global.quiet, global.verbose, who) {
        (true, ..) => "error",
        (_, 0, For::Command) => "off",
        (_, 0, For::Service) => settings.log.as_str(),
        (_, 1, _) => "info",
        (_, 2.., _) => "debug",
    };
    let filter = EnvFilter::try_new(format!("{QUIETER},{level}"))
        .map_err(|error| wrong("FLYDOCS_LOG", error.to_string()))?;
    let lines = fmt::layer().with_writer(std::io::stderr);
    let lines = match settings.log_format {
        LogFormat::Text => lines
            .with_ansi(std::io::stderr().is_terminal() && console::colors_enabled_stderr())
            .boxed(),
        LogFormat::Json => lines.json().flatten_event(true).boxed(),
    };
    let traces = match (&settings.otlp_endpoint, who) {
        (Some(endpoint), For::Service) => Some(collector(endpoint)?),
        _ => None,
    };
    let spans = traces.as_ref().map(|traces| {
        tracing_opentelemetry::layer()
            .with_tracer(traces.tracer("flydocs"))
            .with_filter(
                Targets::new().with_targets(TRACED.map(|room| (room, tracing::Level::INFO))),
            )
    });
    tracing_subscriber::registry()
        .with(lines.with_filter(filter))
        .with(spans)
        .try_init()
        .map_err(|error| anyhow::anyhow!("the log cannot be started: {error}"))?;
    Ok(Log { traces })
}

/// Sends spans to a collector, many at a time, from a thread of its own.
fn collector(endpoint: &str) -> Result<SdkTracerProvider, Failure> {
    let exporter = SpanExporter::builder()
        .with_http()
        .with_endpoint(format!("{}/v1/traces", endpoint.trim_end_matches('/')))
        .build()
        .map_err(|error| wrong("OTEL_EXPORTER_OTLP_ENDPOINT", error.to_string()))?;
    let resource = Resource::builder()
        .with_service_name("flydocs")
        .with_attribute(KeyValue::new("service.version", env!("CARGO_PKG_VERSION")))
        .build();
    Ok(SdkTracerProvider::builder()
        .with_batch_exporter(exporter)
        .with_resource(resource)
        .build())
}

fn wrong(name: &'static str, why: String) -> Failure {
    Failure::new(
        ErrorCode::InvalidSetting,
        "a setting is wrong",
        Exit::Settings,
    )
    .with_faults(vec![Fault::new(name, why)])
}
