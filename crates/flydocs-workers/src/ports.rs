//! What the services ask of the outside: the work itself, chance, names; and all of it in one bundle.

use std::{fmt::Debug, io, net::IpAddr, sync::Arc};

use async_trait::async_trait;
use flydocs_bus::Bus;
use flydocs_contract::result::ExtractionResult;
use flydocs_pipeline::{Clock, Input, Pipeline, Progress, RefineInput};
use flydocs_store::Store;
use tokio_util::sync::CancellationToken;

/// Everything the services stand on. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Services {
    /// The tables.
    pub store: Arc<dyn Store>,
    /// The bus.
    pub bus: Arc<dyn Bus>,
    /// The pipeline.
    pub work: Arc<dyn Work>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Chance.
    pub chance: Arc<dyn Chance>,
    /// Names of receivers to addresses.
    pub resolver: Arc<dyn Resolve>,
}

/// The work of the workers: [`Pipeline`], or what stands for it in a test.
#[async_trait]
pub trait Work: Debug + Send + Sync {
    /// From files to fields.
    async fn extract(
        &self,
        input: Input,
        progress: Arc<dyn Progress>,
        cancel: &CancellationToken,
    ) -> flydocs_pipeline::Result<ExtractionResult>;

    /// From a result to the same result with grounded boxes.
    async fn refine(
        &self,
        input: RefineInput,
        progress: Arc<dyn Progress>,
        cancel: &CancellationToken,
    ) -> flydocs_pipeline::Result<ExtractionResult>;
}

#[async_trait]
impl Work for Pipeline {
    async fn extract(
        &self,
        input: Input,
        progress: Arc<dyn Progress>,
        cancel: &CancellationToken,
    ) -> flydocs_pipeline::Result<ExtractionResult> {
        self.run(input, progress, cancel).await
    }

    async fn refine(
        &self,
        input: RefineInput,
        progress: Arc<dyn Progress>,
        cancel: &CancellationToken,
    ) -> flydocs_pipeline::Result<ExtractionResult> {
        Self::refine(self, input, progress, cancel).await
    }
}

/// Chance, for jitter.
pub trait Chance: Debug + Send + Sync {
    /// A number from 0 up to 1.
    fn share(&self) -> f64;
}

/// The chance of this machine.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemChance;

impl Chance for SystemChance {
    fn share(&self) -> f64 {
        rand::random()
    }
}

/// Names to addresses.
#[async_trait]
pub trait Resolve: Debug + Send + Sync {
    /// Every address of a name.
    async fn resolve(&self, host: &str) -> io::Result<Vec<IpAddr>>;
}

/// The resolver of this machine.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemResolver;

#[async_trait]
impl Resolve for SystemResolver {
    async fn resolve(&self, host: &str) -> io::Result<Vec<IpAddr>> {
        let found = tokio::net::lookup_host((host, 0)).await?;
        Ok(found.map(|address| address.ip()).collect())
    }
}
