//! Composition: the rooms below, built from the settings and put together. One place knows who stands on whom.

mod broker;
mod engines;
mod foundation;
pub(crate) mod keys;
pub(crate) mod log;
pub(crate) mod shutdown;
mod witness;

use std::sync::Arc;

use flydocs_contract::{ErrorCode, ExtractRequest, ExtractionId};
use flydocs_pages::{Pages, Reader};
use flydocs_pipeline::{EngineSource, Pipeline, SystemClock};

pub(crate) use engines::Engines;
pub(crate) use foundation::{
    Foundation, store, store_and_bus_as_they_are, store_failure, unreachable,
};
pub(crate) use witness::{Testimony, Witness};

use crate::{exit::Exit, failure::Failure, settings::Settings};

/// Which process this is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// Everything in one process.
    Up,
    /// The HTTP API.
    Serve,
    /// The extraction worker and what it bundles.
    Worker,
    /// The bbox worker and what it bundles.
    BboxWorker,
    /// The schema.
    Migrate,
}

/// The runtime every command runs on.
pub(crate) fn runtime() -> Result<tokio::runtime::Runtime, Failure> {
    tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| anyhow::Error::new(error).context("no runtime").into())
}

/// The reader itself.
pub(crate) fn pages(settings: &Settings) -> Pages {
    Pages::new(settings.pages())
}

/// The reader as the port the rooms above know.
pub(crate) fn reader(settings: &Settings) -> Arc<dyn Reader> {
    Arc::new(pages(settings))
}

/// The engines.
pub(crate) fn engines(settings: &Settings) -> Arc<dyn EngineSource> {
    Arc::new(Engines::new(settings.model.clone()))
}

/// The stages.
pub(crate) fn pipeline(settings: &Settings) -> Pipeline {
    pipeline_on(reader(settings), engines(settings), settings)
}

/// The stages on ports that others use too.
pub(crate) fn pipeline_on(
    reader: Arc<dyn Reader>,
    engines: Arc<dyn EngineSource>,
    settings: &Settings,
) -> Pipeline {
    Pipeline::new(reader, engines, Arc::new(SystemClock), settings.pipeline())
}

/// Refuses a model nobody knows before any work: of the settings, and of the request's own options.
pub(crate) fn known_model(settings: &Settings, request: &ExtractRequest) -> Result<(), Failure> {
    let engines = engines(settings);
    let asked = [None, request.options.model.as_deref()];
    for model in asked {
        engines.engine(model).map_err(|error| {
            Failure::new(ErrorCode::EngineUnsupported, error.to_string(), Exit::Usage)
        })?;
    }
    Ok(())
}

/// An id for an extraction.
pub(crate) fn new_id() -> ExtractionId {
    use flydocs_api::Mint;
    flydocs_api::SystemMint.extraction_id()
}
